"""journal, client → [replay].  Running the same code again on a record: matching, replay, resume and fork.

record      what a run recorded, from the local journal; remote: from the collector
calls       its calls: which, what was asked, what came of it
matching    which recorded call a call is, or how it differs: pure
divergence  the difference, for a person
restoring   what the program gets for a recorded call, or for an outcome that a person set
policy      what to do where the record does not simply answer
answering   answers the calls of a running program
lease       which process goes on with a run
values_given  what the run read besides its calls
lifecycle   `resume()` and `fork()`
"""

"""journal, client → [replay].  Running the same code again on a record: matching, replay, resume and fork.

record      what a run recorded, from the local journal or from the collector
matching    which recorded call a call is, or how it differs: pure
divergence  the difference, for a person
replay      answers the calls of a running program from a record
lifecycle   `resume()` and `fork()`
"""

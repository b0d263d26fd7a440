"""journal, client → [replay].  Runs the same code again on a record: resume and fork.

naming           finds the run that is meant           record           a recorded run, from the local journal
remote           the same from the collector           matching         finds the recorded call of a running call
restoring        recorded results → objects            editing          other prompts and messages for a call
policy           options of resume and fork            answering        answers the calls of a running program
recorded_values  clock, random numbers, UUIDs          lease            which process may continue a run
lifecycle        what `resume()` and `fork()` return
"""

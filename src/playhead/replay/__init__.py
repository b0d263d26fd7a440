"""journal, client → [replay].  Runs the same code again on a record: resume and fork.

naming           which run is meant                    record           what a run recorded, from the local journal
remote           the same from the collector           matching         which recorded call a call is
restoring        recorded results → objects            editing          other prompts and messages for a call
policy           options of resume and fork            answering        answers the calls of a running program
recorded_values  clock, random numbers, UUIDs          lease            which process goes on with a run
lifecycle        what `resume()` and `fork()` return
"""

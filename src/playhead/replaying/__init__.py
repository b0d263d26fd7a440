"""journal, client → [replay].  Runs the same code again on a record: resume and fork.

lifecycle        what `resume()` and `fork()` return
policy           options of resume and fork
record           a recorded run, from the local journal or the collector
recorded_calls   its calls: path, request and outcome
matching         finds the recorded call of a running call
enclosing        the same for calls that other calls run inside
answering        answers the calls of a running program
restoring        recorded results → objects
editing          other prompts and messages for a call
divergence       describes how a call differs from the record
lease            which process may continue a run
"""

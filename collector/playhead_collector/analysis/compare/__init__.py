"""How do two runs differ: what is common, where do they part, and what came of it?

Method: the calls of both runs are aligned (same name and arguments, in order), then aligned calls are compared value by
value.  Deterministic; the cost grows with the length of the runs.
"""

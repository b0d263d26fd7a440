"""How do two runs differ: which calls are the same, where is the first difference, and how do the outcomes differ?

Method: the calls of both runs are aligned (same name and arguments, in order), then aligned calls are compared value by
value. Deterministic; the cost grows linearly with the length of the runs.
"""

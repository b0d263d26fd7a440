"""[store]: what projecting runs needs is read, and what comes of it stored, many runs at a time.

runs_under_lock   runs with all that there is of them, or all that is new; and what is told of whole runs
growing           what is put beside what is stored of a run that goes on
"""

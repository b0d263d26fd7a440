"""[store]: reads the input of projections and stores their results, many runs at a time.

runs_under_lock   reads locked runs, whole or only new data; stores projections of whole runs
growing           stores new events and spans of a growing run beside the existing ones
"""

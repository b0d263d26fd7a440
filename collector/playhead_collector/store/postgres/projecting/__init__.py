"""[store]: reads the input of projections and stores their results, many runs at a time.

transactions      makes the transactions; stores threads before the runs are locked
runs_under_lock   reads locked runs, completely or only new data; stores projections of whole runs
growing           stores new events and spans of a growing run beside the existing ones
search_rows       stores tool calls, decisions and errors for searches across runs
"""

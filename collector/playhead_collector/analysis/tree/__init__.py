"""Which path did the agent take, which options were left, and how did the runs end that went another way?

Method: the path is the list of the run's decisions. Options that were offered and not chosen are left. Runs with the
same beginning are branches: forks and the runs above, at the seq of the fork; and runs with a model call that had
exactly the same context (the same thread), at the last such call.
"""

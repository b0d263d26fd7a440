"""[store]: data for questions across runs.

score_store      posted scores, and lists of scores
recorded_scores  scores of projected events
evaluations      posted scores as log events, for forwarding
cohort_store     facts about many runs
"""

"""[read]: scores as answers, and conditions on the scores of runs."""

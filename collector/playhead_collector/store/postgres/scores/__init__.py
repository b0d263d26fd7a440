"""[store]: scores of runs and calls.

store   posted scores, and lists      recorded   scores of projected events      rows   what both write
"""

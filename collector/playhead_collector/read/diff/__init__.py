"""Compares two moments of a run: the state, and the model's context."""

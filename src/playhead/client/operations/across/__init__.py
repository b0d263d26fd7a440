"""[client]: questions about many runs: scores, and what is computed across runs."""

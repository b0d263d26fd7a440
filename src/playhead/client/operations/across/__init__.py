"""[client]: operations on many runs: scores, searches and analyses."""

"""[api]: how good runs and calls were, as the program says."""

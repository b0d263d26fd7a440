"""[serve]: routes about many runs."""

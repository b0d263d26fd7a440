"""[analysis]: a run as a transcript: for each model call what it saw, what it answered, which tools it asked for."""

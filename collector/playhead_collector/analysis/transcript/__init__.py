"""[analysis]: a run as a transcript: for each model call its new input, its answer, and its tool calls."""

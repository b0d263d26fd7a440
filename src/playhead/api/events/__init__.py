"""Records events and metrics of the program's own, warnings about nearly full contexts, and typed values."""

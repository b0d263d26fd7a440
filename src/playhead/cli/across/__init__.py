"""[cli]: commands for many runs."""

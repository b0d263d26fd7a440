"""[cli]: commands about many runs."""

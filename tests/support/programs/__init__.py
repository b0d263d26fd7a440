"""Programs that tests start as a user does: by `python program.py`, each in a process of its own."""

"""How much runs take: numbers of each run, over all of them and over time."""

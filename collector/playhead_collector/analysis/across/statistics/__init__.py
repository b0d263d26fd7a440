"""Statistics of runs: numbers of each run, over all runs and over time."""

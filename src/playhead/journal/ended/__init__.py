"""[journal]: which runs have ended, and for how long to keep them, as the records say it: what may be deleted first."""

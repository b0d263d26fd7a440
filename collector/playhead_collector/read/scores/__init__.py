"""[read]: scores: as answers, and as conditions for runs."""

"""[api]: scores that a program gives to runs and calls."""

"""What the rest of the SDK stands on: guards against our own errors, locks that survive a fork, ids.

guard   logs an internal error instead of raising it into the program     forks   locks and imports after a fork
ids     trace and span ids                                                opentelemetry_sdk   its names, imported safely
"""

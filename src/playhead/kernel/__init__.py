"""Shared by the whole SDK: guards against our own errors, locks that survive a fork, ids.

guard   logs an internal error instead of raising it into the program     forks   locks and imports after a fork
ids     ids of runs, traces, spans and processes                          opentelemetry_sdk   its names, imported safely
"""

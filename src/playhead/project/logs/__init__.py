"""Log records in a run's projection.

log_events       records that are events of the run, or that have a span's content
session_records  records of coding agents, which describe model calls and tools
"""

"""Spans and log events of a run → its events, its summary, and states to start folds from.  Pure.

Shared by the collector and the SDK.  Imports `playhead.model` only: no I/O, no clock, no framework.

    projector     the whole way, for one run            span_tree     which span encloses which
    order         the order of calls                    call_events   the events of one call
    log_events    the events of log records             context       what each model call added, and what left
    forking       what a fork shares with its parent    summary       a run's row in lists
    sealing       seqs that never change again          progress      projects a growing run from where it was
    search_rows   what is searched for across runs
"""

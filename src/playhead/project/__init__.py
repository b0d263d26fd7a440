"""Turns the spans and log events of a run into its events, its row in lists, and snapshots of its state.  Pure.

Shared by the collector and the SDK.  Imports `playhead.model` only: no I/O, no clock, no framework.

    projector     projects one run                      span_tree     parents and children of spans
    order         the order of calls                    call_events   the events of one call
    logs          the events of log records             context       messages that each model call added or lost
    forking       history that a fork and its parent share    summary    a run's row in lists
    sealing       seqs that never change again          progress      projects only the new data of a growing run
    search_rows   rows for searching across runs
"""

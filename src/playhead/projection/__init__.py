"""Turns the spans and log events of a run into its events, its row in lists, and snapshots of its state.  Pure.

Shared by the collector and the SDK.  Imports `playhead.model` only: no I/O, no clock, no framework.

    projector      projects one run                          span_tree      parents and children of spans
    order          the order of calls                        process_order  the same over several processes
    call_events    the events of one call                    log_events     the events of log records
    conversations  messages that each call added or lost     cuts           what kind of loss that is
    forking        history that a fork and its parent share  summary        a run's row in lists
    progress       projects only the new data of a growing run
    search_rows    rows for searching across runs
"""

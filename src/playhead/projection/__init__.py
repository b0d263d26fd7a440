"""Turns the spans and log events of a run into its events, its row in lists, and snapshots of its state.  Pure.

Shared by the collector and the SDK.  Imports `playhead.model` only: no I/O, no clock, no framework.

    projector       projects one run                         inputs           input and result of that, as values
    progress        projects only the new data of a run that grows

    attributes      reads a span's attributes                span_tree        parents and children of spans
    counted_run     each call once                           duplicate_calls  spans that describe the same call
    message_records conversations from log records           session_records  calls from coding agents' log records
    order           the order of calls                       process_order    the same over several processes

    call_events     the events of one call                   log_events       the events of log records
    conversations   messages that each call added or lost    cuts             what kind of loss that is
    known_messages  roles and texts of messages              compression_events  the event of a compression
    message_diff    difference of two message lists          message_outcomes kept, summarised and dropped messages

    summary         a run's row and snapshots                run_row          the row's fields
    happened        what happened in a run, in one line
    relations       other runs that the run names            processes        other processes that recorded parts of it
    scores          scores in spans and log events           forking          history that a fork shares with its parent
    search_rows     rows for searching across runs           content_uses     events that refer to a content
"""

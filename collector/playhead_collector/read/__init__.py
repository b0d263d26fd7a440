"""store → project → [read] → serve.  Answers questions about recorded runs; each module loads what it needs.

    record       a projected run and its events: most questions begin with it
    run_names    finds the run that a name means
    runs         lists of runs, and a run's summary
    events       the events of a run
    state        the state at a moment
    context      the model's input at a call, and the messages of a run
    calls        model calls and tool calls
    owning_call  finds the model call of an event
    diff         the difference of two moments
    spans        the tree of spans, and log events
    content      contents and threads by ref
    values       the values of refs
    previews     values as short texts
    prices       prices of tokens
    scores       scores, and conditions on them
    about        uses of a content, and how much is stored
    bundle       a run as one export file
    as_test      a run as a pytest file
    paging       cursors
    times        durations

Data comes through the interfaces of `store.ports`; nothing here knows Postgres or HTTP.
"""

"""store → projection → [read] → serve.  Answers questions about recorded runs; each module loads what it needs.

    record           a projected run and its events: most questions begin with it; finds the run that a name means
    runs             lists of runs, and a run's summary
    events           the events of a run, with previews of their values
    state            the state at a moment
    context          the model's input at a call, also as the request body that was sent
    messages         the messages of a run, and when each was in the context
    token_estimates  numbers of tokens that no provider reported
    calls            model calls and tool calls
    owning_call      finds the model call of an event
    diff             the difference of two moments
    spans            the tree of spans, and log events
    content          contents and threads by ref
    content_uses     the kind of a content, and the runs and calls that had it
    values           the values of refs
    prices           prices of tokens
    scores           scores, and conditions on them
    storage          how much is stored
    bundle           a run as one export file
    pytest_file      a run as a pytest file, with given_answers (of people) and python_source (of JSON values)
    paging           cursors

Data comes through the interfaces of `store.ports`; nothing here knows Postgres or HTTP.
"""

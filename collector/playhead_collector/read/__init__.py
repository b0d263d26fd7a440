"""store → project → [read] → serve.  What was recorded of a run: each module loads what it needs and answers.

    record      a run that is known and projected: what most questions begin with
    run_names   which run a name means                 runs        lists of runs, and a run's summary
    events      the events of a run                    state       the state at a moment
    context     what the model saw at a call           calls       model calls and tool calls
    diff        the difference of two moments          spans       the tree of spans, and log events
    content     what a ref names                       values      refs → values
    previews    values as short texts                  prices      what tokens cost
    owning_call which model call an event belongs to   paging, times   cursors, RFC 3339

Data come through the ports of `store.ports`; nothing here knows Postgres or HTTP.
"""

"""One observed call, from its beginning to its end: its span, its run, and the ports to a recorder and a replay.

The call
    begin            creates its span                     lifecycle        enter, then finish, fail or abort
    span             OpenTelemetry's span of the call     mirror_span      the same call in the program's own provider
    functions        wrappers for each kind of callable   proxy            the object in the place of the function
    blocks           which entry of a `with` block ends   injected         parameters that a framework fills in
    described_errors exceptions that leave calls          requested_tools  the model's request for a tool call
    caller_settings  settings that identify the caller    flow             the task or thread job that makes the call

Its run
    run              a run while it is recorded           starting         checkpoint and state to start from
    grouping         the run of calls without an agent    borders          requests and tasks of a queue, each one run
    conversations    the same, by the calls' messages     joining          the run of calls from another process
    propagation      run and call, handed on              trace_state      our entry in `tracestate`

Ports and set-up
    recorder         port: what a recorder does           replay           port: what answers calls from a record
    recorded_answer  finds an answer in the record        runtime          the recorder and hooks that are installed
    first_use        starts recording with the first call

Helpers
    asyncio_here     asyncio's loop, if it is in use      own_code         the program's own code, or a library's
    steps            work with and without asyncio
"""

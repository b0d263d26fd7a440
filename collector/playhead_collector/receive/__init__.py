"""[receive] → lift → store.  Turns network requests into plain values, or refuses them with a reason.

    request_limiter → body → decode → otlp_http     POST /v1/traces, /v1/logs, /v1/metrics
                         ↘ content       POST /v1/content/missing, /v1/content

`request_limiter` bounds the requests in progress, `body` reads and decompresses, `decode` makes spans and log events.
`ports.py` has the interfaces of the stages that take them.
"""

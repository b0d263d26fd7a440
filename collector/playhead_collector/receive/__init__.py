"""[receive] → lift → store.  Turns network requests into plain values, or refuses them with a reason.

    request_limiter → body → otlp_http     POST /v1/traces, /v1/logs, /v1/metrics → otlp_intake
    grpc_turns             → otlp_grpc     Export of TraceService, LogsService, MetricsService → otlp_intake
    request_limiter → body → content       POST /v1/content/missing, /v1/content

`request_limiter` bounds the requests in progress, `body` reads and decompresses, `otlp_intake` decodes spans and log
events (with `otlp`) and has them stored. `langfuse_media` takes uploads of Langfuse's SDKs. `transfer_budget` bounds
the memory of bodies and responses on their way, `bounded` the bodies of all other requests. `ports` has the interfaces
of the stages that take what was received.
"""

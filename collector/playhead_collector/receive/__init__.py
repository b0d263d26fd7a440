"""[receive] → lift → store.  What comes in over the network becomes plain values, or is refused with a reason.

    flow → body → decode → otlp_http     POST /v1/traces, /v1/logs, /v1/metrics
                         ↘ content       POST /v1/content/missing, /v1/content

`flow` bounds what is in hand at a time, `body` reads and decompresses, `decode` makes spans and log events of it.
What happens to them is not known here: `ports.py` says what [receive] needs from whoever takes them.
"""

"""store → [webhook] → an operator's URL.  Announces open promises, in the format of Standard Webhooks.

    message     a promise → body and signed headers. Pure
    announcer   takes promises that are due, sends them, and tries again later

The promise's row stores whether it was announced, so none is lost when a collector ends. It is announced at least once,
each time with the same `webhook-id`.
"""

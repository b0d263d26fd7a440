"""store → [webhook] → an operator's URL.  Announces open promises, as Standard Webhooks defines it.

    message     a promise → body and signed headers. Pure
    announcer   takes promises that are due, sends them, and tries again later

A promise's own row says whether it was announced, so none is lost when a collector ends.  It is announced at least
once, each time with the same `webhook-id`.
"""

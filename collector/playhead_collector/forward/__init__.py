"""store → [forward] → Langfuse, Phoenix, any OTLP backend.  Forwards stored spans, from an outbox in Postgres.

    forwarder    all destinations of this collector: start, stop, metrics, status
    destination  a destination in the form that its worker uses, from the settings
    worker       one destination: takes entries of the outbox, delivers them, stores the result
    loading      entries → spans and log events in the destination's format, with their content
    counting     which spans are sent, where the destination adds up model calls itself; the order of sending
    filters      which runs a destination gets, and which values are masked for it
    pacing       pauses while ingest needs the processor
    delivery     encoded spans → requests; finds the span because of which a whole request is refused
    scoring      evaluations → scores of Langfuse and annotations of Phoenix
    progress     the result of each entry that a worker took, until it is stored
    attempts     what a response means for the items sent, and how long to wait after it
    senders      HTTP and gRPC, and what is specific to each kind of destination
    webhook      announces open promises to a webhook; has no outbox

Ingest fills the outbox in the transaction that stores the spans, so the outbox misses nothing that was acknowledged. A
worker takes entries for a limited time: if it dies, another worker takes them. So every span is sent at least once.
"""

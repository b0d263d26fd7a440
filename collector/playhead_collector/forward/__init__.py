"""store → [forward] → Langfuse, Phoenix, any OTLP backend.  Sends on what was stored, from an outbox in Postgres.

    forwarder   all destinations of this collector: started, stopped, observed, asked for their status
    worker      one destination: takes entries of the outbox, has them delivered, notes what became of them
    loading     entries → spans and log events as the destination reads them, with their content
    counting    which spans go out, where the destination counts calls itself
    filters     which runs a destination gets, and what has to be masked for it
    pacing      pauses while ingest needs the processor
    delivery    encoded spans → requests; finds the span because of which a whole request is refused
    attempts    what an answer means for what was sent, and how long to wait after it
    senders     HTTP and gRPC, and what is particular to each kind of destination

Ingest fills the outbox in the transaction that stores the spans, so nothing that was acknowledged is missing from it. A
worker takes entries for a while only: when it dies, another one takes them. So every span is sent at least once.
"""

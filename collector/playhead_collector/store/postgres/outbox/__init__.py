"""[store]: the outbox of what is forwarded.

filling  ingest → outbox, in its transaction      queue  outbox → forward, and what became of it
"""

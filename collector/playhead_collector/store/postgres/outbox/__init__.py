"""[store]: the outbox of data to forward.

filling  ingest → outbox: adds entries in the transaction of ingest
queue    outbox → forward: entries for workers, and their results
"""

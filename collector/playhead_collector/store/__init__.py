"""[receive, lift] → store → project.  Postgres: content, threads, spans, and what projecting makes of them.

    postgres.py       PostgresStore: keeps the promises of ports.py; one method is one transaction
    connection.py     the pool; errors of the network and the server become StoreUnavailable
    statements.py     sql/*.sql by name
    content.py        contents under their refs           compression.py  zstd with dictionaries (learning.py)
    threads.py        lists of messages as lineages       lineages.py     where new nodes go (pure)
    spans.py          spans and log events in pages (pure)
    ingest.py         a batch, in one transaction         work.py         a run under its lock, for the projector
    events.py         events and snapshots in pages       runs.py         summaries, and lists of them
    llm_calls.py      model calls by their context         migrate.py     the schema

Modules but `postgres` and `work` are functions on a connection that is in a transaction already.
"""

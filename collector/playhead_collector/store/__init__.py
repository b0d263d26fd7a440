"""[receive, lift] → store → projection.  Contents, threads, spans, events and runs, in Postgres.

ports      the interfaces for other stages, and the values in them
postgres   their implementation: one file per subject, SQL in `sql/*.sql`
records    a part of the interfaces over recorded runs in memory or in files, without a database
packing    compact forms of rows: compressed contents, pages of spans, positions of thread nodes
run_items  groups spans and log events by run
schema     reads which schema a database has
migrate    changes it
"""

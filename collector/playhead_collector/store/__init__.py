"""[receive, lift] → store → project.  Contents, threads, spans, events and runs, in Postgres.

ports      the interfaces for other stages, and the values in them
postgres   their implementation: one file per kind of row, SQL in `sql/*.sql`
packing    compact forms of rows: compressed contents, pages of spans, positions of thread nodes
schema     which schema a database has              migrate   changes it
"""

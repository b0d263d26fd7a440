"""[receive, lift] → store → project.  Contents, threads, spans, events and runs, in Postgres.

ports      what other stages may ask: promises, and the values that cross
postgres   how the promises are kept: one file per kind of row, SQL in `sql/*.sql`
packing    compact forms of rows: compressed contents, pages of spans, positions of thread nodes
migrate    the schema
"""

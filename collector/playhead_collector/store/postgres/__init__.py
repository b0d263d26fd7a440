"""[store]: implements `store.ports` on Postgres.  SQL is in `sql/*.sql`; one file per kind of row."""

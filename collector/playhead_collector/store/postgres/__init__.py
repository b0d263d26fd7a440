"""[store]: the promises of `store.ports`, kept on Postgres.  SQL stands in `sql/*.sql`; one file per kind of row."""

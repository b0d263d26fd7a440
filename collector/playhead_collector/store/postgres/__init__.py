"""[store]: implements `store.ports` on Postgres, one file per subject; `store` joins them.  SQL is in `sql/*.sql`."""

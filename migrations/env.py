"""Alembic's way in: runs the revisions on the connection that `playhead_collector.store.migrate` hands over.

To change the schema, add two files to `versions/`: `NNNN_pre_what.sql` (before the new code runs) or
`NNNN_post_what.sql` (after), and a `.py` of the same name beside it, like the others. That name is the revision's id;
it has 32 characters at most, which is what Alembic's table holds. Files that were released never change: databases out
there have run them.
"""

from alembic import context

connection = context.config.attributes.get("connection")

if context.is_offline_mode():
    context.configure(dialect_name="postgresql", literal_binds=True)
elif connection is None:
    raise SystemExit("migrations need a connection: run `playhead migrate`")
else:
    context.configure(connection=connection)

with context.begin_transaction():
    context.run_migrations()

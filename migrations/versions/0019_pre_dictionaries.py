"""Dictionaries are compressed by Postgres."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0019"
down_revision = "0018"


def upgrade() -> None:
    run_sql_beside(__file__)

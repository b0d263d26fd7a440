"""Runs can be deleted; content that no run names any more is collected."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    run_sql_beside(__file__)

"""Runs whose processes are gone: who recorded them, and when their last record came."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    run_sql_beside(__file__)

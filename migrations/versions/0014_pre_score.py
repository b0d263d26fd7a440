"""Scores of runs and calls."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0014"
down_revision = "0013"


def upgrade() -> None:
    run_sql_beside(__file__)

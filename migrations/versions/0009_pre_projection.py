"""Runs are projected many at a time, and go on from where they were."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    run_sql_beside(__file__)

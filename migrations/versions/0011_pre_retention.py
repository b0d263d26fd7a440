"""Retention: tiers of runs, pins, and what was removed."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0011_pre_retention"
down_revision = "0010_pre_objects"


def upgrade() -> None:
    run_sql_beside(__file__)

"""Erasure: jobs, what is to be erased, and tombstones of contents."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0012_pre_forgetting"
down_revision = "0011_pre_retention"


def upgrade() -> None:
    run_sql_beside(__file__)

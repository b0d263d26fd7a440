"""Scorers: what scores runs that have ended, and which runs wait for that."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0013_pre_scorers"
down_revision = "0012_pre_forgetting"


def upgrade() -> None:
    run_sql_beside(__file__)

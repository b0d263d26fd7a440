"""Explanations by what they are about."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    run_sql_beside(__file__)

"""Conversations: where each of them stands."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0004_pre_conversations"
down_revision = "0003_pre_notes"


def upgrade() -> None:
    run_sql_beside(__file__)

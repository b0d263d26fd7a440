"""Projects as tenants: limits, and what they sent by day."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0006_pre_projects"
down_revision = "0005_pre_conversation_records"


def upgrade() -> None:
    run_sql_beside(__file__)

"""Model calls by their context."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    run_sql_beside(__file__)

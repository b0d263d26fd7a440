"""What runs wait for: decisions, answers, events."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0016"
down_revision = "0015"


def upgrade() -> None:
    run_sql_beside(__file__)

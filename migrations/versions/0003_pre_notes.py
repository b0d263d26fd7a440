"""Notes and labels of people, and saved views."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0003_pre_notes"
down_revision = "0002_pre_run_outcomes"


def upgrade() -> None:
    run_sql_beside(__file__)

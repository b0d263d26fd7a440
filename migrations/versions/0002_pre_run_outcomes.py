"""What came of each run, for lists that are filtered and sorted by that."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0002_pre_run_outcomes"
down_revision = "0001_first"


def upgrade() -> None:
    run_sql_beside(__file__)

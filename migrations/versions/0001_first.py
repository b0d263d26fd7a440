"""The schema of the first release."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0001_first"
down_revision = None


def upgrade() -> None:
    run_sql_beside(__file__)

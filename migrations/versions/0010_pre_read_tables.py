"""Tool calls, decisions and errors across runs."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    run_sql_beside(__file__)

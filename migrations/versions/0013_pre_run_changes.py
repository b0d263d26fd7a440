"""What projections did to the events of runs, for live streams."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0013"
down_revision = "0012"


def upgrade() -> None:
    run_sql_beside(__file__)

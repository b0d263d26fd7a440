"""Which runs continue a run, so that its summary names them without reading its events."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0022"
down_revision = "0021"


def upgrade() -> None:
    run_sql_beside(__file__)

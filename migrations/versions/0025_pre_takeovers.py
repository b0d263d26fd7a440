"""Which attempt the holder of a lease makes, whether its records have arrived, and which runs were taken over."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0025"
down_revision = "0024"


def upgrade() -> None:
    run_sql_beside(__file__)

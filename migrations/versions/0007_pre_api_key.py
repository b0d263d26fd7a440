"""Keys of the collector, with what each may do."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0007"
down_revision = "0006"


def upgrade() -> None:
    run_sql_beside(__file__)

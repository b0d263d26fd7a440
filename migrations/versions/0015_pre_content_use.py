"""Which runs had a content."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0015"
down_revision = "0014"


def upgrade() -> None:
    run_sql_beside(__file__)

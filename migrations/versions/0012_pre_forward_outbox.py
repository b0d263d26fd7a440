"""What is to be forwarded to other backends."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0012"
down_revision = "0011"


def upgrade() -> None:
    run_sql_beside(__file__)

"""Contents and thread nodes of sealed runs are packed."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    run_sql_beside(__file__)

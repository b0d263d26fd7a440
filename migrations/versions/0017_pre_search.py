"""An index for searching decisions and texts across runs."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0017"
down_revision = "0016"


def upgrade() -> None:
    run_sql_beside(__file__)

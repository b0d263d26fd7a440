"""Who goes on with a run."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    run_sql_beside(__file__)

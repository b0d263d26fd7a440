"""What a run's models were used for, so that lists can say what it cost."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    run_sql_beside(__file__)

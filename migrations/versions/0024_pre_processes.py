"""The processes that recorded parts of a run beside its own, and when its own was heard of last."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    run_sql_beside(__file__)

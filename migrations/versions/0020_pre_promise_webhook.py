"""Which promises were announced to the webhook, and when to try the others."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0020"
down_revision = "0019"


def upgrade() -> None:
    run_sql_beside(__file__)

"""Projects that are encrypted: their keys, wrapped by the operator's."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0009_pre_encryption"
down_revision = "0006_pre_projects"


def upgrade() -> None:
    run_sql_beside(__file__)

"""The object store: where large contents and packs of warm runs are."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0010_pre_objects"
down_revision = "0009_pre_encryption"


def upgrade() -> None:
    run_sql_beside(__file__)

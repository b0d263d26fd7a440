"""Redaction rules of projects, masked contents, and the job that runs rules over what is stored."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0008_pre_redaction"
down_revision = "0007_pre_content_kinds"


def upgrade() -> None:
    run_sql_beside(__file__)

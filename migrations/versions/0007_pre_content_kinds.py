"""Contents say what they are: kind, tokens, size and the day they were first stored."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0007_pre_content_kinds"
down_revision = "0006_pre_projects"


def upgrade() -> None:
    run_sql_beside(__file__)

"""A function that finds packs by their index, however many keys are looked up."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0018"
down_revision = "0017"


def upgrade() -> None:
    run_sql_beside(__file__)

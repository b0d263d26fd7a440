"""Indexes runs again whose tools returned something, so that returned errors are told apart."""

from playhead_collector.store.migrate import run_sql_beside

revision = "0021"
down_revision = "0020"


def upgrade() -> None:
    run_sql_beside(__file__)

"""[store] → live: the part of the store that reads which events are new, and notifies about new ones."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager

from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.changes import journal
from playhead_collector.store.postgres.changes.listening import listening
from playhead_collector.store.postgres.connection import Database


class PostgresChangeStore:
    """Implements `ports.changes.ChangeStore`."""

    def __init__(self, db: Database, clock: Callable[[], int]) -> None:
        self._db = db
        self._clock = clock

    def reading_changes(self, project_id: int) -> AbstractAsyncContextManager[journal.PostgresChangeReader]:
        return journal.reading(self._db, project_id)

    async def positions(self, project_id: int, runs: Sequence[str]) -> Mapping[str | None, int]:
        async with self._db.reading() as conn:
            return await journal.positions(conn, project_id, runs)

    def listening(self, on_change: Callable[[int, Sequence[str]], None]) -> AbstractAsyncContextManager[None]:
        return listening(self._db.connect, on_change)

    async def forget_changes(self, older_ns: int) -> int:
        async with self._db.transaction() as conn:
            return await sql.run(conn, "forget_changes", before=self._clock() - older_ns)

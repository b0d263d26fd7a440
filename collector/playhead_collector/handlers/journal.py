"""What handlers are given over a journal: a store of records, which projects a run when it is read."""

import time
from collections.abc import Callable
from typing import Any, NoReturn

from playhead_collector.handlers.asking import needs_collector
from playhead_collector.store.records.ports import ProjectionCache, RecordSource
from playhead_collector.store.records.scores import RecordScores
from playhead_collector.store.records.store import RecordStore


class _CollectorOnly:
    """A part of the store that only a collector has. Every use raises Refused."""

    def __getattr__(self, name: str) -> Any:
        raise needs_collector()


class _LocalScores(RecordScores):
    """The recorded scores. None can be added."""

    async def add(self, project_id: int, run: str, score: object) -> NoReturn:
        """Raises Refused."""
        raise needs_collector()


class LocalStore(RecordStore):
    """A record store that refuses operations that only a collector can do."""

    def __init__(
        self, source: RecordSource, cache: ProjectionCache | None = None, *, clock: Callable[[], int] = time.time_ns
    ) -> None:
        """`clock`: as in `RecordStore`."""
        super().__init__(source, cache, clock=clock)
        self.scores = _LocalScores(source, self._projector)
        self.changes = self.search = self.promises = self.leases = self.keys = self.storage = _CollectorOnly()


class NothingToProject:
    """A projector that does nothing, because the store projects each run when it is read."""

    async def project_now(self, project_id: int, run: str) -> None:
        """Does nothing."""

    async def catch_up(self) -> None:
        """Does nothing."""

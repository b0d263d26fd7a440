"""What handlers are given over a journal: a store of records, which projects a run when it is read."""

from typing import Any

from playhead_collector.handlers.asking import needs_collector
from playhead_collector.store.ports import Store
from playhead_collector.store.records.store import RecordStore


class LocalStore(RecordStore):
    """A record store that refuses operations that only a collector can do."""

    def __getattr__(self, name: str) -> Any:
        """Raises Refused for methods of `Store` that this class lacks, and AttributeError for other names."""
        if hasattr(Store, name):
            raise needs_collector()
        raise AttributeError(name)


class NothingToProject:
    """A projector that does nothing, because the store projects each run when it is read."""

    async def project_now(self, project_id: int, run: str) -> None:
        """Does nothing."""

    async def catch_up(self) -> None:
        """Does nothing."""

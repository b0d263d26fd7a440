"""The journal for reading: its records, their projections, the store over both, and the answers over that."""

from collections.abc import Callable
from pathlib import Path

from playhead.local.answering import JournalOperations
from playhead.local.journal_records import JournalRecords, damage_of
from playhead.local.projections import JournalProjections
from playhead.settings.sdk import load
from playhead_collector.read.prices import shipped
from playhead_collector.store.records.ports import RunProjection
from playhead_collector.store.records.store import RecordStore


class JournalSource:
    """A journal with the records that existed when this object was made."""

    def __init__(self, journal_dir: Path, on_damage: Callable[[str], None]) -> None:
        """`on_damage` is called with a sentence for each file of which a part cannot be read. Raises
        JournalUnusable."""
        self.records = JournalRecords(journal_dir)
        self.projections = JournalProjections(self.records)
        self.store = RecordStore(self.records, self.projections, cost_of=shipped().cost_of)
        self.operations = JournalOperations(self.store, dict(load().context_windows))
        self._on_damage = on_damage
        self._reported: set[Path] = set()
        self.keep()

    def projection(self, run: str) -> RunProjection | None:
        """Returns the projection of a run; None if there is no such run."""
        return self.store.projection(run)

    def keep(self) -> None:
        """Stores new projections for later processes, and reports damage that was found since the last call."""
        self.projections.keep()
        damaged = {path: size for path, size in self.records.damaged.items() if path not in self._reported}
        self._reported |= damaged.keys()
        for sentence in damage_of(damaged):
            self._on_damage(sentence)

    def close(self) -> None:
        """Calls `keep`, and closes the index."""
        self.keep()
        self.records.index.close()

"""The journal, ready to be asked: its records, their projections, and the store over both."""

from collections.abc import Callable
from pathlib import Path

from playhead.local.direct import DirectAnswers
from playhead.local.journal_records import JournalRecords, damage_of
from playhead.local.projections import JournalProjections
from playhead_collector.store.records.ports import RunProjection
from playhead_collector.store.records.store import RecordStore


class JournalSource:
    """One look at a journal: what was recorded when it was made."""

    def __init__(self, journal_dir: Path, on_damage: Callable[[str], None]) -> None:
        """`on_damage` gets a sentence for each file of which a part cannot be read.  Raises JournalUnusable."""
        self.records = JournalRecords(journal_dir)
        self.projections = JournalProjections(self.records)
        self.store = RecordStore(self.records, self.projections)
        self.direct = DirectAnswers(self.store)
        self._on_damage = on_damage
        self._said: set[Path] = set()
        self.keep()

    def projection(self, run: str) -> RunProjection | None:
        """A run with all that is recorded of it; None when there is no such run."""
        return self.store.projection(run)

    def keep(self) -> None:
        """Keeps new projections for later processes, and says what damage was found since."""
        self.projections.keep()
        damaged = {path: size for path, size in self.records.damaged.items() if path not in self._said}
        self._said |= damaged.keys()
        for sentence in damage_of(damaged):
            self._on_damage(sentence)

    def close(self) -> None:
        """As `keep`, and closes the index."""
        self.keep()
        self.records.index.close()

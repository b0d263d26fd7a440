"""[project]: what is kept in memory of runs that go on, the ones that went on last, within a bound."""

from collections import OrderedDict

from playhead_collector.store.ports import Kept

Key = tuple[int, str]


class KeptRuns:
    """By project and run.  What is taken out is whoever's took it: it is put back when what came of it is stored, and
    dropped when anything went wrong, since it may be ahead of what is stored then."""

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._runs: OrderedDict[Key, Kept] = OrderedDict()
        self._sizes: dict[Key, int] = {}
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._runs)

    def take(self, key: Key) -> Kept | None:
        """What was kept of a run; it is kept no more."""
        self.bytes -= self._sizes.pop(key, 0)
        return self._runs.pop(key, None)

    def put(self, key: Key, kept: Kept) -> None:
        """Keeps it; those that went on longest ago are dropped for it.  One that is too large alone is not kept."""
        self.take(key)
        self._runs[key] = kept
        self._sizes[key] = kept.progress.bytes
        self.bytes += self._sizes[key]
        while self.bytes > self._most_bytes:
            self.take(next(iter(self._runs)))

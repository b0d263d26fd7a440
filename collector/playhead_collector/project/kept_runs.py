"""[project]: keeps projection states of growing runs in memory up to a limit; the least recently used ones are
dropped."""

from collections import OrderedDict

from playhead_collector.store.ports import Kept

Key = tuple[int, str]


class KeptRuns:
    """Projection states by project and run.

    `take` removes a state, so that only one caller uses it. Put the state back after its result was stored. After an
    error, do not put it back: it may be ahead of the store.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most_bytes = most_bytes
        self._runs: OrderedDict[Key, Kept] = OrderedDict()
        self._sizes: dict[Key, int] = {}
        self.bytes = 0

    def __len__(self) -> int:
        return len(self._runs)

    def take(self, key: Key) -> Kept | None:
        """Removes and returns the state of a run; None when there is none."""
        self.bytes -= self._sizes.pop(key, 0)
        return self._runs.pop(key, None)

    def put(self, key: Key, state: Kept) -> None:
        """Stores a state, and drops the least recently used ones to make room. A state that is larger than the limit is
        not kept."""
        self.take(key)
        self._runs[key] = state
        self._sizes[key] = state.progress.bytes
        self.bytes += self._sizes[key]
        while self.bytes > self._most_bytes:
            self.take(next(iter(self._runs)))

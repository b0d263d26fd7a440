"""[store]: the store over recorded runs: one class per subject, all on one source of records."""

import time
from collections.abc import Callable, Iterable

from playhead.model.usage import ModelUsage
from playhead_collector.store.records.contents import RecordContents
from playhead_collector.store.records.events import RecordEvents, RecordSpans
from playhead_collector.store.records.memory import MemoryProjections
from playhead_collector.store.records.notes import NoNotes
from playhead_collector.store.records.ports import ProjectionCache, RecordSource, RunProjection
from playhead_collector.store.records.projecting import RecordProjector
from playhead_collector.store.records.promises import RecordPromises
from playhead_collector.store.records.runs import Pricing, RecordRuns
from playhead_collector.store.records.scores import RecordScores
from playhead_collector.store.records.search import RecordSearch
from playhead_collector.store.records.uses import RecordUses


def _no_price(_usage: Iterable[ModelUsage]) -> float | None:
    return None


class RecordStore:
    """Implements `ports.ReadStore` over a source of records. Runs are projected when they are requested.

    There is only one project, so the project id is ignored.  Explanations are kept in memory.
    """

    def __init__(
        self,
        source: RecordSource,
        cache: ProjectionCache | None = None,
        *,
        clock: Callable[[], int] = time.time_ns,
        cost_of: Pricing = _no_price,
    ) -> None:
        """`clock`: current time in ns since 1970. It decides when quiet runs are sealed. `cost_of`: what lists of runs
        are sorted by."""
        self._projector = RecordProjector(source, cache or MemoryProjections(), clock)
        self.contents = RecordContents(source, self._projector)
        self.spans = RecordSpans(self._projector)
        self.events = RecordEvents(self._projector)
        self.scores = RecordScores(source, self._projector)
        self.promises = RecordPromises(source, self._projector)
        self.runs = RecordRuns(source, self._projector, self.scores, cost_of)
        self.notes = NoNotes()
        self.uses = RecordUses(source, self._projector)
        self.search = RecordSearch(lambda: {run: source.version(run) or "" for run in source.runs()})

    def projection(self, run: str) -> RunProjection | None:
        """Returns the projection of all records of the run; None when there is no such run."""
        return self._projector.projection(run)

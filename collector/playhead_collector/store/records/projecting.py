"""[store]: decides which cached projections of recorded runs are still valid, and has the others made again."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playhead.model.event import RunEvent
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead.projection.inputs import ProjectSettings
from playhead.projection.run_row import RunRow
from playhead_collector.store.records.ports import ProjectionCache, RecordSource, RunProjection

if TYPE_CHECKING:
    from playhead_collector.store.packing.span_pages import MergedSpans

# The most ancestors that are read of a fork. More than these are a circle, or not a real history.
MAX_ABOVE = 50


@dataclass(frozen=True, slots=True)
class RecordProjector:
    """Projects runs of a source, and caches each projection until the run gets new records.

    `clock`: ns since 1970.
    """

    source: RecordSource
    cache: ProjectionCache
    clock: Callable[[], int]
    settings: ProjectSettings = ProjectSettings()

    def projection(self, run: str) -> RunProjection | None:
        """Returns the projection of all records of the run; None when there is no such run."""
        return self._projected(run, ())

    def merged(self, run: str) -> "MergedSpans":
        """Returns the valid version of each span of a run and each log event once, both by time."""
        from playhead_collector.store.records.making import merged  # noqa: PLC0415 - see `_projected`

        return merged(self.source.records(run))

    def history(self, run: str) -> Sequence[RunEvent]:
        """Returns all events of a run. The events that a fork shares with its parent come first."""
        levels: list[Sequence[RunEvent]] = []
        upto: int | None = None
        projection = self.projection(run)
        while projection is not None and len(levels) <= MAX_ABOVE:
            events = projection.events
            levels.append(events if upto is None else [event for event in events if event.seq <= upto])
            shared = projection.row.shared
            upto = shared if upto is None or shared is None else min(upto, shared)
            above = projection.row.fork_of if upto else None
            projection = self.projection(above) if above else None
        return [event for level in reversed(levels) for event in level]

    def _projected(self, run: str, below: Sequence[str]) -> RunProjection | None:
        version = self.source.version(run)
        if version is None:
            return None
        cached = self.cache.get(run)
        if cached is not None and cached.version == version and self._is_current(cached, (*below, run)):
            return cached
        # Loading the projector takes longer than reading a cached projection, and few runs have new records.
        from playhead_collector.store.records.making import RunMaker  # noqa: PLC0415

        made = RunMaker(self).project(run, version, cached, below)
        self.cache.put(run, made)
        return made

    def _is_current(self, cached: RunProjection, below: Sequence[str]) -> bool:
        row = cached.row
        if row.ended_ns is not None and not row.sealed and not cached.is_quiet and self.is_quiet(cached.last_ns, row):
            return False
        if cached.awaited and self.recorded(cached.awaited):
            return False
        return cached.above == self.version_above(row.fork_of, below)

    def is_quiet(self, last_ns: int, row: RunRow) -> bool:
        """Returns whether the last record is so old that an ended run is sealed."""
        return self.clock() - last_ns > self.settings.quiet_after_ns(is_under_way=row.processes_open > 0)

    def recorded(self, refs: Collection[ContentRef]) -> set[ContentRef]:
        """Returns the given refs whose content or thread is recorded."""
        return {*self.source.contents(refs), *self.source.last_nodes(refs)} & set(refs)

    def version_above(self, parent: str | None, below: Sequence[str]) -> str | None:
        """Returns a text that changes when the projection of the parent, or of one of its ancestors, changes. None:
        there is no parent, it is not recorded, or the parents form a circle or are too many."""
        if parent is None or parent in below or len(below) > MAX_ABOVE:
            return None
        above = self._projected(parent, below)
        return None if above is None else f"{above.version}/{above.above or ''}/{above.row.sealed}"


def chain_to(nodes: Mapping[ContentRef, ThreadNode], tip: ContentRef) -> list[ThreadNode]:
    """Returns the nodes of a thread from first to last. `nodes` has to contain all of them."""
    chain: list[ThreadNode] = []
    ref: ContentRef | None = tip
    while ref is not None and ref in nodes:
        chain.append(nodes[ref])
        ref = nodes[ref].parent
    return chain[::-1]

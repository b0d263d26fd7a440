"""[store]: which projections of recorded runs are still valid, and those that are made anew."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playhead.model.event import RunEvent
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead.project.inputs import ProjectSettings
from playhead.project.run_row import RunRow
from playhead_collector.store.records.ports import ProjectionCache, RecordSource, RunProjection

if TYPE_CHECKING:
    from playhead_collector.store.packing.span_pages import MergedSpans

# Runs above a fork; those further above are a circle, or nobody's history.
MAX_ABOVE = 50


@dataclass(frozen=True, slots=True)
class RecordProjector:
    """Projects runs of a source, and keeps the projections for as long as nothing is added.

    `clock`: ns since 1970.
    """

    source: RecordSource
    cache: ProjectionCache
    clock: Callable[[], int]
    settings: ProjectSettings = ProjectSettings()

    def projection(self, run: str) -> RunProjection | None:
        """The run with all that is recorded of it; None when there is no such run."""
        return self._projected(run, ())

    def merged(self, run: str) -> "MergedSpans":
        """The valid version of each span of a run, and each log event once, both by time."""
        from playhead_collector.store.records.making import merged  # noqa: PLC0415 - as below

        return merged(self.source.records(run))

    def history(self, run: str) -> Sequence[RunEvent]:
        """All events of a run, those that a fork shares with its parent first."""
        found: list[Sequence[RunEvent]] = []
        upto: int | None = None
        projection = self.projection(run)
        while projection is not None and len(found) <= MAX_ABOVE:
            own = projection.events
            found.append(own if upto is None else [event for event in own if event.seq <= upto])
            shared = projection.row.shared
            upto = shared if upto is None or shared is None else min(upto, shared)
            above = projection.row.fork_of if upto else None
            projection = self.projection(above) if above else None
        return [event for level in reversed(found) for event in level]

    def _projected(self, run: str, below: Sequence[str]) -> RunProjection | None:
        version = self.source.version(run)
        if version is None:
            return None
        kept = self.cache.get(run)
        if kept is not None and kept.version == version and self._is_current(kept, (*below, run)):
            return kept
        # What has news is rare, and what projects it takes longer to load than what is kept takes to read.
        from playhead_collector.store.records.making import RunMaker  # noqa: PLC0415

        made = RunMaker(self).project(run, version, kept, below)
        self.cache.put(run, made)
        return made

    def _is_current(self, kept: RunProjection, below: Sequence[str]) -> bool:
        row = kept.row
        if row.ended_ns is not None and not row.sealed and not kept.is_quiet and self.is_quiet(kept.last_ns, row):
            return False
        if kept.awaited and self.recorded(kept.awaited):
            return False
        return kept.above == self.version_above(row.fork_of, below)

    def is_quiet(self, last_ns: int, row: RunRow) -> bool:
        """Whether the last record is so old that an ended run is sealed."""
        return self.clock() - last_ns > self.settings.quiet_after_ns(is_under_way=row.processes_open > 0)

    def recorded(self, refs: Collection[ContentRef]) -> set[ContentRef]:
        """Those of these contents and threads that are there."""
        return {*self.source.contents(refs), *self.source.last_nodes(refs)} & set(refs)

    def version_above(self, parent: str | None, below: Sequence[str]) -> str | None:
        """Changes with what a fork shares with the runs above it; None where there are none."""
        if parent is None or parent in below or len(below) > MAX_ABOVE:
            return None
        above = self._projected(parent, below)
        return None if above is None else f"{above.version}/{above.above or ''}/{above.row.sealed}"


def chain_to(nodes: Mapping[ContentRef, ThreadNode], tip: ContentRef) -> list[ThreadNode]:
    """The nodes of a thread from first to last, of a mapping that has them all."""
    found: list[ThreadNode] = []
    at: ContentRef | None = tip
    while at is not None and at in nodes:
        found.append(nodes[at])
        at = nodes[at].parent
    return found[::-1]

"""Projects recorded runs, in the same way as the collector does, and caches the projections while they are valid.

What projects is imported where a run is projected: reading a cached projection takes less time than that import, and
few runs have new records.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from playhead.model.event import RunEvent, ScoreRecorded
from playhead.model.message import read_message
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.thread import ThreadNode, extend
from playhead.projection.inputs import Parent, Projection, ProjectSettings, RunInput
from playhead.projection.message_records import recorded_threads
from playhead.projection.run_row import RunRow
from playhead_collector.store.packing.roles import role_in, role_named
from playhead_collector.store.records.ports import ProjectionCache, RecordSource, RunProjection, RunRecords

if TYPE_CHECKING:
    from playhead_collector.store.packing.span_pages import MergedSpans

# The most ancestors that are read of a fork. More than these are a circle, or not a real history.
MAX_ANCESTORS = 50


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

    def projections(self) -> Iterator[RunProjection]:
        """Yields the projections of all runs."""
        for run in self.source.runs():
            if (projection := self.projection(run)) is not None:
                yield projection

    def merged(self, run: str) -> "MergedSpans":
        """Returns the valid version of each span of a run and each log event once, both by time."""
        return merged(self.source.records(run))

    def history(self, run: str) -> Sequence[RunEvent]:
        """Returns all events of a run. The events that a fork shares with its parent come first."""
        levels: list[Sequence[RunEvent]] = []
        upto: int | None = None
        projection = self.projection(run)
        while projection is not None and len(levels) <= MAX_ANCESTORS:
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
        made = UncachedProjector(self).project(run, version, cached, below)
        self.cache.put(run, made)
        return made

    def _is_current(self, cached: RunProjection, below: Sequence[str]) -> bool:
        row = cached.row
        if row.ended_ns is not None and not row.sealed and not cached.is_quiet and self.is_quiet(cached.last_ns, row):
            return False
        if cached.awaited and self.recorded(cached.awaited):
            return False
        return cached.parent_version == self.parent_version(row.fork_of, below)

    def is_quiet(self, last_ns: int, row: RunRow) -> bool:
        """Returns whether the last record is so old that an ended run is sealed."""
        return self.clock() - last_ns > self.settings.quiet_after_ns(is_under_way=row.processes_open > 0)

    def recorded(self, refs: Collection[ContentRef]) -> set[ContentRef]:
        """Returns the given refs whose content or thread is recorded."""
        return {*self.source.contents(refs), *self.source.last_nodes(refs)} & set(refs)

    def parent_version(self, parent: str | None, below: Sequence[str]) -> str | None:
        """Returns a text that changes when the projection of the parent, or of one of its ancestors, changes. None:
        there is no parent, it is not recorded, or the parents form a circle or are too many."""
        if parent is None or parent in below or len(below) > MAX_ANCESTORS:
            return None
        above = self._projected(parent, below)
        return None if above is None else f"{above.version}/{above.parent_version or ''}/{above.row.sealed}"


@dataclass(frozen=True, slots=True)
class UncachedProjector:
    """Projects a run. Gets the runs from which it was forked from `projector`."""

    projector: RecordProjector

    def project(self, run: str, version: str, earlier: RunProjection | None, below: Sequence[str]) -> RunProjection:
        """Projects the records that the run has at this version.

        `earlier`: an earlier projection of the run, or None. `below`: the forks for which this run is projected, to
        detect circles.
        """
        from playhead.projection.forking import named_parent  # noqa: PLC0415 - see above
        from playhead_collector.store.packing.span_pages import named_refs  # noqa: PLC0415

        records = self.projector.source.records(run)
        chosen = merged(records)
        parent_id = named_parent(chosen.spans)
        above = self.projector.parent_version(parent_id, (*below, run))
        parent = self._parent(parent_id) if parent_id is not None and above is not None else None
        work = RunInput(run, chosen.spans, chosen.logs, {}, {}, None, records.last_ns, parent=parent)
        work.shared = None if earlier is None else earlier.row.shared
        named = named_refs(chosen.spans, chosen.logs)
        work.nodes = self._nodes(named, chosen.logs, parent)
        messages = {node.message for node in work.nodes.values()}
        stored = self.projector.source.contents(messages)
        work.roles = {
            ref: role for ref, content in stored.items() if (role := role_named(role_in(content.data))) is not None
        }
        result = self._until_read(work)
        pending = named - self.projector.recorded(named) - work.nodes.keys()
        return RunProjection(
            version=version,
            row=replace(result.row, run=run, content_pending=len(pending)),
            events=result.events,
            snapshots=result.snapshots,
            awaited=frozenset(pending | (messages - stored.keys())),
            last_ns=records.last_ns,
            is_quiet=self.projector.is_quiet(records.last_ns, result.row),
            parent_version=above,
            has_scores=any(isinstance(event, ScoreRecorded) for event in result.events),
        )

    def _until_read(self, work: RunInput) -> Projection:
        """Projects, reads the messages that the projection needs, and repeats until no needed message is unread."""
        from playhead.projection.projector import project  # noqa: PLC0415 - see above

        now = self.projector.clock()
        result = project(work, now, self.projector.settings)
        while result.unread:
            work.looked_up.update(result.unread)
            for ref, content in self.projector.source.contents(result.unread).items():
                with suppress(ValueError, RecursionError):
                    work.messages[ref] = read_message(content.data)
            result = project(work, now, self.projector.settings)
        return result

    def _parent(self, run: str) -> Parent | None:
        levels: list[Sequence[Span]] = []
        above: str | None = run
        projection = self.projector.projection(run)
        if projection is None:
            return None
        sealed = projection.row.sealed
        while above is not None and projection is not None and len(levels) <= MAX_ANCESTORS:
            levels.append(self.projector.merged(above).spans)
            above = projection.row.fork_of if projection.row.shared is not None else None
            projection = self.projector.projection(above) if above else None
        return Parent(run, self.projector.history(run), levels, sealed)

    def _nodes(
        self, named: Collection[ContentRef], logs: Sequence[LogEvent], parent: Parent | None
    ) -> dict[ContentRef, ThreadNode]:
        from playhead.projection.forking import threads_in  # noqa: PLC0415 - see above

        threads = {ref.plain for ref in threads_in(parent.events)} if parent is not None else set[ContentRef]()
        nodes = dict(self.projector.source.nodes({*named, *threads}))
        for messages in recorded_threads(logs).values():
            nodes |= {node.ref: node for node in extend(messages)}
        return nodes


def merged(records: RunRecords) -> "MergedSpans":
    """Returns the valid version of each span and each log event once, both by time."""
    from playhead_collector.store.packing.span_pages import SpanPage, merge  # noqa: PLC0415 - see above

    return merge([SpanPage(0, b"", list(records.spans), list(records.logs))])


def chain_to(nodes: Mapping[ContentRef, ThreadNode], tip: ContentRef) -> list[ThreadNode]:
    """Returns the nodes of a thread from first to last. `nodes` has to contain all of them."""
    chain: list[ThreadNode] = []
    ref: ContentRef | None = tip
    while ref is not None and ref in nodes:
        chain.append(nodes[ref])
        ref = nodes[ref].parent
    return chain[::-1]

"""[store]: records of a run → its projection, as the collector projects them."""

from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from playhead.model.event import RunEvent
from playhead.model.message import read_message
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.thread import ThreadNode, extend
from playhead.project.forking import named_parent, threads_in
from playhead.project.inputs import Parent, Projection, RunInput
from playhead.project.logs.message_records import recorded_threads
from playhead.project.projector import ProjectSettings, project
from playhead_collector.store.packing.roles import role_in, role_named
from playhead_collector.store.packing.span_pages import MergedSpans, SpanPage, merge, named_refs
from playhead_collector.store.records.ports import ProjectionCache, RecordSource, RunProjection, RunRecords

# Runs above a fork; those further above are a circle, or nobody's history.
_MAX_ABOVE = 50


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

    def merged(self, run: str) -> MergedSpans:
        """The valid version of each span of a run, and each log event once, both by time."""
        return _merged(self.source.records(run))

    def history(self, run: str) -> Sequence[RunEvent]:
        """All events of a run, those that a fork shares with its parent first."""
        found: list[Sequence[RunEvent]] = []
        upto: int | None = None
        projection = self.projection(run)
        while projection is not None and len(found) <= _MAX_ABOVE:
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
        made = self._project(run, version, kept, below)
        self.cache.put(run, made)
        return made

    def _is_current(self, kept: RunProjection, below: Sequence[str]) -> bool:
        row = kept.row
        if row.ended_ns is not None and not row.sealed and not kept.is_quiet and self._is_quiet(kept.last_ns):
            return False
        if kept.awaited and self._recorded(kept.awaited):
            return False
        return kept.above == self._version_above(row.fork_of, below)

    def _is_quiet(self, last_ns: int) -> bool:
        return self.clock() - last_ns > self.settings.seal_after_ns

    def _recorded(self, refs: Collection[ContentRef]) -> set[ContentRef]:
        return {*self.source.contents(refs), *self.source.nodes(refs)} & set(refs)

    def _version_above(self, parent: str | None, below: Sequence[str]) -> str | None:
        if parent is None or parent in below or len(below) > _MAX_ABOVE:
            return None
        above = self._projected(parent, below)
        return None if above is None else f"{above.version}/{above.above or ''}/{above.row.sealed}"

    def _project(self, run: str, version: str, kept: RunProjection | None, below: Sequence[str]) -> RunProjection:
        records = self.source.records(run)
        merged = _merged(records)
        parent_id = named_parent(merged.spans)
        above = self._version_above(parent_id, (*below, run))
        parent = self._parent(parent_id) if parent_id is not None and above is not None else None
        work = RunInput(run, merged.spans, merged.logs, {}, {}, None, records.last_ns, parent=parent)
        work.shared = None if kept is None else kept.row.shared
        named = named_refs(merged.spans, merged.logs)
        work.nodes = self._nodes(named, merged.logs, parent)
        messages = {node.message for node in work.nodes.values()}
        stored = self.source.contents(messages)
        work.roles = {ref: role for ref, each in stored.items() if (role := role_named(role_in(each.data))) is not None}
        result = self._until_read(work)
        pending = named - self._recorded(named) - work.nodes.keys()
        return RunProjection(
            version=version,
            row=replace(result.row, run=run, content_pending=len(pending)),
            events=result.events,
            snapshots=result.snapshots,
            awaited=frozenset(pending | (messages - stored.keys())),
            last_ns=records.last_ns,
            is_quiet=self._is_quiet(records.last_ns),
            above=above,
        )

    def _until_read(self, work: RunInput) -> Projection:
        """The projection, once all messages that may change it are read."""
        now = self.clock()
        result = project(work, now, self.settings)
        while result.unread:
            work.asked.update(result.unread)
            for ref, content in self.source.contents(result.unread).items():
                with suppress(ValueError, RecursionError):
                    work.messages[ref] = read_message(content.data)
            result = project(work, now, self.settings)
        return result

    def _parent(self, run: str) -> Parent | None:
        levels: list[Sequence[Span]] = []
        above: str | None = run
        projection = self.projection(run)
        if projection is None:
            return None
        sealed = projection.row.sealed
        while above is not None and projection is not None and len(levels) <= _MAX_ABOVE:
            levels.append(self.merged(above).spans)
            above = projection.row.fork_of if projection.row.shared is not None else None
            projection = self.projection(above) if above else None
        return Parent(run, self.history(run), levels, sealed)

    def _nodes(
        self, named: Collection[ContentRef], logs: Sequence[LogEvent], parent: Parent | None
    ) -> dict[ContentRef, ThreadNode]:
        threads = {ref.plain for ref in threads_in(parent.events)} if parent is not None else set[ContentRef]()
        nodes = dict(self.source.nodes({*named, *threads}))
        for messages in recorded_threads(logs).values():
            nodes |= {node.ref: node for node in extend(messages)}
        return nodes


def _merged(records: RunRecords) -> MergedSpans:
    return merge([SpanPage(0, b"", list(records.spans), list(records.logs))])


def chain_to(nodes: Mapping[ContentRef, ThreadNode], tip: ContentRef) -> list[ThreadNode]:
    """The nodes of a thread from first to last, of a mapping that has them all."""
    found: list[ThreadNode] = []
    at: ContentRef | None = tip
    while at is not None and at in nodes:
        found.append(nodes[at])
        at = nodes[at].parent
    return found[::-1]

"""[store]: projects the records of a run, in the same way as the collector does."""

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from playhead.model.message import read_message
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.thread import ThreadNode, extend
from playhead.projection.forking import named_parent, threads_in
from playhead.projection.inputs import Parent, Projection, RunInput
from playhead.projection.message_records import recorded_threads
from playhead.projection.projector import project
from playhead_collector.store.packing.roles import role_in, role_named
from playhead_collector.store.packing.span_pages import MergedSpans, SpanPage, merge, named_refs
from playhead_collector.store.records.ports import RunProjection, RunRecords
from playhead_collector.store.records.projecting import MAX_ABOVE, RecordProjector


@dataclass(frozen=True, slots=True)
class RunMaker:
    """Projects a run. Gets the runs from which it was forked from `projector`."""

    projector: RecordProjector

    def project(self, run: str, version: str, earlier: RunProjection | None, below: Sequence[str]) -> RunProjection:
        """Projects the records that the run has at this version.

        `earlier`: an earlier projection of the run, or None. `below`: the forks for which this run is projected, to
        detect circles.
        """
        records = self.projector.source.records(run)
        chosen = merged(records)
        parent_id = named_parent(chosen.spans)
        above = self.projector.version_above(parent_id, (*below, run))
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
            above=above,
        )

    def _until_read(self, work: RunInput) -> Projection:
        """Projects, reads the messages that the projection needs, and repeats until no needed message is unread."""
        now = self.projector.clock()
        result = project(work, now, self.projector.settings)
        while result.unread:
            work.asked.update(result.unread)
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
        while above is not None and projection is not None and len(levels) <= MAX_ABOVE:
            levels.append(self.projector.merged(above).spans)
            above = projection.row.fork_of if projection.row.shared is not None else None
            projection = self.projector.projection(above) if above else None
        return Parent(run, self.projector.history(run), levels, sealed)

    def _nodes(
        self, named: Collection[ContentRef], logs: Sequence[LogEvent], parent: Parent | None
    ) -> dict[ContentRef, ThreadNode]:
        threads = {ref.plain for ref in threads_in(parent.events)} if parent is not None else set[ContentRef]()
        nodes = dict(self.projector.source.nodes({*named, *threads}))
        for messages in recorded_threads(logs).values():
            nodes |= {node.ref: node for node in extend(messages)}
        return nodes


def merged(records: RunRecords) -> MergedSpans:
    """Returns the valid version of each span and each log event once, both by time."""
    return merge([SpanPage(0, b"", list(records.spans), list(records.logs))])

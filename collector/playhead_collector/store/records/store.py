"""[store]: reads one recorded run, its contents and threads from a source of records."""

import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from itertools import islice

from playhead.model.canonical import Content, content_as
from playhead.model.event import RunEvent
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.state import RunState
from playhead.model.thread import THREAD, ThreadNode, node_bytes
from playhead_collector.errors import ContentCorrupt, ContentMissing
from playhead_collector.store.ports import StoredPage, ThreadNodes
from playhead_collector.store.records.lists import RecordLists
from playhead_collector.store.records.memory import MemoryProjections
from playhead_collector.store.records.ports import ProjectionCache, RecordSource, RunProjection
from playhead_collector.store.records.projecting import RecordProjector, chain_to

_EVENTS_AT_A_TIME = 256


class RecordStore(RecordLists):
    """Implements `ports.ReadStore` over a source of records. Runs are projected when they are requested.

    There is only one project, so the project id is ignored.  Explanations are kept in memory.
    """

    def __init__(
        self,
        source: RecordSource,
        cache: ProjectionCache | None = None,
        *,
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        """`clock`: current time in ns since 1970. It decides when quiet runs are sealed."""
        super().__init__(source, RecordProjector(source, cache or MemoryProjections(), clock))
        self._explanations: dict[tuple[ContentRef, str], Content] = {}

    def projection(self, run: str) -> RunProjection | None:
        """Returns the projection of all records of the run; None when there is no such run."""
        return self._projector.projection(run)

    # --- contents and threads -----------------------------------------------------------------------------------------

    async def get(self, project_id: int, ref: ContentRef) -> Content:
        contents = await self.get_many(project_id, [ref])
        if ref not in contents:
            raise ContentMissing(f"nothing is stored under {ref}")
        return contents[ref]

    async def get_many(self, project_id: int, refs: Sequence[ContentRef]) -> Mapping[ContentRef, Content]:
        stored: dict[ContentRef, Content] = dict(self._source.contents(refs))
        stored |= {content.ref: content for content in self._explanations.values()}
        rest = {ref.plain for ref in refs} - stored.keys()
        for ref, node in self._source.last_nodes(rest).items():
            stored[ref] = Content(node_bytes(node.message, node.parent), THREAD)
        for ref, content in stored.items():
            if content.ref.digest != ref.digest:
                raise ContentCorrupt(f"what is stored under {ref} has another digest: record the run again")
        return {
            ref: content_as(stored_content.data, stored_content.media_type, ref)
            for ref in refs
            if (stored_content := stored.get(ref.plain)) is not None
        }

    async def refs_with_prefix(self, project_id: int, prefixes: Sequence[bytes]) -> Sequence[ContentRef]:
        return self._source.refs_with_prefix(prefixes)

    async def is_awaited(self, project_id: int, ref: ContentRef) -> bool:
        return any(ref.plain in projection.awaited for projection in self._projections())

    async def thread(self, project_id: int, ref: ContentRef) -> Sequence[ThreadNode]:
        nodes = self._source.nodes([ref])
        if ref.plain not in nodes:
            raise ContentMissing(f"no thread is stored under {ref}")
        return chain_to(nodes, ref.plain)

    async def threads(self, project_id: int, refs: Sequence[ContentRef], most_nodes: int) -> ThreadNodes:
        nodes: dict[ContentRef, ThreadNode] = {}
        unread: set[ContentRef] = set()
        for ref in refs:
            more = self._source.nodes([ref])
            if nodes and len(nodes.keys() | more.keys()) > most_nodes:
                unread.add(ref)
            else:
                nodes |= more
        return ThreadNodes(nodes, unread)

    # --- spans --------------------------------------------------------------------------------------------------------

    async def spans(self, project_id: int, run: str) -> Sequence[Span]:
        return self._projector.merged(run).spans

    async def logs(self, project_id: int, run: str) -> Sequence[LogEvent]:
        return self._projector.merged(run).logs

    async def span_pages(self, project_id: int, run: str, *, after: int, limit: int) -> Sequence[StoredPage]:
        from playhead_collector.store.packing.span_pages import page_parts  # noqa: PLC0415 - few questions need it

        merged = self._projector.merged(run)
        pages = (StoredPage(number, *part) for number, part in enumerate(page_parts(merged.spans, merged.logs), 1))
        return list(islice((page for page in pages if page.number > after), limit))

    # --- events -------------------------------------------------------------------------------------------------------

    async def events(
        self, project_id: int, run: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> Sequence[RunEvent]:
        projection = self._projector.projection(run)
        if projection is None:
            return []
        shared = projection.row.shared or 0
        last = projection.row.events if upto is None else upto
        selected: list[RunEvent] = []
        if after < shared:
            selected += [
                event for event in self._projector.history(run)[:shared] if after < event.seq <= min(last, shared)
            ]
        if last > shared:
            selected += projection.events[max(after - shared, 0) : last - shared]
        return selected[:limit]

    async def event_pages(self, project_id: int, run: str, after: int = 0) -> AsyncIterator[Sequence[RunEvent]]:
        while page := await self.events(project_id, run, after=after, limit=_EVENTS_AT_A_TIME):
            yield page
            after = page[-1].seq

    async def seq_of(self, project_id: int, run: str, event_id: str) -> int | None:
        events = await self.events(project_id, run)
        return next(
            (event.seq for event in events if event.id == event_id or event.id.startswith(f"{event_id}.")), None
        )

    async def snapshot(self, project_id: int, run: str, seq: int) -> RunState | None:
        projection = self._projector.projection(run)
        states = projection.snapshots if projection is not None else ()
        return max((state for state in states if state.seq <= seq), key=lambda state: state.seq, default=None)

    # --- explanations -------------------------------------------------------------------------------------------------

    async def explanation(self, project_id: int, subject: ContentRef, model: str | None = None) -> ContentRef | None:
        texts = self._explanations.items()
        return next((text.ref for (of, by), text in texts if of == subject and model in (None, by)), None)

    async def keep_explanation(
        self, project_id: int, run: str, subject: ContentRef, model: str, explanation: Content
    ) -> None:
        self._explanations[subject, model] = explanation

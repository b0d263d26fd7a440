"""[store]: the events of a recorded run, and the spans and log events that they were made from."""

from collections.abc import AsyncIterator, Sequence
from itertools import islice

from playhead.model.event import RunEvent
from playhead.model.span import LogEvent, Span
from playhead.model.state import RunState
from playhead_collector.store.ports.spans import StoredPage
from playhead_collector.store.records.projecting import RecordProjector

_EVENTS_AT_A_TIME = 256


class RecordEvents:
    """Implements `ports.events.EventReader` over a source of records."""

    def __init__(self, projector: RecordProjector) -> None:
        self._projector = projector

    async def read(
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

    async def pages(self, project_id: int, run: str, after: int = 0) -> AsyncIterator[Sequence[RunEvent]]:
        while page := await self.read(project_id, run, after=after, limit=_EVENTS_AT_A_TIME):
            yield page
            after = page[-1].seq

    async def seq_of(self, project_id: int, run: str, event_id: str) -> int | None:
        events = await self.read(project_id, run)
        return next(
            (event.seq for event in events if event.id == event_id or event.id.startswith(f"{event_id}.")), None
        )

    async def snapshot(self, project_id: int, run: str, seq: int) -> RunState | None:
        projection = self._projector.projection(run)
        states = projection.snapshots if projection is not None else ()
        return max((state for state in states if state.seq <= seq), key=lambda state: state.seq, default=None)


class RecordSpans:
    """Implements `ports.spans.SpanReader` over a source of records."""

    def __init__(self, projector: RecordProjector) -> None:
        self._projector = projector

    async def read(self, project_id: int, run: str) -> Sequence[Span]:
        return self._projector.merged(run).spans

    async def logs(self, project_id: int, run: str) -> Sequence[LogEvent]:
        return self._projector.merged(run).logs

    async def pages(self, project_id: int, run: str, *, after: int, limit: int) -> Sequence[StoredPage]:
        from playhead_collector.store.packing.span_pages import page_parts  # noqa: PLC0415 - few questions need it

        merged = self._projector.merged(run)
        pages = (StoredPage(number, *part) for number, part in enumerate(page_parts(merged.spans, merged.logs), 1))
        return list(islice((page for page in pages if page.number > after), limit))

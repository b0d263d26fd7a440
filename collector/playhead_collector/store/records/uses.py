"""[store]: which recorded runs had a content, and which model calls had a thread as context."""

from collections.abc import Iterable, Iterator, Sequence

from playhead.model.event import LlmCalled, RunEvent
from playhead.model.ref import ContentRef
from playhead_collector.store.ports.uses import ContentUse, EventRange, SameContext, UseTotals
from playhead_collector.store.records.ports import RecordSource
from playhead_collector.store.records.projecting import RecordProjector


class RecordUses:
    """Implements `ports.uses.UseReader` over a source of records. Every run is read."""

    def __init__(self, source: RecordSource, projector: RecordProjector) -> None:
        self._source = source
        self._projector = projector

    async def calls_with_thread(self, project_id: int, thread: ContentRef, *, limit: int) -> Sequence[tuple[str, int]]:
        return self._calls_with(thread.plain)[:limit]

    def _calls_with(self, thread: ContentRef) -> list[tuple[str, int]]:
        """Returns (run, seq) of model calls that had this thread as context, newest runs first."""
        calls = [(item.row, event) for item in self._projector.projections() for event in _calls(item.events)]
        having = [(row, event.seq) for row, event in calls if event.thread is not None and event.thread.plain == thread]
        having.sort(key=lambda item: (item[0].started_ns, item[0].run, item[1]), reverse=True)
        return [(row.run, seq) for row, seq in having]

    async def runs_with_same_context(
        self, project_id: int, parts: Sequence[EventRange], *, without: Sequence[str], limit: int
    ) -> Sequence[SameContext]:
        last: dict[str, SameContext] = {}
        mine: dict[ContentRef, int] = {}
        for part in parts:
            projection = self._projector.projection(part.run)
            for event in _calls(projection.events if projection is not None else ()):
                if event.thread is not None and part.after < event.seq <= part.upto:
                    mine[event.thread.plain] = event.seq
        for thread, here in sorted(mine.items(), key=lambda item: item[1]):
            for run, seq in self._calls_with(thread)[:limit]:
                if run not in without:
                    last[run] = SameContext(here, run, seq)
        return sorted(last.values(), key=lambda item: (-item.here, item.run))[:limit]

    async def totals(self, project_id: int, ref: ContentRef) -> UseTotals:
        uses = self._uses(ref)
        times = sorted(use.started_ns for use in uses)
        calls = sum(use.calls for use in uses)
        return UseTotals(
            len(uses), calls, times[0] if times else None, times[-1] if times else None, uses, unread=False
        )

    async def is_any_left_out(self, project_id: int) -> bool:
        return False

    async def page(
        self, project_id: int, ref: ContentRef, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[ContentUse]:
        matches = self._uses(ref)
        return [use for use in matches if before is None or (use.started_ns, use.run) < before][:limit]

    def _uses(self, ref: ContentRef) -> list[ContentUse]:
        from playhead.projection.content_uses import call_threads, count_uses  # noqa: PLC0415 - rarely needed

        all_uses: list[ContentUse] = []
        for projection in self._projector.projections():
            uses = count_uses(projection.events, self._source.nodes(call_threads(projection.events)))
            if ref.plain in uses:
                all_uses.append(ContentUse(projection.row.run, projection.row.started_ns, uses[ref.plain]))
        return sorted(all_uses, key=lambda use: (use.started_ns, use.run), reverse=True)


def _calls(events: Iterable[RunEvent]) -> Iterator[LlmCalled]:
    return (event for event in events if isinstance(event, LlmCalled))

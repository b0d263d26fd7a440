"""receive → [lift → store] → project, forward.  The way of what was received into the store."""

import asyncio
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from playhead.lift import SharedMessages, lift, lift_logs, scope_name
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.wire.pack import Pack
from playhead_collector.receive.ports import IngestResult, MissingRefs, PackResult, TakenOut
from playhead_collector.store.ports import Batch, Store

# Lifting one foreign span of 20 kB takes up to a millisecond; more of them than this are lifted off the event loop.
_LIFT_ON_LOOP = 16


@dataclass(frozen=True, slots=True)
class IngestPipeline:
    """Lifts and stores what was received. What [receive] calls `Ingest` and `ContentIntake`."""

    store: Store
    project_id: int
    inline_characters: int
    arrived: Sequence[Callable[[], None]]
    """Called after spans, log events or contents were stored: whoever works on them looks sooner then."""

    async def ingest(self, spans: Sequence[Span], logs: Sequence[LogEvent]) -> IngestResult:
        """Durable once this returns. Raises StoreUnavailable."""
        many = len(spans) + len(logs) > _LIFT_ON_LOOP
        work = partial(_lifted, spans, logs, self.inline_characters)
        lifted = await asyncio.to_thread(work) if many else work()
        ingested = await self.store.ingest(self.project_id, lifted.batch)
        self._wake()
        contents = TakenOut(lifted.contents, lifted.content_bytes, ingested.new_contents, ingested.new_bytes)
        refused = (ingested.pending, ingested.dropped, lifted.not_understood)
        overtaken = ingested.superseded, ingested.takeovers
        return IngestResult(ingested.spans, ingested.duplicates, *refused, contents, *overtaken)

    async def missing(self, refs: Sequence[ContentRef]) -> MissingRefs:
        """Which of these are not stored. Raises StoreUnavailable."""
        # The epoch first: if content goes between the two, the client's belief ends with the older epoch.
        epoch = await self.store.epoch(self.project_id)
        return MissingRefs(await self.store.missing(self.project_id, refs), epoch)

    async def put(self, pack: Pack) -> PackResult:
        """Durable once this returns. Raises StoreUnavailable."""
        epoch = await self.store.epoch(self.project_id)
        unknown_parents = await self.store.put(self.project_id, pack.contents, pack.threads)
        self._wake()
        return PackResult(unknown_parents, epoch)

    async def awaits(self, ref: ContentRef) -> bool:
        """Whether a run names this content and it is not stored. Raises StoreUnavailable."""
        return await self.store.awaits(self.project_id, ref)

    def _wake(self) -> None:
        for wake in self.arrived:
            wake()


@dataclass(frozen=True, slots=True)
class _LiftedBatch:
    """What to store; how many contents were taken out, and their bytes, with repetitions; and how many spans and log
    events had content that no dialect understood, by scope."""

    batch: Batch
    contents: int
    content_bytes: int
    not_understood: Counter[str]


def _lifted(spans: Sequence[Span], logs: Sequence[LogEvent], inline: int) -> _LiftedBatch:
    shared = SharedMessages()
    lifted_spans = [lift(span, inline, shared=shared) for span in spans]
    lifted_logs = lift_logs(logs, inline)
    lifted = [*lifted_spans, *lifted_logs]
    not_understood = Counter(scope_name(one.span.scope) for one in lifted_spans if not one.is_understood)
    not_understood.update(scope_name(one.log.scope) for one in lifted_logs if not one.is_understood)
    # Calls of one conversation have much in common: each content is stored once, and no thread that another continues.
    contents = [content for one in lifted for content in one.contents]
    threads = {shared.thread_ref(thread.messages): thread for one in lifted for thread in one.threads}
    continued = shared.continued()
    batch = Batch(
        spans=[one.span for one in lifted_spans],
        logs=[one.log for one in lifted_logs],
        contents=list({content.ref: content for content in contents}.values()),
        threads=[thread for ref, thread in threads.items() if ref not in continued],
    )
    return _LiftedBatch(batch, len(contents), sum(len(content.data) for content in contents), not_understood)

"""receive → [lift → store] → projection, forward.  Lifts what was received and stores it."""

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from playhead.lift import SharedThreads, lift, lift_logs, scope_name
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.wire.pack import Pack
from playhead_collector.receive.ports import ExtractedCounts, IngestResult, MissingRefs, PackResult
from playhead_collector.redaction.masking import Masker
from playhead_collector.redaction.records import mask_logs, mask_spans
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore

MaskerOf = Callable[[int], Awaitable[Masker | None]]
"""Of a project, by its number."""

# Lifting one foreign span of 20 kB takes up to a millisecond; more of them than this are lifted off the event loop.
_LIFT_ON_LOOP = 16


@dataclass(frozen=True, slots=True)
class IngestPipeline:
    """Lifts and stores what was received for a project. Implements the protocols `Ingest` and `MediaIntake` of
    [receive]."""

    store: PostgresStore
    project_id: int
    inline_characters: int
    arrived: Sequence[Callable[[int], None]]
    """Callbacks that wake the workers (projector, forwarder). Called with the project after spans, log events or
    contents were stored.
    """
    maskers: MaskerOf | None = None
    """Gives what masks the data of a project; None: nothing is masked."""

    def of(self, project_id: int) -> "IngestPipeline":
        """Returns the pipeline of another project."""
        return self if project_id == self.project_id else replace(self, project_id=project_id)

    async def ingest(self, spans: Sequence[Span], logs: Sequence[LogEvent]) -> IngestResult:
        """Durable once this returns. Raises StoreUnavailable."""
        many = len(spans) + len(logs) > _LIFT_ON_LOOP
        masker = None if self.maskers is None else await self.maskers(self.project_id)
        work = partial(_lifted, spans, logs, self.inline_characters, masker)
        lifted = await asyncio.to_thread(work) if many or masker is not None else work()
        ingested = await self.store.spans.ingest(self.project_id, lifted.batch)
        self._wake()
        contents = ExtractedCounts(lifted.contents, lifted.content_bytes, ingested.new_contents, ingested.new_bytes)
        refused = (ingested.pending, ingested.dropped, lifted.not_understood)
        overtaken = ingested.superseded, ingested.takeovers
        return IngestResult(ingested.spans, ingested.duplicates, *refused, contents, *overtaken)

    async def record(self, batch: Batch) -> None:
        """Stores what the collector itself records, by the same rules. Durable once this returns. Raises
        StoreUnavailable."""
        masker = None if self.maskers is None else await self.maskers(self.project_id)
        if masker is not None:
            batch = await asyncio.to_thread(_masked_batch, masker, batch)
        await self.store.spans.ingest(self.project_id, batch)
        self._wake()

    async def missing(self, refs: Sequence[ContentRef]) -> MissingRefs:
        """Returns the refs that are not stored. Raises StoreUnavailable."""
        # Read the epoch first: if content is deleted between the two reads, the older epoch makes the client ask again.
        epoch = await self.store.contents.epoch(self.project_id)
        return MissingRefs(await self.store.contents.missing(self.project_id, refs), epoch)

    async def put(self, pack: Pack) -> PackResult:
        """Durable once this returns. Raises StoreUnavailable."""
        epoch = await self.store.contents.epoch(self.project_id)
        # The digests were verified when the pack was read: from here on, contents go by their refs.
        unproven = {content.ref.digest for content in pack.contents if content.is_masked}
        masker = None if self.maskers is None else await self.maskers(self.project_id)
        contents: Sequence[Content] = pack.contents
        if masker is not None:
            contents = await asyncio.to_thread(_masked, masker, contents)
        unknown_parents = await self.store.contents.put(self.project_id, contents, pack.threads, unproven)
        self._wake()
        return PackResult(unknown_parents, epoch)

    async def is_awaited(self, ref: ContentRef) -> bool:
        """Whether a run names this content while it is not stored. Raises StoreUnavailable."""
        return await self.store.contents.is_awaited(self.project_id, ref)

    def _wake(self) -> None:
        for wake in self.arrived:
            wake(self.project_id)


@dataclass(frozen=True, slots=True)
class _LiftedBatch:
    """A batch to store, and figures about it: the number and bytes of the contents that were taken out of spans
    (repetitions count), and per scope the number of spans and log events whose content no dialect understood."""

    batch: Batch
    contents: int
    content_bytes: int
    not_understood: Counter[str]


def _masked(masker: Masker, contents: Sequence[Content]) -> Sequence[Content]:
    return [masker.content(content) for content in contents]


def _masked_batch(masker: Masker, batch: Batch) -> Batch:
    spans, logs = mask_spans(masker, batch.spans), mask_logs(masker, batch.logs)
    return replace(batch, spans=spans, logs=logs, contents=_masked(masker, batch.contents))


def _lifted(spans: Sequence[Span], logs: Sequence[LogEvent], inline: int, masker: Masker | None) -> _LiftedBatch:
    shared = SharedThreads()
    lifted_spans = [lift(span, inline, shared=shared) for span in spans]
    lifted_logs = lift_logs(logs, inline)
    lifted = [*lifted_spans, *lifted_logs]
    not_understood = Counter(scope_name(item.span.scope) for item in lifted_spans if not item.is_understood)
    not_understood.update(scope_name(item.log.scope) for item in lifted_logs if not item.is_understood)
    # Calls of one conversation share messages: each content is stored once, and a thread that another one continues is
    # not stored.
    contents = [content for item in lifted for content in item.contents]
    threads = {shared.thread_ref(thread.messages): thread for item in lifted for thread in item.threads}
    continued = shared.continued()
    batch = Batch(
        spans=[item.span for item in lifted_spans],
        logs=[item.log for item in lifted_logs],
        contents=list({content.ref: content for content in contents}.values()),
        threads=[thread for ref, thread in threads.items() if ref not in continued],
    )
    if masker is not None:  # last: what is lifted has the refs of what was sent
        batch = _masked_batch(masker, batch)
    return _LiftedBatch(batch, len(contents), sum(len(content.data) for content in contents), not_understood)

"""outbox → [loading] → delivery.  Converts outbox entries into spans and log events in the destination's format."""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from playhead.model import names
from playhead.model.canonical import canonical_json
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent
from playhead.model.thread import ThreadNode
from playhead.outbound.contents import ContentNotAtHand, OutboundContents, WantedRefs
from playhead.outbound.counting import CountedSpan
from playhead.outbound.encoding import encode, encode_log, media_of, wanted, wanted_of_log
from playhead.outbound.langfuse_media import OutboundMedia
from playhead.outbound.options import OutboundOptions
from playhead.outbound.otlp import logs_request, traces_request
from playhead.outbound.span import OutboundCost, OutboundRun, OutboundSpan, outbound_span, run_of
from playhead.projection.counted_run import run_calls
from playhead.projection.run_row import RunRow
from playhead.projection.scores import score_of
from playhead_collector.errors import ContentCorrupt, ContentMissing, StoreUnavailable
from playhead_collector.forward.attempts import Answer
from playhead_collector.forward.counting import RunCounter
from playhead_collector.forward.scoring import outbound_score
from playhead_collector.forward.senders import MediaUploader, ScoreSender
from playhead_collector.read.prices import Prices
from playhead_collector.store.ports.outbox import OutboxEntry

if TYPE_CHECKING:  # the journal of a machine is read without Postgres' driver
    from playhead_collector.store.postgres.store import PostgresStore

# Rounds of reading: threads and values, the messages of the threads, their large parts; and one to see that nothing is
# missing.
_ROUNDS = 4
# Memory for contents that are kept while spans of one run are encoded, since its calls share most messages.
_KEPT_BYTES = 16 * 1024 * 1024
_KEPT_RUNS = 1_000
# Spans of a run whose content is read together. If the contents exceed _LARGE_BYTES, as those of long conversations do,
# each span is encoded and handed on before the next.
_AT_ONCE = 32
_LARGE_BYTES = 1024 * 1024
# Most nodes of threads that are read together: 20 MB.
_MOST_NODES = 100_000
_LOOK_AGAIN_NS = 60 * 1_000_000_000


class NotAllHere(Exception):
    """Content that a span names has not arrived yet, or the scored run or call is not stored yet."""


@dataclass(slots=True)
class _Contents:
    """Contents of one run that are kept, with their approximate size in bytes."""

    run: str
    at_hand: OutboundContents
    size: int = 0


class Loader:
    """Reads the items of entries and their contents, for one destination."""

    def __init__(
        self,
        store: "PostgresStore",
        options: OutboundOptions,
        prices: Prices,
        public_url: str,
        clock: Callable[[], int],
        pause_for_ingest: Callable[[], Awaitable[None]],
        uploader: MediaUploader | None = None,
    ) -> None:
        """`public_url` is the URL of this collector for people; `clock` gives ns since 1970; `pause_for_ingest` is
        awaited after each portion of work."""
        self._pause_for_ingest = pause_for_ingest
        self._uploader = uploader
        self._store = store
        self._options = options
        self._prices = prices
        self._public_url = public_url
        self._clock = clock
        self._runs: OrderedDict[str, tuple[OutboundRun, bool, int]] = OrderedDict()
        self._contents = _Contents("", OutboundContents())

    async def run(self, entry: OutboxEntry, row: RunRow | None) -> OutboundRun:
        """Returns the attributes of the entry's run, from its first span and its row."""
        outbound_run, has_root, looked_ns = self._runs.pop(
            entry.run, (OutboundRun(id=entry.run), False, -_LOOK_AGAIN_NS)
        )
        if not has_root and self._clock() - looked_ns >= _LOOK_AGAIN_NS:
            for span in await self._store.spans.read(entry.project_id, entry.run):
                if span.attributes.get(names.RUN_ROOT) is True or span.parent_id is None:
                    outbound_run, has_root = replace(run_of(span.attributes), id=entry.run), True
                    break
            looked_ns = self._clock()
        self._runs[entry.run] = outbound_run, has_root, looked_ns
        if len(self._runs) > _KEPT_RUNS:
            self._runs.popitem(last=False)
        return outbound_run if row is None else _completed(outbound_run, row)

    async def counter(self, entry: OutboxEntry) -> RunCounter:
        """Returns a counter of the entry's run, with everything that is stored of it now."""
        spans, logs = await self._store.outbox.items(replace(entry, spans=None, logs=None, page=None))
        return RunCounter(await asyncio.to_thread(run_calls, entry.run, spans, logs))

    async def send_score(self, entry: OutboxEntry, log: LogEvent, to: ScoreSender | None, *, wait: bool) -> Answer:
        """Sends the score in a log event. Raises NotAllHere while the scored run or call is not stored, or, with
        `wait`, while the score's explanation is not stored."""
        counter = await self.counter(entry)
        score = outbound_score(counter.run, log, self._options, await self._explanation(entry, log, wait=wait))
        if score is None or to is None:
            raise NotAllHere
        return await to.send(score)

    async def _explanation(self, entry: OutboxEntry, log: LogEvent, *, wait: bool) -> str | None:
        score = score_of(log.attributes)
        if score is None or score.explanation is None or self._options.content == "ref":
            return None
        with suppress(ContentCorrupt, ContentNotAtHand):
            contents = await self._fetched(entry, WantedRefs(contents=(score.explanation,)), wait=wait)
            value = contents.value(score.explanation)
            return value if isinstance(value, str) else canonical_json(value).decode()
        return None

    async def spans_requests(
        self, entry: OutboxEntry, several: Sequence[Sequence[CountedSpan]], run: OutboundRun, *, wait: bool
    ) -> AsyncGenerator[bytes | Exception]:
        """Yields for each element of `several` an OTLP request with its spans, after their images and files were
        uploaded; or the reason why there is none: NotAllHere (with `wait`), UploadFailed, or another error if a span
        cannot be encoded. Raises StoreUnavailable."""
        for first in range(0, len(several), _AT_ONCE):
            batch = [[self._outbound(counted, run) for counted in spans] for spans in several[first : first + _AT_ONCE]]
            together = WantedRefs.of_all(wanted(span, self._options) for spans in batch for span in spans)
            with suppress(ContentCorrupt):  # contents are read again for each element: only those that name it fail
                await self._fetched(entry, together, wait=False)
            # Encoding runs in a thread, whose start costs more than a small span. Large spans are encoded one by one.
            step = _AT_ONCE if self._contents.size < _LARGE_BYTES else 1
            for start in range(0, len(batch), step):
                encoded = await self._encoded(entry, batch[start : start + step], wait=wait)
                await self._pause_for_ingest()
                for request in encoded:
                    yield request

    async def _encoded(
        self, entry: OutboxEntry, several: Sequence[Sequence[OutboundSpan]], *, wait: bool
    ) -> list[bytes | Exception]:
        ready: list[tuple[Sequence[OutboundSpan], OutboundContents] | Exception] = []
        for spans in several:
            try:
                contents = await self._fetched(
                    entry, WantedRefs.of_all(wanted(x, self._options) for x in spans), wait=wait
                )
                if self._uploader is not None:
                    await self._uploader.upload(await asyncio.to_thread(self._media, spans, contents))
                ready.append((spans, contents))
            except StoreUnavailable:
                raise
            except Exception as error:  # noqa: BLE001 - the worker gets the error, and goes on with the others
                ready.append(error)
        return await asyncio.to_thread(_requests, ready, self._options)

    def _media(self, spans: Sequence[OutboundSpan], contents: OutboundContents) -> list[OutboundMedia]:
        return [medium for span in spans for medium in media_of(span, contents, self._options)]

    async def close(self) -> None:
        """Closes connections."""
        if self._uploader is not None:
            await self._uploader.close()

    async def log_request(self, entry: OutboxEntry, log: LogEvent, *, wait: bool) -> bytes:
        """Returns an OTLP request with this log event. Raises NotAllHere (with `wait`), StoreUnavailable, and other
        errors if the log event cannot be encoded."""
        contents = await self._fetched(entry, wanted_of_log(log, self._options), wait=wait)
        return logs_request([encode_log(log, contents, self._options)])

    def _outbound(self, counted: CountedSpan, run: OutboundRun) -> OutboundSpan:
        url = f"{self._public_url}/runs/{run.id}?at={counted.span.span_id}"
        outgoing = outbound_span(counted.span, run, kind=counted.kind, url=url)
        price = self._prices.of(outgoing.model) if outgoing.kind in {"llm", "embedding"} else None
        cost = price.cost(outgoing.usage) if price else None
        return outgoing if cost is None else replace(outgoing, cost=OutboundCost(total=cost))

    async def _fetched(self, entry: OutboxEntry, refs: WantedRefs, *, wait: bool) -> OutboundContents:
        if self._contents.run != entry.run or self._contents.size > _KEPT_BYTES:
            self._contents = _Contents(entry.run, OutboundContents())
        contents = self._contents.at_hand
        absent = WantedRefs()
        for _ in range(_ROUNDS):
            missing = contents.missing(refs)
            if not missing or missing == absent:
                break
            absent = missing
            await self._fetch(entry.project_id, missing)
        if wait and contents.missing(refs):
            raise NotAllHere
        return contents

    async def _fetch(self, project_id: int, missing: WantedRefs) -> None:
        cache = self._contents
        if missing.contents:
            for ref, content in (await self._store.contents.get_many(project_id, missing.contents)).items():
                cache.at_hand.add(ref, content)
                cache.size += len(content.data)
        if missing.threads:
            for thread, messages in (await self._threads(project_id, missing.threads)).items():
                cache.at_hand.add_thread(thread, messages)
                cache.size += 100 * len(messages)

    async def _threads(self, project_id: int, refs: Sequence[ContentRef]) -> Mapping[ContentRef, Sequence[ContentRef]]:
        together = (await self._store.contents.threads(project_id, refs, _MOST_NODES)).nodes
        threads = {ref: messages for ref in refs if (messages := _messages(together, ref))}
        for ref in refs:
            if ref not in threads:  # very long, or a part has only just arrived
                with suppress(ContentMissing, ContentCorrupt):
                    threads[ref] = [node.message for node in await self._store.contents.thread(project_id, ref)]
        return threads


def _messages(nodes: Mapping[ContentRef, ThreadNode], thread: ContentRef) -> list[ContentRef]:
    """Returns the messages of a thread, first to last; empty if a node is missing."""
    messages: list[ContentRef] = []
    node_ref: ContentRef | None = thread.plain
    while node_ref is not None:
        if node_ref not in nodes:
            return []
        messages.append(nodes[node_ref].message)
        node_ref = nodes[node_ref].parent
    return messages[::-1]


def _completed(run: OutboundRun, row: RunRow) -> OutboundRun:
    return replace(
        run,
        name=run.name or row.name,
        session=run.session or row.session,
        user=run.user or row.user,
        tags=run.tags or row.tags,
    )


def _requests(
    several: Iterable[tuple[Sequence[OutboundSpan], OutboundContents] | Exception], options: OutboundOptions
) -> list[bytes | Exception]:
    return [prepared if isinstance(prepared, Exception) else _request(*prepared, options) for prepared in several]


def _request(spans: Sequence[OutboundSpan], contents: OutboundContents, options: OutboundOptions) -> bytes | Exception:
    try:
        return traces_request([encode(span, contents, options) for span in spans])
    except Exception as error:  # noqa: BLE001 - one odd span must not stop the others
        return error

"""outbox → [worker] → one destination.  Takes due entries, delivers them, and stores the result.

    take entries → which of them the destination gets → encode, in requests of a bounded size → send → settle

An entry is taken for some minutes; the worker renews that while it sends. After a failure it pauses, each time longer.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from playhead.model.span import LogEvent
from playhead.outbound.answers import Verdict
from playhead.outbound.counting import needs_run
from playhead.outbound.span import OutboundRun
from playhead_collector.background import BackgroundLoop
from playhead_collector.errors import StoreUnavailable
from playhead_collector.forward.attempts import Answer, backoff_s, shortened
from playhead_collector.forward.counting import OutgoingSpans, RunCounter, counted_singly, order_for_sending
from playhead_collector.forward.delivery import BatchDelivery, Delivered, OutgoingItem
from playhead_collector.forward.destination import Destination, ForwardLimits
from playhead_collector.forward.filters import ForwardDecision, decide, has_filters
from playhead_collector.forward.loading import Loader, NotAllHere
from playhead_collector.forward.pacing import Pacing
from playhead_collector.forward.progress import CycleProgress, EntryProgress
from playhead_collector.forward.scoring import is_on_span, is_score
from playhead_collector.forward.senders import Senders, Signal, UploadFailed
from playhead_collector.store.packing.span_pages import log_key

if TYPE_CHECKING:  # the journal of a machine is read without Postgres' driver
    from playhead_collector.store.postgres.store import PostgresStore

log = logging.getLogger(__name__)

_NS = 1_000_000_000
# An entry has at most a page of spans, so a cycle has some thousand spans (without their content).
_ENTRIES = 32
# Three times the longest timeout of a request.
_LEASE_S = 300.0
_RENEW_S = 60.0
# Programs send every second or so: items that arrive meanwhile share a request.
_LINGER_S = 0.5
_POLL_S = 2.0
_EXPIRE_EVERY_S = 60.0
_STORE_PAUSE_S, _ERROR_PAUSE_S = 5.0, 30.0
# After so many failed attempts, the entries themselves may cause the failure.
_MAYBE_AT_FAULT_ATTEMPTS = 5
# After so many, they are taken for the cause if the destination has accepted others since they arrived.
_AT_FAULT_ATTEMPTS = 10
_FIRST_LOOK_S, _LAST_LOOK_S = 2.0, 60.0


@dataclass(slots=True)
class WorkerState:
    """State of a worker for operators. Times are ns since 1970; 0 means never."""

    failures: int = 0
    """Failures in a row."""
    last_error: str | None = None
    last_error_ns: int = 0
    accepted_ns: int = 0
    paused_until_ns: int = 0


class _Stopped(Exception):
    """Nothing more is sent in this cycle, because of `answer`."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.answer = answer


class ForwardWorker:
    """Forwards to one destination, in the background."""

    def __init__(
        self,
        store: "PostgresStore",
        destination: Destination,
        loader: Loader,
        senders: Senders,
        limits: ForwardLimits,
        clock: Callable[[], int],
        pacing: Pacing,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        """`clock` gives ns since 1970."""
        self.destination = destination
        self.state = WorkerState()
        # sent_spans, sent_logs, requests, failures, dead, left_out, expired
        self.counts: Counter[str] = Counter()
        self._store = store
        self._loader = loader
        self._senders = senders
        self._limits = limits
        self._clock = clock
        self._sleep = sleep
        self.pacing = pacing
        self._woken = asyncio.Event()
        self._loop = BackgroundLoop(self._work_on, f"playhead forward {self.destination.name}")
        self._next_expiry_ns = 0

    def start(self) -> None:
        """Starts to forward in the background."""
        self._loop.start()

    def wake(self) -> None:
        """Starts the next cycle soon, because something arrived."""
        self._woken.set()

    def resume(self) -> None:
        """Ends a pause, because an operator says that the destination works again."""
        self.state.paused_until_ns = 0
        self.wake()

    async def stop(self) -> None:
        """Stops. Work in progress is abandoned, and sent again later."""
        await self._loop.stop()
        await self._senders.close()
        await self._loader.close()

    async def run_once(self) -> float:
        """Runs one cycle. Returns the seconds until the next one is due. Raises StoreUnavailable."""
        now = self._clock()
        if now >= self._next_expiry_ns:
            await self._expire(now)
        if now < self.state.paused_until_ns:
            return (self.state.paused_until_ns - now) / _NS
        # While the destination fails, one entry is enough to see whether it works again: more would cost ingest reads
        # and writes.
        limit = 1 if self.state.failures else _ENTRIES
        entries = await self._store.outbox.claim(self.destination.name, limit, now + int(_LEASE_S * _NS))
        if not entries:
            return _POLL_S
        self.pacing.begin()
        progress = CycleProgress.of(entries)
        cycle = _Cycle(self, progress, now)
        try:
            await cycle.run()
            self._succeeded(cycle)
        except _Stopped as stopped:
            self._failed(stopped.answer)
        finally:
            # Shielded: accepted items must be noted even when the collector stops now.
            await asyncio.shield(self._store.outbox.finish(progress.settlement(self.state.paused_until_ns)))
        return max(0.0, (self.state.paused_until_ns - self._clock()) / _NS)

    def _succeeded(self, cycle: "_Cycle") -> None:
        if cycle.delivery.requests:
            if self.state.failures:
                log.info("forwarding to %s goes on", self.destination.name)
            self.state.failures, self.state.paused_until_ns = 0, 0

    def _failed(self, answer: Answer) -> None:
        self.counts["failures"] += 1
        self.state.failures += 1
        pause = backoff_s(self.state.failures, answer)
        self.noted(answer.reason)
        self.state.paused_until_ns = self._clock() + int(pause * _NS)
        if self.state.failures == 1:
            log.warning("%s %s; trying again in %.0f s", self.destination.name, answer.reason, pause)

    def noted(self, reason: str) -> None:
        """Sets the last reason why something was not delivered."""
        self.state.last_error, self.state.last_error_ns = reason, self._clock()

    async def _expire(self, now: int) -> None:
        self._next_expiry_ns = now + int(_EXPIRE_EVERY_S * _NS)
        limits = self._limits
        before = now - int(limits.max_age_s * _NS)
        gone = await self._store.outbox.expire(self.destination.name, before, limits.max_items)
        if gone:
            self.counts["expired"] += gone
            text = "%d spans and log events for %s were too old or too many, and are not forwarded any more"
            log.warning(text, gone, self.destination.name)

    async def _work_on(self) -> None:
        while True:
            self._woken.clear()
            try:
                wait_s = await self.run_once()
            except StoreUnavailable:
                wait_s = _STORE_PAUSE_S
            except Exception:  # an error must not end the forwarding of all later spans
                log.exception("forwarding to %s failed; going on in %.0f s", self.destination.name, _ERROR_PAUSE_S)
                wait_s = _ERROR_PAUSE_S
            if wait_s:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._woken.wait(), wait_s)
                await self._sleep(_LINGER_S)

    # --- for a cycle -------------------------------------------------------------------------------------------------

    @property
    def parts(self) -> "tuple[PostgresStore, Loader, Senders, ForwardLimits, Callable[[], int]]":
        """The parts of the worker that a cycle uses."""
        return self._store, self._loader, self._senders, self._limits, self._clock


@dataclass(frozen=True, slots=True)
class _LoadedEntry:
    """Content of an entry: spans, log events that are sent as they are, and log events that are sent as scores."""

    run: OutboundRun
    items: Iterable[OutgoingSpans]
    logs: Sequence[LogEvent] = ()
    scores: Sequence[LogEvent] = ()


class _Cycle:
    """One cycle: a portion of entries."""

    def __init__(self, worker: ForwardWorker, progress: CycleProgress, began_ns: int) -> None:
        self._worker = worker
        self._store, self._loader, self._senders, self._limits, self._clock = worker.parts
        self._settings = worker.destination.settings
        self._progress = progress
        self._counters: dict[tuple[int, str], RunCounter] = {}
        self._renewed_ns = began_ns
        self._now_ns = began_ns
        self._batch: list[OutgoingItem] = []
        self._size = 0
        self.delivery = BatchDelivery(self._senders.requests, self._keep)

    async def run(self) -> None:
        """Sends all entries. Raises _Stopped, StoreUnavailable."""
        logs: list[tuple[EntryProgress, LogEvent]] = []
        scores: list[tuple[EntryProgress, LogEvent]] = []
        spans: list[tuple[EntryProgress, OutgoingSpans, OutboundRun]] = []
        for progress in self._progress.entries.values():
            await self._worker.pacing.pause_for_ingest()
            loaded = await self._load(progress)
            if loaded is not None:
                spans += [(progress, item, loaded.run) for item in self._due(progress, loaded.items)]
                logs += [(progress, log) for log in loaded.logs]
                scores += [(progress, log) for log in loaded.scores]
        for (progress, run), items in order_for_sending(spans):
            await self._add_spans(progress, run, items)
        await self._ship("traces")
        for progress, event in logs:
            await self._add_log(progress, event)
        await self._ship("logs")
        for progress, event in scores:
            await self._send_score(progress, event)

    async def _load(self, progress: EntryProgress) -> "_LoadedEntry | None":
        """Reads the items of an entry; None if nothing is to be sent now."""
        entry = progress.entry
        row = await self._store.runs.get(entry.project_id, entry.run)
        decision = decide(self._settings, row) if has_filters(self._settings) else ForwardDecision.SEND
        if decision is ForwardDecision.WAIT:
            progress.wait_until(self._look_again_ns(progress))
            return None
        if decision is ForwardDecision.LEAVE_OUT:
            progress.left_out = True
            self._worker.counts["left_out"] += 1
            return None
        spans, logs = await self._store.outbox.items(entry)
        logs = logs if self._worker.destination.counts_calls else [log for log in logs if not is_on_span(log)]
        progress.loaded(spans, logs)
        if not spans and not logs:
            return None
        run = await self._loader.run(entry, row)
        if not self._worker.destination.counts_calls:
            return _LoadedEntry(run, counted_singly(spans, ()), logs)
        scores = [log for log in logs if self._senders.scores is not None and is_score(log)]
        logs = [log for log in logs if log not in scores]
        if not needs_run(spans, logs):
            return _LoadedEntry(run, counted_singly(spans, logs), scores=scores)
        counter = self._counters.get((entry.project_id, entry.run))
        if counter is None:
            counter = self._counters[entry.project_id, entry.run] = await self._loader.counter(entry)
        return _LoadedEntry(counter.completed(run), counter.outgoing(spans, logs), scores=scores)

    def _due(self, progress: EntryProgress, items: Iterable[OutgoingSpans]) -> Iterator[OutgoingSpans]:
        """Yields the items to send now. Items without spans to send are marked as done; the others wait."""
        settled_ns = progress.entry.created_ns + int(self._limits.settle_s * _NS)
        for item in items:
            if item.waits and self._now_ns < settled_ns:
                progress.wait_until(settled_ns)
            elif item.spans:
                yield item
            else:
                progress.sent(item.signal, item.key)

    def _look_again_ns(self, progress: EntryProgress) -> int:
        """Returns the time of the next look at a waiting entry: later for older entries, since they usually wait on."""
        age_s = (self._now_ns - progress.entry.created_ns) / _NS
        return self._now_ns + int(min(max(_FIRST_LOOK_S, age_s / 4), _LAST_LOOK_S) * _NS)

    def _waits(self, progress: EntryProgress) -> bool:
        return self._now_ns - progress.entry.created_ns < self._limits.content_wait_s * _NS

    async def _add_spans(self, progress: EntryProgress, run: OutboundRun, items: Sequence[OutgoingSpans]) -> None:
        spans = [item.spans for item in items]
        requests = self._loader.spans_requests(progress.entry, spans, run, wait=self._waits(progress))
        remaining = iter(items)
        async with aclosing(requests):
            async for request in requests:
                await self._keep()
                item = next(remaining)
                await self._add("traces", progress, (item.signal, item.key), request)

    async def _add_log(self, progress: EntryProgress, event: LogEvent) -> None:
        try:
            request = await self._loader.log_request(progress.entry, event, wait=self._waits(progress))
        except StoreUnavailable:
            raise
        except Exception as error:  # noqa: BLE001 - one odd log event must not stop the others
            await self._add("logs", progress, ("logs", log_key(event)), error)
        else:
            await self._add("logs", progress, ("logs", log_key(event)), request)

    async def _add(
        self, signal: Signal, progress: EntryProgress, key: tuple[Signal, bytes], request: bytes | Exception
    ) -> None:
        match request:
            case NotAllHere():
                progress.wait_until(self._look_again_ns(progress))
                return
            case UploadFailed():
                raise _Stopped(request.answer)
            case Exception():
                reason = f"cannot be written for this destination ({type(request).__name__}: {request})"
                self._give_up(progress, key, reason)
                return
            case bytes():
                pass
        if self._batch and self._size + len(request) > self._settings.max_request_bytes:
            await self._ship(signal)
        self._batch.append(OutgoingItem(progress.entry, *key, request))
        self._size += len(request)

    async def _send_score(self, progress: EntryProgress, log: LogEvent) -> None:
        """Sends a score. While the scored span may still be on its way to the destination, a refused score is sent
        again later."""
        key = log_key(log)
        try:
            answer = await self._loader.send_score(
                progress.entry, log, self._senders.scores, wait=self._waits(progress)
            )
        except NotAllHere:
            answer = Answer(Verdict.REFUSED, "the run, or the call, that was scored is not stored")
        self.delivery.requests += 1
        blamed = (
            progress.entry.attempts >= _AT_FAULT_ATTEMPTS and progress.entry.created_ns < self._worker.state.accepted_ns
        )
        if answer.verdict is Verdict.ACCEPTED:
            progress.sent("logs", key)
            self._worker.counts["sent_scores"] += 1
            self._worker.state.accepted_ns = self._clock()
        elif answer.verdict is Verdict.REFUSED and self._waits(progress):
            progress.wait_until(self._look_again_ns(progress))
        elif answer.verdict is Verdict.REFUSED or (answer.verdict is Verdict.BROKEN and blamed):
            self._give_up(progress, ("logs", key), answer.reason)
        else:
            progress.was_attempted = answer.verdict is Verdict.BROKEN
            raise _Stopped(answer)

    async def _ship(self, signal: Signal) -> None:
        parcel, self._batch, self._size = self._batch, [], 0
        if not parcel:
            return
        requests = self.delivery.requests
        attempts = max(item.entry.attempts for item in parcel)
        blamed = attempts >= _AT_FAULT_ATTEMPTS and all(
            item.entry.created_ns < self._worker.state.accepted_ns for item in parcel
        )
        suspicious = attempts >= _MAYBE_AT_FAULT_ATTEMPTS
        done = await self.delivery.deliver(signal, parcel, may_be_at_fault=suspicious, is_at_fault=blamed)
        self._worker.counts["requests"] += self.delivery.requests - requests
        self._worker.pacing.begin()
        self._note(signal, parcel, done)

    def _note(self, signal: Signal, batch: list[OutgoingItem], done: Delivered) -> None:
        worker = self._worker
        self._progress.sent(done.accepted)
        worker.counts["sent_spans" if signal == "traces" else "sent_logs"] += len(done.accepted)
        if done.accepted:
            worker.state.accepted_ns = self._clock()
        for item, reason in done.dead:
            self._give_up(self._progress.entries[item.entry.number], (item.signal, item.key), reason)
        if done.stopped is not None:
            if done.stopped.verdict is Verdict.BROKEN:
                self._progress.mark_attempted(batch)
            raise _Stopped(done.stopped)

    def _give_up(self, progress: EntryProgress, key: tuple[Signal, bytes], reason: str) -> None:
        short_reason = shortened(reason)
        progress.give_up(*key, short_reason)
        if not self._worker.counts["dead"]:
            log.warning("%s: %s; `playhead forward status` shows more", self._worker.destination.name, short_reason)
        self._worker.counts["dead"] += 1
        self._worker.noted(short_reason)

    async def _keep(self) -> None:
        """Renews the lease of the entries."""
        now = self._clock()
        if now - self._renewed_ns >= _RENEW_S * _NS:
            entries = [progress.entry for progress in self._progress.entries.values()]
            await self._store.outbox.renew(entries, now + int(_LEASE_S * _NS))
            self._renewed_ns = now

"""shipment → [delivery] → requests.  Sends spans of the journal with their content, in a destination's vocabulary.

A lane has all content that its spans refer to, but often long before them. Recent content is kept in memory; other
content is read from the lane again, which is rare (`LaneContents`).

For destinations that add up tokens and costs, each call has to count once. Recent calls are kept, so that a span is
recognised as the duplicate of one that was sent already (`SpanCounter`).

Imports HTTP: only the shipping thread imports this module.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeVar

from playhead.export.counters import ShipCounters
from playhead.export.dead_letters import DeadLetters
from playhead.export.delivery import BatchSender
from playhead.export.destinations.requests import DestinationEndpoint
from playhead.export.destinations.target import ExportTarget
from playhead.export.http import RequestRejected
from playhead.export.left_runs import LeftRun
from playhead.export.shipment import Shipment
from playhead.journal.frame import CONTENT, THREAD, frames_in
from playhead.journal.lane import LaneReader
from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.span import Attributes, LogEvent, Span
from playhead.model.thread import extend
from playhead.outbound.contents import OutboundContents, WantedRefs
from playhead.outbound.counting import OFTEN_TWICE, CountedSpan, counted_span, counts_calls, needs_run
from playhead.outbound.encoding import encode, encode_log, media_of, wanted, wanted_of_log
from playhead.outbound.otlp import logs_request, traces_request
from playhead.outbound.phoenix_projects import why_absent
from playhead.outbound.span import OutboundRun, OutboundSpan, outbound_span, run_of
from playhead.projection.attributes import kind_of
from playhead.projection.counted_run import run_calls
from playhead.settings.sdk import Settings
from playhead.wire.pack import ThreadExtension
from playhead.wire.retries import ProblemReporter

# --- content of spans -------------------------------------------------------------------------------------------------


# 32 MiB: the conversations of some dozens of agents at work. And at most so many nodes of threads (200 bytes each).
_MOST_CONTENT_BYTES = 32 * 2**20
_MOST_NODES = 100_000
# Rounds of look-ups: threads and values, messages, large parts; and one more to see that nothing is missing.
_LOOKUP_ROUNDS = 4


class LaneContents:
    """Contents and threads of lanes in one journal.  Used by one thread."""

    def __init__(self, most_bytes: int = _MOST_CONTENT_BYTES, most_nodes: int = _MOST_NODES) -> None:
        self._contents: OrderedDict[ContentRef, Content] = OrderedDict()
        self._nodes: OrderedDict[ContentRef, tuple[ContentRef | None, ContentRef]] = OrderedDict()
        """Thread → the thread before its last message, and that message."""
        self._bytes = 0
        self._most_bytes, self._most_nodes = most_bytes, most_nodes

    def add(self, contents: Iterable[Content], threads: Iterable[ThreadExtension]) -> None:
        """Keeps the contents and threads of a shipment, and drops the oldest beyond the limits."""
        for content in contents:
            if content.ref.plain not in self._contents:
                self._bytes += len(content.data)
            self._contents[content.ref.plain] = content
            self._contents.move_to_end(content.ref.plain)
        for thread in threads:
            for node in extend(thread.messages, thread.parent):
                self._nodes[node.ref] = node.parent, node.message
        while self._bytes > self._most_bytes and len(self._contents) > 1:
            self._bytes -= len(self._contents.popitem(last=False)[1].data)
        while len(self._nodes) > self._most_nodes:
            self._nodes.popitem(last=False)

    def find(self, wanted: WantedRefs, lane: Path | None) -> OutboundContents:
        """Returns the wanted contents and threads that are kept or in the lane. Raises OSError."""
        outbound = OutboundContents()
        self.fill(outbound, wanted)
        if lane is not None and outbound.missing(wanted):
            everything = LaneContents(2**62, 2**62)
            for shipment in _contents_by_segment(lane):
                everything.add(shipment.contents.values(), shipment.threads)
            everything.fill(outbound, wanted)
        return outbound

    def fill(self, outbound: OutboundContents, wanted: WantedRefs) -> None:
        """Adds to `outbound` every content and thread of `wanted` that is kept, and what these refer to."""
        for _ in range(_LOOKUP_ROUNDS):
            missing = outbound.missing(wanted)
            contents = {ref: self._contents.get(ref) for ref in missing.contents}
            threads = {ref: self._thread(ref) for ref in missing.threads}
            for ref, content in contents.items():
                if content is not None:
                    outbound.add(ref, content)
            for ref, messages in threads.items():
                if messages is not None:
                    outbound.add_thread(ref, messages)
            if not any(contents.values()) and not any(threads.values()):
                return

    def _thread(self, ref: ContentRef) -> list[ContentRef] | None:
        """The messages of a thread, first to last; None if a node is missing."""
        messages: list[ContentRef] = []
        thread: ContentRef | None = ref
        while thread is not None:
            node = self._nodes.get(thread)
            if node is None:
                return None
            thread, message = node
            messages.append(message)
        return messages[::-1]


def _contents_by_segment(lane: Path) -> Iterable[Shipment]:
    """Yields the contents and threads of a lane, one shipment per segment."""
    reader = LaneReader(lane)
    for number in reader.segments():
        shipment = Shipment()
        try:
            data = reader.segment_path(number).read_bytes()
        except OSError:
            continue
        for kind, payload, _ in frames_in(data):
            if kind in (CONTENT, THREAD):
                shipment.add(kind, payload)
        yield shipment


# --- how spans are counted --------------------------------------------------------------------------------------------


T = TypeVar("T", Span, LogEvent)

# 2 MB of payload-free spans: the spans of one call end within moments, with few other calls between them.
_MOST_CALLS: Final = 1_000


class SpanCounter:
    """Counts the spans of a process, shipment by shipment.  Used by one thread."""

    def __init__(self) -> None:
        self._calls: OrderedDict[str, Span] = OrderedDict()

    def count(self, spans: Sequence[Span], logs: Iterable[LogEvent]) -> Mapping[str, CountedSpan]:
        """Returns the spans by span id, as they count in their runs."""
        self._keep(spans)
        earlier, logs_of = _by_run(self._calls.values()), _by_run(logs)
        counted_spans: dict[str, CountedSpan] = {}
        for run, new in _by_run(spans).items():
            together = [*earlier.get(run, ()), *new]  # some of them twice, which counts once
            if needs_run(together, logs_of.get(run, ())):
                counted = run_calls(run, together, logs_of.get(run, ()))
                counted_spans |= {span.span_id: counted_span(counted, span) for span in new}
            else:
                counted_spans |= {span.span_id: CountedSpan(span) for span in new}
        return counted_spans

    def _keep(self, spans: Iterable[Span]) -> None:
        self._calls.update((span.span_id, span) for span in spans if kind_of(span) in OFTEN_TWICE)
        while len(self._calls) > _MOST_CALLS:
            self._calls.popitem(last=False)


def run_key(item: Span | LogEvent) -> str:
    """Id of the run that the record belongs to: its run id, else its trace id."""
    return str(item.attributes.get(names.RUN_ID) or item.trace_id or "")


def _by_run(items: Iterable[T]) -> dict[str, list[T]]:
    groups: dict[str, list[T]] = {}
    for item in items:
        groups.setdefault(run_key(item), []).append(item)
    return groups


# --- delivery ---------------------------------------------------------------------------------------------------------


# 2 MiB of attributes, or 100 spans: with their content, spans are large, and some servers take 4 MiB at most.
_ENOUGH_BYTES: Final = 2 * 2**20
_ENOUGH_SPANS: Final = 100
# Most runs and uploaded media that are remembered.
_MOST_RUNS: Final = 1_000
_MOST_MEDIA: Final = 10_000


class DestinationDelivery:
    """Delivers shipments to one destination.  Belongs to one thread of one process."""

    def __init__(self, target: ExportTarget, counters: ShipCounters, problems: ProblemReporter) -> None:
        self._target = target
        self._counters = counters
        self._problems = problems
        self._endpoint = DestinationEndpoint(target, counters)
        self._sending = BatchSender(self._endpoint.shown)
        self._contents = LaneContents()
        self._counts = counts_calls(target.options.vocabulary)
        self._counted = SpanCounter()
        self._runs: OrderedDict[str, OutboundRun] = OrderedDict()
        self._uploaded: OrderedDict[str, None] = OrderedDict()

    @classmethod
    def maker(cls, target: ExportTarget) -> Callable[..., "DestinationDelivery"]:
        """Returns the function for `ShipTarget.delivery`."""

        def make(
            settings: Settings, counters: ShipCounters, problems: ProblemReporter, letters: DeadLetters, *_: object
        ) -> DestinationDelivery:
            return cls(target, counters, problems)

        return make

    def close(self) -> None:
        """Closes the connection."""
        self._endpoint.close()

    def tell_left(self, run: LeftRun, journal: str) -> None:
        """Does nothing: no other machine resumes a run from a destination."""

    def forget(self) -> None:
        """Forgets which media were uploaded: they are uploaded again when a span has them."""
        self._uploaded.clear()

    def deliver(self, shipment: Shipment) -> None:
        """Returns when the destination has every span, and every log event if it takes them, or has refused it for
        good. Raises Unavailable.

        Delivered spans are removed from the shipment, so a second call continues where the first one failed.
        """
        self._contents.add(shipment.contents.values(), shipment.threads)
        logs = [record for record in shipment.spans_and_announcements if isinstance(record, LogEvent)]
        for record in (*shipment.spans_and_announcements, *shipment.spans):
            if isinstance(record, Span):
                self._note_run(record)
        counted: Mapping[str, CountedSpan] = {}
        if self._counts:
            counted = self._counted.count(shipment.spans, logs)
        while shipment.spans:
            count = self._deliver_some(shipment, counted)
            del shipment.spans[:count]
        self._deliver_logs(logs, shipment.lane)
        if shipment:
            self._counters.batches += 1
        for part in (shipment.contents, shipment.threads, shipment.spans_and_announcements):
            part.clear()

    def _deliver_some(self, shipment: Shipment, counted: Mapping[str, CountedSpan]) -> int:
        """Delivers as many of the first spans as fit into one request, and returns their number."""
        batch = shipment.spans[:_ENOUGH_SPANS]
        spans = [self._outbound(counted.get(span.span_id, CountedSpan(span))) for span in batch]
        options = self._target.options
        contents = self._contents.find(WantedRefs.of_all(wanted(span, options) for span in spans), shipment.lane)
        encoded: list[Span] = []
        size = count = 0
        for span in spans:
            count += 1
            try:
                encoded.append(encode(span, contents, options))
            except ValueError as error:
                self._give_up(1, str(error))
                continue
            for medium in media_of(span, contents, options):
                if medium.id not in self._uploaded:
                    self._upload(medium)
            size += _attributes_size(encoded[-1].attributes)
            if size >= _ENOUGH_BYTES:
                break
        elsewhere = self._endpoint.elsewhere(encoded)
        if elsewhere:
            self._give_up(len(elsewhere), why_absent(next(iter(elsewhere.values()))))
        here = [span for span in encoded if span.span_id not in elsewhere]
        accepted, refused = self._sending.send(here, self._send)
        self._counters.spans += accepted
        if refused:
            self._give_up(len(refused), refused[0].why)
        return count

    def _deliver_logs(self, logs: Sequence[LogEvent], lane: Path | None) -> None:
        """Delivers log events to a destination that takes them."""
        options = self._target.options
        for first in range(0, len(logs) if self._endpoint.takes_logs else 0, _ENOUGH_SPANS):
            batch = logs[first : first + _ENOUGH_SPANS]
            contents = self._contents.find(WantedRefs.of_all(wanted_of_log(log, options) for log in batch), lane)
            encoded = [encode_log(log, contents, options) for log in batch]
            accepted, refused = self._sending.send(encoded, self._send_logs)
            self._counters.logs += accepted
            if refused:
                self._give_up(len(refused), refused[0].why)

    def _send_logs(self, logs: Sequence[LogEvent]) -> tuple[int, str]:
        self._endpoint.send_logs(logs_request(logs))
        return 0, ""

    def _send(self, spans: Sequence[Span]) -> tuple[int, str]:
        self._endpoint.send_spans(traces_request(spans))
        return 0, ""

    def _upload(self, medium: Any) -> None:
        try:
            self._endpoint.upload(medium)
        except RequestRejected as refused:  # the span is sent with a token that refers to nothing
            self._problems.warn_once_per_cause(
                "media", f"{self._endpoint.shown} refuses an image or file ({refused}): it is left out"
            )
        self._uploaded[medium.id] = None
        if len(self._uploaded) > _MOST_MEDIA:
            self._uploaded.popitem(last=False)

    def _outbound(self, counted: CountedSpan) -> OutboundSpan:
        span = counted.span
        run = self._runs.get(run_key(span), OutboundRun())
        public = self._target.public_url
        run_id = span.attributes.get(names.RUN_ID) or span.trace_id
        url = f"{public}/runs/{run_id}?at={span.span_id}" if public else None
        return outbound_span(span, run, kind=counted.kind, url=url)

    def _note_run(self, span: Span) -> None:
        """Remembers name, session, user and tags from a root span, for the other spans of the run. The announcement of
        the root comes before them."""
        key = run_key(span)
        if span.attributes.get(names.RUN_ROOT) is True or span.parent_id is None:
            run = self._runs.pop(key, OutboundRun())
            self._runs[key] = run_of(span.attributes) if run == OutboundRun() else run.with_span(span.attributes)
            if len(self._runs) > _MOST_RUNS:
                self._runs.popitem(last=False)

    def _give_up(self, count: int, why: str) -> None:
        self._counters.rejected += count
        self._problems.warn_once_per_cause(
            f"refused {why}"[:40],
            f"{self._endpoint.shown} refuses a span ({why}): it is not sent again; more of this kind are counted only",
        )


def _attributes_size(attributes: Attributes) -> int:
    return sum(len(key) + (len(value) if isinstance(value, str) else 16) for key, value in attributes.items())

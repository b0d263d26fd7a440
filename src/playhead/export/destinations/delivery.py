"""shipment → [delivery] → requests. Sends spans of the journal with their content, in the destination's vocabulary.

Imports HTTP: only the shipping thread imports this module.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from playhead.export.counters import ShipCounters
from playhead.export.dead_letters import DeadLetters
from playhead.export.destinations.contents import LaneContents
from playhead.export.destinations.counted import LatelyCounted, run_key
from playhead.export.destinations.requests import DestinationEndpoint
from playhead.export.destinations.target import ExportTarget
from playhead.export.http import RequestRejected
from playhead.export.left_runs import LeftRun
from playhead.export.sending import Sending
from playhead.export.shipment import Shipment
from playhead.model import names
from playhead.model.span import Attributes, LogEvent, Span
from playhead.outbound.contents import WantedRefs
from playhead.outbound.counting import CountedSpan, counts_calls
from playhead.outbound.encoding import encode, encode_log, media_of, wanted, wanted_of_log
from playhead.outbound.otlp import logs_request, traces_request
from playhead.outbound.span import OutboundRun, OutboundSpan, outbound_span, run_of
from playhead.settings.sdk import Settings
from playhead.wire.retries import ProblemReporter

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
        self._sending = Sending(self._endpoint.shown)
        self._contents = LaneContents()
        self._counts = counts_calls(target.options.vocabulary)
        self._counted = LatelyCounted()
        self._runs: OrderedDict[str, OutboundRun] = OrderedDict()
        self._uploaded: OrderedDict[str, None] = OrderedDict()

    @classmethod
    def maker(cls, target: ExportTarget) -> Callable[..., "DestinationDelivery"]:
        """Returns the function for `ShipTarget.delivery`."""

        def make(
            settings: Settings, counters: ShipCounters, problems: ProblemReporter, letters: DeadLetters, *_: Any
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
        self._contents.take(shipment.contents.values(), shipment.threads)
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
            size += _size(encoded[-1].attributes)
            if size >= _ENOUGH_BYTES:
                break
        accepted, refused = self._sending.send(encoded, self._send)
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
            self._problems.report(
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
        self._problems.report(
            f"refused {why}"[:40],
            f"{self._endpoint.shown} refuses a span ({why}): it is not sent again; more of this kind are counted only",
        )


def _size(attributes: Attributes) -> int:
    return sum(len(key) + (len(value) if isinstance(value, str) else 16) for key, value in attributes.items())

"""shipment → [delivery] → requests.  Spans of the journal with their content, in the destination's words.

Imports HTTP and protobuf: only the shipping thread imports this module.
"""

from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final

from playhead.export.backoff import ProblemReporter
from playhead.export.counters import ShipCounters
from playhead.export.dead_letters import DeadLetters
from playhead.export.destinations.contents import LaneContents
from playhead.export.destinations.requests import DestinationEndpoint
from playhead.export.destinations.target import ExportTarget
from playhead.export.http import RequestRejected
from playhead.export.sending import Sending
from playhead.export.shipment import Shipment
from playhead.model import names
from playhead.model.span import Attributes, LogEvent, Span
from playhead.outbound import OutboundRun, OutboundSpan, WantedRefs, encode, media_of, outbound_span, run_of, wanted
from playhead.outbound.otlp import traces_request
from playhead.settings.sdk import Settings

# 2 MiB of attributes, or 100 spans: with their content, spans are large, and some servers take 4 MiB at most.
_ENOUGH_BYTES: Final = 2 * 2**20
_ENOUGH_SPANS: Final = 100
# What runs say that were active lately, and media that were uploaded.
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
        self._runs: OrderedDict[str, OutboundRun] = OrderedDict()
        self._uploaded: OrderedDict[str, None] = OrderedDict()

    @classmethod
    def maker(cls, target: ExportTarget) -> Callable[..., "DestinationDelivery"]:
        """What a `ShipTarget` calls."""

        def make(
            settings: Settings, counters: ShipCounters, problems: ProblemReporter, letters: DeadLetters, *_: Any
        ) -> DestinationDelivery:
            return cls(target, counters, problems)

        return make

    def close(self) -> None:
        """Closes the connection."""
        self._endpoint.close()

    def forget(self) -> None:
        """Uploads media again when they are next seen."""
        self._uploaded.clear()

    def deliver(self, shipment: Shipment) -> None:
        """Returns when the destination has every span, or has refused it for good.  Raises Unavailable.

        Delivered spans are removed from the shipment, so a second call continues where the first one failed."""
        self._contents.take(shipment.contents.values(), shipment.threads)
        logs: dict[str, list[LogEvent]] = {}
        for record in shipment.spans_and_announcements:
            if isinstance(record, Span):
                self._note_run(record)
            elif record.span_id is not None:
                logs.setdefault(record.span_id, []).append(record)
        for span in shipment.spans:
            self._note_run(span)
        while shipment.spans:
            count = self._deliver_some(shipment, logs)
            del shipment.spans[:count]
        if shipment:
            self._counters.batches += 1
        for part in (shipment.contents, shipment.threads, shipment.spans_and_announcements):
            part.clear()

    def _deliver_some(self, shipment: Shipment, logs: dict[str, list[LogEvent]]) -> int:
        """Delivers the first of the spans, and returns how many."""
        spans = [self._outbound(span, logs.get(span.span_id, ())) for span in shipment.spans[:_ENOUGH_SPANS]]
        options = self._target.options
        wants = [wanted(span, options) for span in spans]
        refs = WantedRefs(
            tuple(dict.fromkeys(ref for want in wants for ref in want.contents)),
            tuple(dict.fromkeys(ref for want in wants for ref in want.threads)),
        )
        contents = self._contents.find(refs, shipment.lane)
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
        taken, refused = self._sending.send(encoded, self._send)
        self._counters.spans += taken
        if refused:
            self._give_up(len(refused), refused[0].why)
        return count

    def _send(self, spans: Sequence[Span]) -> tuple[int, str]:
        self._endpoint.send_spans(traces_request(spans))
        return 0, ""

    def _upload(self, medium: Any) -> None:
        try:
            self._endpoint.upload(medium)
        except RequestRejected as refused:  # the span goes out with a token of what is not there
            self._problems.report(
                "media", f"{self._endpoint.shown} refuses an image or file ({refused}): it is left out"
            )
        self._uploaded[medium.id] = None
        if len(self._uploaded) > _MOST_MEDIA:
            self._uploaded.popitem(last=False)

    def _outbound(self, span: Span, logs: Sequence[LogEvent]) -> OutboundSpan:
        run = self._runs.get(_run_key(span), OutboundRun())
        public = self._target.public_url
        run_id = span.attributes.get(names.RUN_ID) or span.trace_id
        url = f"{public}/runs/{run_id}?at={span.span_id}" if public else None
        return outbound_span(span, run, url=url, logs=logs)

    def _note_run(self, span: Span) -> None:
        """What a run says of itself stands on its first span, whose announcement comes first."""
        key = _run_key(span)
        if span.attributes.get(names.RUN_ROOT) is True or span.parent_id is None:
            known = self._runs.pop(key, OutboundRun())
            self._runs[key] = run_of(span.attributes) if known == OutboundRun() else known.with_span(span.attributes)
            if len(self._runs) > _MOST_RUNS:
                self._runs.popitem(last=False)

    def _give_up(self, count: int, why: str) -> None:
        self._counters.rejected += count
        self._problems.report(
            f"refused {why}"[:40],
            f"{self._endpoint.shown} refuses a span ({why}): it is not sent again; more of this kind are counted only",
        )


def _run_key(span: Span) -> str:
    return str(span.attributes.get(names.RUN_ID) or span.trace_id)


def _size(attributes: Attributes) -> int:
    return sum(len(key) + (len(value) if isinstance(value, str) else 16) for key, value in attributes.items())

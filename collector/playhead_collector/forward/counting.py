"""loading → [counting] → worker.  Which spans are sent for an entry of the outbox, and in which order.  Pure.

Langfuse and Phoenix add up the tokens and costs of all spans of model calls, and read no log records. So each call has
to be exactly one such span there, as in our projection, however often it was recorded:

| stored | sent as |
|---|---|
| a span | the span, completed from log records; a duplicate of another call as a step, without messages and tokens |
| a log record with content of a span | nothing: the span has the content |
| log records of a call without a span (coding agents) | the span made of them, with the last record of the call |
| the last record or span of a coding agent's session | additionally, the current version of the session's span |

Sent spans cannot be corrected, so records of other instrumentations wait for a time: see `ForwardLimits.settle_s`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby

from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.outbound.counting import OFTEN_TWICE, CountedSpan, counted_span
from playhead.outbound.span import OutboundRun
from playhead.projection.attributes import kind_of
from playhead.projection.counted_run import RunCalls
from playhead_collector.forward.progress import EntryProgress
from playhead_collector.forward.senders import Signal
from playhead_collector.store.packing.span_pages import log_key, span_key


@dataclass(frozen=True, slots=True)
class OutgoingSpans:
    """The spans to send for one item of an entry: the span or log event with this key. Empty `spans`: nothing is sent.
    `waits`: the spans may still change within the settle time."""

    signal: Signal
    key: bytes
    spans: Sequence[CountedSpan]
    waits: bool = False


@dataclass(slots=True)
class RunCounter:
    """The current state of a run, from all its spans and log records."""

    run: RunCalls
    _made: dict[tuple[Signal, bytes], list[Span]] = field(default_factory=dict[tuple[Signal, bytes], list[Span]])

    def __post_init__(self) -> None:
        for span_id, last in self.run.last_records.items():
            made = self.run.tree.get(span_id)
            if made is not None:
                self._made.setdefault(_key(last), []).append(made.span)

    def completed(self, run: OutboundRun) -> OutboundRun:
        """Returns `run`, completed from the attributes of the run's first span, which may be made of log records."""
        return run.with_span(self.run.tree.roots[0].span.attributes) if self.run.tree.roots else run

    def outgoing(self, spans: Sequence[Span], logs: Sequence[LogEvent]) -> Iterator[OutgoingSpans]:
        """Yields the spans to send for these items of the run."""
        for span in spans:
            key = ("traces", span_key(span))
            sessions = self._made.get(key, [])
            counted = self._counted(span)
            waits = bool(sessions) or self._waits(counted)
            yield OutgoingSpans(*key, [*map(self._counted, sessions), counted], waits)
        for log in logs:
            key = ("logs", log_key(log))
            yield OutgoingSpans(*key, list(map(self._counted, self._made.get(key, ()))), waits=True)

    def _counted(self, span: Span) -> CountedSpan:
        return counted_span(self.run, span)

    def _waits(self, counted: CountedSpan) -> bool:
        """Whether other spans and records of this call may still arrive. Spans of the run are exported in their order,
        so none arrives after the end of the run; but log records take another way, so calls without messages wait."""
        span = counted.span
        if span.scope == names.SCOPE or kind_of(span) not in OFTEN_TWICE:
            return False
        lacks_messages = kind_of(span) == "llm" and names.INPUT_MESSAGES_REF not in span.attributes
        return lacks_messages or not self.run.has_ended


def counted_singly(spans: Sequence[Span], logs: Sequence[LogEvent]) -> Iterator[OutgoingSpans]:
    """Yields each span as it is, and no spans for log events: for items that do not depend on the rest of their run."""
    for span in spans:
        yield OutgoingSpans("traces", span_key(span), [CountedSpan(span)])
    for log in logs:
        yield OutgoingSpans("logs", log_key(log), [])


def _key(item: LogEvent | Span) -> tuple[Signal, bytes]:
    return ("traces", span_key(item)) if isinstance(item, Span) else ("logs", log_key(item))


def order_for_sending(
    spans: Iterable[tuple[EntryProgress, OutgoingSpans, OutboundRun]],
) -> Iterator[tuple[tuple[EntryProgress, OutboundRun], list[OutgoingSpans]]]:
    """Yields the spans run by run (spans of a run share most of their content), in each run by start time, so that
    parents come first. Consecutive spans of one entry are grouped."""
    runs: dict[tuple[int, str], list[tuple[EntryProgress, OutgoingSpans, OutboundRun]]] = {}
    for outgoing in spans:
        runs.setdefault((outgoing[0].entry.project_id, outgoing[0].entry.run), []).append(outgoing)
    for of_run in runs.values():
        in_order = sorted(of_run, key=lambda outgoing: outgoing[1].spans[0].span.start_ns)
        for _, together in groupby(in_order, key=lambda outgoing: outgoing[0].entry.number):
            listed = list(together)
            yield (listed[0][0], listed[0][2]), [item for _, item, _ in listed]

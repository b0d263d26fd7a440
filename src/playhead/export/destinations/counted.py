"""shipment → [counted] → delivery. Determines how the spans of this process are counted, for destinations that add them
up.

Recent calls are kept, so that a span is recognised as the duplicate of one that was sent already.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeVar

from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.outbound.counting import OFTEN_TWICE, CountedSpan, counted_span, needs_run
from playhead.projection.attributes import kind_of
from playhead.projection.counted_run import counted_run

T = TypeVar("T", Span, LogEvent)

# 2 MB of payload-free spans: the spans of one call end within moments, with few other calls between them.
_MOST_CALLS: Final = 1_000


class LatelyCounted:
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
                counted = counted_run(run, together, logs_of.get(run, ()))
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

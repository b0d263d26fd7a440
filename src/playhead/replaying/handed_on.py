"""Calls of other processes: by which call of the run's own process their work was handed on, and when. Pure."""

from collections.abc import Iterable, Mapping

from playhead.model import names
from playhead.model.span import Span


def latest_by_id(spans: Iterable[Span]) -> dict[str, Span]:
    """Each span once: its end, or its announcement if it has not ended."""
    latest: dict[str, Span] = {}
    for span in spans:
        previous = latest.get(span.span_id)
        if previous is None or previous.end_ns is None:
            latest[span.span_id] = span
    return latest


def outermost(span: Span, elsewhere: Mapping[str, Span]) -> Span:
    """The outermost call of another process around the span: the one that was handed on. The span itself if there is
    none."""
    seen: set[str] = set()
    while span.parent_id is not None and span.parent_id in elsewhere and span.span_id not in seen:
        seen.add(span.span_id)
        span = elsewhere[span.parent_id]
    return span


def handed_on_before(elsewhere: Iterable[Span], own_spans: Iterable[Span], number: int) -> list[Span]:
    """Calls of other processes whose work was handed on before this order number of the run's own process, or at an
    unknown time."""
    by_id = latest_by_id(elsewhere)
    orders = {span.span_id: int(span.attributes.get(names.CALL_ORDER, 0)) for span in own_spans}
    return [span for span in by_id.values() if _handed_on_at(outermost(span, by_id), orders) < number]


def _handed_on_at(entry: Span, orders: Mapping[str, int]) -> int:
    process, _, number = str(entry.attributes.get(names.PROCESS_AFTER, "")).partition("#")
    return int(number) if number.isdecimal() and not process else orders.get(entry.parent_id or "", 0)

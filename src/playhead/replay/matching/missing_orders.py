"""Finds the order numbers of calls that a crash left no record of.

A call that is not announced (a step) is written down when it ends: one that was open when the process died has left
its number, a hole in the count, and no more.  The attempt that goes on does it again under a number of its own, and
says which numbers nobody need wait for (`playhead.resumed.without`).
"""

from collections.abc import Iterable

from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.replay.record import Record


def missing_orders(record: Record, first: int) -> list[int]:
    """Numbers from `first` on of which nothing is left, as first, last, first, last, ...

    A journal has all that was ever written.  Of a record that the collector has, more may be on its way: there only
    calls are meant that enclosed recorded ones, and of which nothing is known.
    """
    orders = {order for item in (*record.spans, *record.logs) if (order := _order(item)) >= first}
    free = [order for order in range(first, max(orders, default=first)) if order not in orders]
    return _ranges(sorted(_enclosing(record.spans, free)) if record.remote else free)


def _enclosing(spans: Iterable[Span], free: list[int]) -> Iterable[int]:
    """For each parent that is not there: the nearest free number before the first of its children."""
    spans = list(spans)
    known = {span.span_id for span in spans}
    first_child: dict[str, int] = {}
    for span in spans:
        order, parent = _order(span), span.parent_id
        if order and parent is not None and parent not in known and names.RUN_ROOT not in span.attributes:
            first_child[parent] = min(order, first_child.get(parent, order))
    left = list(free)
    for order in sorted(first_child.values()):
        before = [number for number in left if number < order]
        if before:
            left.remove(before[-1])
            yield before[-1]


def _order(item: Span | LogEvent) -> int:
    order = item.attributes.get(names.CALL_ORDER)
    return order if isinstance(order, int) else 0


def _ranges(numbers: list[int]) -> list[int]:
    said: list[int] = []
    for number in numbers:
        if said and said[-1] == number - 1:
            said[-1] = number
        else:
            said += [number, number]
    return said

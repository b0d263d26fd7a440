"""Finds the order numbers of calls that a crash left no record of.

A call that is not announced (a step) is recorded when it ends. If the process dies before that, only a gap in the order
numbers is left. The next attempt makes the call again under another number, and records which numbers nobody need wait
for (`playhead.resumed.without`).
"""

from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.projection.attributes import replaced_by
from playhead.replay.record import Record


def missing_orders(record: Record, first: int) -> list[int]:
    """Order numbers from `first` on that the record lacks, in pairs: first, last, first, last, ...

    Another machine resumes a run only if its whole record has arrived, or if what is missing is given up.
    """
    orders = _orders(record)
    return _ranges([order for order in range(first, max(orders, default=first)) if order not in orders])


def has_all_orders(record: Record, first: int, last: int) -> bool:
    """Whether the record has all order numbers from `first` to `last`, except those that a later attempt recorded as
    missing."""
    orders = _orders(record)
    replaced = [span for log in record.logs if log.name == names.RESUMED for span in replaced_by(log)]
    return all(
        order in orders or any(low <= order <= high for low, high in replaced) for order in range(first, last + 1)
    )


def _orders(record: Record) -> set[int]:
    return {_order(item) for item in (*record.spans, *record.logs)}


def _order(item: Span | LogEvent) -> int:
    order = item.attributes.get(names.CALL_ORDER)
    return order if isinstance(order, int) else 0


def _ranges(numbers: list[int]) -> list[int]:
    bounds: list[int] = []
    for number in numbers:
        if bounds and bounds[-1] == number - 1:
            bounds[-1] = number
        else:
            bounds += [number, number]
    return bounds

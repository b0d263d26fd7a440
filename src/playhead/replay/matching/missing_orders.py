"""Finds the order numbers of calls that a crash left no record of.

A call that is not announced (a step) is written down when it ends: one that was open when the process died has left
its number, a hole in the count, and no more.  The attempt that goes on does it again under a number of its own, and
says which numbers nobody need wait for (`playhead.resumed.without`).
"""

from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.project.attributes import replaced_by
from playhead.replay.record import Record


def missing_orders(record: Record, first: int) -> list[int]:
    """Numbers from `first` on of which the record has nothing, as first, last, first, last, ...

    A run is resumed on another machine when all of its record has arrived, or is given up.
    """
    orders = _orders(record)
    return _ranges([order for order in range(first, max(orders, default=first)) if order not in orders])


def has_all_orders(record: Record, first: int, last: int) -> bool:
    """Whether the record has all numbers from `first` to `last`, but those which an attempt has gone on without."""
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
    said: list[int] = []
    for number in numbers:
        if said and said[-1] == number - 1:
            said[-1] = number
        else:
            said += [number, number]
    return said

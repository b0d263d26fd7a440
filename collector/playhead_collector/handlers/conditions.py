"""Conditions for runs, from the parameters of operations."""

from collections.abc import Sequence
from typing import Any, Unpack

from playhead.model.times import parse_time
from playhead.wire.operations.bounds import RunConditions
from playhead_collector.errors import Refused
from playhead_collector.store.ports.runs import RunFilter


def read_time(text: object) -> int | None:
    """Returns the time in nanoseconds since 1970; None for None. Raises Refused if the text is not a time."""
    try:
        return None if text is None else parse_time(str(text))
    except ValueError as error:
        raise Refused(400, "bad_time", str(error)) from None


def read_kinds(kinds: Sequence[str] | None) -> frozenset[str]:
    """Returns the event kinds; an empty set means all kinds. One text may have several, separated by commas."""
    return frozenset(word.strip() for kind in kinds or () for word in kind.split(",") if word.strip())


def run_filter(**where: Unpack[RunConditions]) -> RunFilter:
    """Returns the filter for lists of runs and for questions about many runs. Raises Refused."""
    conditions: dict[str, Any] = {**where}
    since, until = conditions.pop("since", None), conditions.pop("until", None)
    return RunFilter(**conditions, since_ns=read_time(since), until_ns=read_time(until))

"""Matches tool spans to the model's tool call requests, by name and arguments; the oldest open request first.

Frameworks fill in defaults, and convert what the model wrote to numbers, dates and objects. So if no request is equal,
one matches whose arguments are all among the call's, with the same values.
"""

from collections.abc import Mapping
from typing import Any, cast

from playhead.calls.run import ActiveRun
from playhead.model.canonical import parse_json
from playhead.model.objects.limits import ValueLimits
from playhead.model.objects.safe_json import bounded_json

# A model that asks for tools which never run must not become a leak.
_MAX_REQUESTED = 256


def add_requested_call(run: ActiveRun, name: str, arguments: bytes, call_id: str) -> None:
    """Notes that the model requested this tool call. `arguments` are canonical JSON."""
    waiting = run.requested.get(name)
    if waiting is None and len(run.requested) < _MAX_REQUESTED:
        waiting = run.requested.setdefault(name, [])
    if waiting is not None and len(waiting) < _MAX_REQUESTED:
        waiting.append((arguments, call_id))


def pop_requested_call(run: ActiveRun, name: str, arguments: Mapping[str, Any]) -> str | None:
    """Removes the oldest open request with this name and these arguments, and returns its call id; None when there
    is none."""
    waiting = run.requested.get(name)
    if not waiting:
        return None
    arguments_json, cut = bounded_json(arguments, None, ValueLimits())
    if cut == "size":  # no model writes arguments of this size
        return None
    requests = list(waiting)
    match = next((request for request in requests if request[0] == arguments_json), None)
    if match is None:
        values = parse_json(arguments_json)
        match = next((request for request in requests if is_contained_in(parse_json(request[0]), values)), None)
    return match[1] if match is not None and _removed(waiting, match) else None


def drop_requested_call(run: ActiveRun, name: str, call_id: str) -> None:
    """Removes the open request with this call id. For frameworks that say which request a tool call answers."""
    waiting = run.requested.get(name, [])
    for request in list(waiting):
        if request[1] == call_id:
            _removed(waiting, request)


def _removed(waiting: list[tuple[bytes, str]], request: tuple[bytes, str]) -> bool:
    try:
        waiting.remove(request)
    except ValueError:  # another thread has removed it
        return False
    return True


def is_contained_in(requested: object, actual: object) -> bool:
    """Whether everything in `requested`, the model's arguments, is in `actual`, the call's, with the same value."""
    if isinstance(requested, dict) and isinstance(actual, dict):
        values = cast("dict[str, Any]", actual)
        return all(
            key in values and is_contained_in(value, values[key])
            for key, value in cast("dict[str, Any]", requested).items()
        )
    if isinstance(requested, list) and isinstance(actual, list):
        requested_items, actual_items = cast("list[Any]", requested), cast("list[Any]", actual)
        return len(requested_items) == len(actual_items) and all(map(is_contained_in, requested_items, actual_items))
    return requested == actual and isinstance(requested, bool) == isinstance(actual, bool)

"""Matches tool spans to the model's tool call requests, by name and arguments; the oldest open request first.

Frameworks fill in defaults, and convert what the model wrote to numbers, dates and objects. So if no request is equal,
one matches whose arguments are all among the call's, with the same values.
"""

from collections.abc import Mapping
from typing import Any, cast

from playhead.api.run import ActiveRun
from playhead.model.canonical import parse_json
from playhead.model.objects.limits import ValueLimits
from playhead.model.objects.safe_json import bounded_json

# A model that asks for tools which never run must not become a leak.
_MAX_REQUESTED = 256


def note_requested_call(run: ActiveRun, name: str, arguments: bytes, call_id: str) -> None:
    """Notes that the model requested this tool call. `arguments` are canonical JSON."""
    waiting = run.requested.get(name)
    if waiting is None and len(run.requested) < _MAX_REQUESTED:
        waiting = run.requested.setdefault(name, [])
    if waiting is not None and len(waiting) < _MAX_REQUESTED:
        waiting.append((arguments, call_id))


def take_requested_call(run: ActiveRun, name: str, arguments: Mapping[str, Any]) -> str | None:
    """Removes the oldest open request with this name and these arguments, and returns its call id; None when there
    is none."""
    waiting = run.requested.get(name)
    if not waiting:
        return None
    given, cut = bounded_json(arguments, None, ValueLimits())
    if cut == "size":  # no model writes arguments of this size
        return None
    asked = list(waiting)
    found = next((one for one in asked if one[0] == given), None)
    if found is None:
        values = parse_json(given)
        found = next((one for one in asked if is_contained_in(parse_json(one[0]), values)), None)
    return found[1] if found is not None and _removed(waiting, found) else None


def drop_requested_call(run: ActiveRun, name: str, call_id: str) -> None:
    """Removes the open request with this call id. For frameworks that say which request a tool call answers."""
    waiting = run.requested.get(name, [])
    for one in list(waiting):
        if one[1] == call_id:
            _removed(waiting, one)


def _removed(waiting: list[tuple[bytes, str]], one: tuple[bytes, str]) -> bool:
    try:
        waiting.remove(one)
    except ValueError:  # another thread has removed it
        return False
    return True


def is_contained_in(asked: Any, given: Any) -> bool:
    """Whether everything in `asked`, the model's request, is in `given`, the arguments, with the same value."""
    if isinstance(asked, dict) and isinstance(given, dict):
        values = cast("dict[str, Any]", given)
        return all(
            key in values and is_contained_in(value, values[key])
            for key, value in cast("dict[str, Any]", asked).items()
        )
    if isinstance(asked, list) and isinstance(given, list):
        ones, others = cast("list[Any]", asked), cast("list[Any]", given)
        return len(ones) == len(others) and all(map(is_contained_in, ones, others))
    return asked == given and isinstance(asked, bool) == isinstance(given, bool)

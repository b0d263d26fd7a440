"""Which tool call of the model a tool span answers: by name and arguments, first asked first answered.

Frameworks fill in defaults and make numbers, dates and objects of what the model wrote.  So where no request is equal,
one agrees that says nothing else: everything that the model gave is among the arguments, with the same value.
"""

from collections.abc import Mapping
from typing import Any, cast

from playhead.api.run import ActiveRun
from playhead.model.canonical import canonical_json, parse_json

# A model that asks for tools which never run must not become a leak.
_MOST_REQUESTED = 256


def request_call(run: ActiveRun, name: str, arguments: bytes, call_id: str) -> None:
    """A model asked for this; `arguments` are canonical JSON."""
    waiting = run.requested.get(name)
    if waiting is None and len(run.requested) < _MOST_REQUESTED:
        waiting = run.requested.setdefault(name, [])
    if waiting is not None and len(waiting) < _MOST_REQUESTED:
        waiting.append((arguments, call_id))


def requested_call(run: ActiveRun, name: str, arguments: Mapping[str, Any]) -> str | None:
    """The id of the oldest open request with this name and these arguments; it is then answered."""
    waiting = run.requested.get(name)
    if not waiting:
        return None
    given = canonical_json(arguments)
    asked = list(waiting)
    found = next((one for one in asked if one[0] == given), None)
    if found is None:
        values = parse_json(given)
        found = next((one for one in asked if _agrees(parse_json(one[0]), values)), None)
    return found[1] if found is not None and _took(waiting, found) else None


def answered_call(run: ActiveRun, name: str, call_id: str) -> None:
    """Whoever runs this tool says whose request it answers."""
    waiting = run.requested.get(name, [])
    for one in list(waiting):
        if one[1] == call_id:
            _took(waiting, one)


def _took(waiting: list[tuple[bytes, str]], one: tuple[bytes, str]) -> bool:
    try:
        waiting.remove(one)
    except ValueError:  # another thread was quicker
        return False
    return True


def _agrees(asked: Any, given: Any) -> bool:
    """Whether this is what was asked for, and perhaps more."""
    if isinstance(asked, dict) and isinstance(given, dict):
        values = cast("dict[str, Any]", given)
        return all(
            key in values and _agrees(value, values[key]) for key, value in cast("dict[str, Any]", asked).items()
        )
    if isinstance(asked, list) and isinstance(given, list):
        ones, others = cast("list[Any]", asked), cast("list[Any]", given)
        return len(ones) == len(others) and all(map(_agrees, ones, others))
    return asked == given and isinstance(asked, bool) == isinstance(given, bool)

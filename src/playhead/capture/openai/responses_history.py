"""The conversation behind a `previous_response_id`: the server has it, the request does not say it.

What this run itself sent and was answered is known, so the recorded context is whole.  What is not known (a response of
another run, a conversation that the server keeps) is said where it would stand, as a part `playhead.elsewhere`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from playhead.api.run import ActiveRun

# A run that asks without end must not become a leak; the oldest are forgotten first.
_MAX_REMEMBERED = 4096


def previous_items(run: ActiveRun | None, request: Mapping[str, Any]) -> list[Any]:
    """The items that stand before those of a request."""
    conversation = request.get("conversation")
    if isinstance(conversation, dict | str):
        return [_elsewhere("conversation", conversation)]
    found: list[Sequence[Any]] = []
    at = request.get("previous_response_id")
    while isinstance(at, str):
        known = run.responses.get(at) if run is not None else None
        if known is None:
            found.append([_elsewhere("previous_response_id", at)])
            break
        at, items = known
        found.append(items)
    return [item for items in reversed(found) for item in items]


def remember(run: ActiveRun, request: Mapping[str, Any], sent: Sequence[Any], response: Mapping[str, Any]) -> None:
    """From here on, the response can be the one before another."""
    name, previous = response.get("id"), request.get("previous_response_id")
    if not isinstance(name, str):
        return
    # Of a conversation's responses each stands after all that was said in it, of which only a part is known.
    head = previous_items(run, request) if isinstance(request.get("conversation"), dict | str) else []
    items = [*head, *sent, *(response.get("output") or ())]
    run.responses[name] = (previous if isinstance(previous, str) and not head else None, items)
    while len(run.responses) > _MAX_REMEMBERED:
        run.responses.pop(next(iter(run.responses)), None)


def _elsewhere(key: str, value: Any) -> dict[str, Any]:
    return {"role": "system", "content": [{"type": "playhead.elsewhere", key: value}]}

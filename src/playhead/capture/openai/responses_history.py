"""The conversation behind a `previous_response_id`, which the server has and the request does not contain.

What this run itself sent and got is known, so the recorded context is whole. Where it is not (a response of another
run, a conversation that the server keeps), a part `playhead.elsewhere` takes its position.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from playhead.api.run import ActiveRun

# A run that asks without end must not become a leak; the oldest are forgotten first.
_MAX_REMEMBERED = 4096


def previous_items(run: ActiveRun | None, request: Mapping[str, Any]) -> list[Any]:
    """The items before those of a request."""
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
    """Remembers a response, so that a later request can name it as the previous one."""
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

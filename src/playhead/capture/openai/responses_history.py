"""The conversation before a `previous_response_id`: the server has it, the request does not contain it.

Items that this run sent and received are known, and complete the recorded context. A part `playhead.elsewhere` stands
for unknown ones (a response of another run, a conversation that the server keeps).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from playhead.calls.run import ActiveRun

# Limits the memory of an endless run; the oldest are forgotten first.
_MAX_REMEMBERED = 4096


@dataclass(frozen=True, slots=True)
class KnownResponse:
    """A response that this run has seen: the id of the previous response, the items sent since, and its output (empty
    while it runs in the background)."""

    previous: str | None
    sent: Sequence[Any]
    output: Sequence[Any]
    model: str
    is_ended: bool


def previous_items(run: ActiveRun | None, request: Mapping[str, Any]) -> list[Any]:
    """Returns the items of the conversation before those of this request."""
    conversation = request.get("conversation")
    if isinstance(conversation, dict | str):
        return [_elsewhere("conversation", conversation)]
    turns: list[Sequence[Any]] = []
    response_id = request.get("previous_response_id")
    while isinstance(response_id, str):
        response = known_response(run, response_id)
        if response is None:
            turns.append([_elsewhere("previous_response_id", response_id)])
            break
        response_id = response.previous
        turns.append([*response.sent, *response.output])
    return [item for items in reversed(turns) for item in items]


def items_asked(run: ActiveRun | None, response_id: str) -> list[Any]:
    """Returns the input items of a response: the conversation before it, and the items sent with its request."""
    response = known_response(run, response_id)
    if response is None:
        return [_elsewhere("response_id", response_id)]
    return [*previous_items(run, {"previous_response_id": response.previous}), *response.sent]


def known_response(run: ActiveRun | None, response_id: str) -> KnownResponse | None:
    """Returns the response of this id; None if this run has not seen it."""
    return run.responses.get(response_id) if run is not None else None


def remember(run: ActiveRun, request: Mapping[str, Any], sent: Sequence[Any], response: Mapping[str, Any]) -> None:
    """Remembers a response, so that a later request can name it as the previous one."""
    previous = request.get("previous_response_id")
    # In a `conversation`, each response follows all earlier items, of which only a part is known.
    head = previous_items(run, request) if isinstance(request.get("conversation"), dict | str) else []
    _keep(run, response, previous if isinstance(previous, str) and not head else None, [*head, *sent])


def remember_retrieved(run: ActiveRun, response_id: str, response: Mapping[str, Any]) -> None:
    """Remembers the fetched state of a response that runs in the background."""
    remembered = known_response(run, response_id)
    if remembered is None:
        _keep(run, response, None, items_asked(run, response_id))
    else:
        _keep(run, response, remembered.previous, remembered.sent)


def _keep(run: ActiveRun, response: Mapping[str, Any], previous: str | None, sent: Sequence[Any]) -> None:
    name = response.get("id")
    if not isinstance(name, str):
        return
    output, model = response.get("output") or (), str(response.get("model") or "")
    is_ended = response.get("status") not in ("queued", "in_progress")
    run.responses[name] = KnownResponse(previous, sent, output, model, is_ended)
    while len(run.responses) > _MAX_REMEMBERED:
        run.responses.pop(next(iter(run.responses)), None)


def _elsewhere(key: str, value: Any) -> dict[str, Any]:
    return {"role": "system", "content": [{"type": "playhead.elsewhere", key: value}]}

"""The conversation that the server holds between turns (beta `thread`), which the request does not contain.

Messages that this run itself sent and received are known and complete the recorded context.  A block
`playhead.elsewhere` stands for unknown ones (a thread of another run).
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from playhead.api.run import ActiveRun

# Limits the memory of an endless run; the oldest are forgotten first.
_MAX_REMEMBERED = 4096


def earlier_messages(run: ActiveRun | None, request: Mapping[str, Any]) -> list[Any]:
    """The messages of the thread before this request's own, cut."""
    at = _continued(request)
    found: list[Sequence[Any]] = []
    while at is not None:
        known = run.responses.get(at) if run is not None else None
        if known is None:
            found.append([{"role": "system", "content": [{"type": "playhead.elsewhere", "previous_message_id": at}]}])
            break
        at, messages = known
        found.append(messages)
    return [message for messages in reversed(found) for message in messages]


def remember(run: ActiveRun, request: Mapping[str, Any], sent: Sequence[Any], answer: Mapping[str, Any]) -> None:
    """Remembers the answer of a thread's turn, so that the next turn can continue from it."""
    name = answer.get("id")
    if not isinstance(request.get("thread"), Mapping) or not isinstance(name, str):
        return
    said = {"role": "assistant", "content": answer.get("content")}
    run.responses[name] = (_continued(request), [*sent, said])
    while len(run.responses) > _MAX_REMEMBERED:
        run.responses.pop(next(iter(run.responses)), None)


def _continued(request: Mapping[str, Any]) -> str | None:
    thread = request.get("thread")
    at = cast("Mapping[str, Any]", thread).get("previous_message_id") if isinstance(thread, Mapping) else None
    return at if isinstance(at, str) else None

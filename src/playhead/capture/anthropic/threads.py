"""Messages that the server keeps between turns (beta `thread`), which the request does not contain.

Messages that this run sent and received are known, and complete the recorded context.  A block `playhead.elsewhere`
stands for unknown ones (a thread of another run).
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from playhead.calls.run import ActiveRun

# Limits the memory of an endless run; the oldest are forgotten first.
_MAX_REMEMBERED = 4096


def earlier_messages(run: ActiveRun | None, request: Mapping[str, Any]) -> list[Any]:
    """Returns the messages of the thread before those of this request, cut (see `dialect.anthropic`)."""
    message_id = _continued(request)
    turns: list[Sequence[Any]] = []
    while message_id is not None:
        entry = run.responses.get(message_id) if run is not None else None
        if entry is None:
            turns.append(
                [{"role": "system", "content": [{"type": "playhead.elsewhere", "previous_message_id": message_id}]}]
            )
            break
        message_id, messages = entry
        turns.append(messages)
    return [message for messages in reversed(turns) for message in messages]


def remember(run: ActiveRun, request: Mapping[str, Any], sent: Sequence[Any], answer: Mapping[str, Any]) -> None:
    """Remembers the answer of a thread's turn, so that the next turn can continue from it."""
    name = answer.get("id")
    if not isinstance(request.get("thread"), Mapping) or not isinstance(name, str):
        return
    reply = {"role": "assistant", "content": answer.get("content")}
    run.responses[name] = (_continued(request), [*sent, reply])
    while len(run.responses) > _MAX_REMEMBERED:
        run.responses.pop(next(iter(run.responses)), None)


def _continued(request: Mapping[str, Any]) -> str | None:
    thread = request.get("thread")
    message_id = cast("Mapping[str, Any]", thread).get("previous_message_id") if isinstance(thread, Mapping) else None
    return message_id if isinstance(message_id, str) else None

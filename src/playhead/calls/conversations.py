"""Groups calls of a thread without a border into runs, by their messages.

| a call belongs to the run of an earlier call of its thread, if | example |
|---|---|
| its messages are that call's messages, the model's answer, and more | a conversation |
| one of its messages (not of role `assistant`) equals that call's answer | a simulated user answers an agent |
| it is a call of a tool that the answer of that call asked for | |

Calls are never grouped only because one follows the other.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from playhead.calls.recorder import Recorder
from playhead.calls.run import ActiveRun
from playhead.kernel.guard import guarded
from playhead.model.message import Message

# Conversations remembered per thread. Each of them keeps its messages in memory.
_MOST_RUNS = 4
# Characters. A shorter answer ("yes", "Hello!") occurs in many conversations.
_SHORTEST = 16
_MOST_ANSWERS = 64
# Number of last messages of a call that are compared with answers.
_MOST_COMPARED = 8


class RequestMessages(Protocol):
    """The messages of a model call, as its client takes them."""

    @property
    def messages(self) -> Sequence[Any]:
        """The messages in the provider's form."""
        ...

    @property
    def to_message(self) -> Callable[[Mapping[str, Any]], Message]:
        """Converts one of them into a canonical message."""
        ...


class ThreadConversations(threading.local):
    """The latest runs of this thread that have neither an agent nor a border, newest first, each with the identity of
    the `resume()` or `fork()` around it (None without one)."""

    def __init__(self) -> None:
        self.runs: list[tuple[ActiveRun, Any]] = []

    def add(self, run: ActiveRun, rewinding: object) -> None:
        """Remembers a run that begins in this thread."""
        run.answers = {}
        self.runs.insert(0, (run, rewinding))
        del self.runs[_MOST_RUNS:]

    def find(
        self, to: Recorder, rewinding: object, tool: str | None, request: RequestMessages | None
    ) -> ActiveRun | None:
        """Returns the run to which a call of this tool, or with these messages, belongs; None if it belongs to no
        remembered run."""
        runs = [run for run, other in self.runs if other is rewinding and run.answers is not None]
        if request is not None:
            return continued(to, runs, request) or _answered_before(runs, request)
        return next((run for run in runs if tool in run.requested), None)


def continued(to: Recorder, runs: Sequence[ActiveRun], request: RequestMessages) -> ActiveRun | None:
    """Returns the run that has a call whose conversation these messages continue; None if there is none."""
    return next(
        (run for run in runs if to.continues_conversation(request.messages, request.to_message, run.threads)), None
    )


def note_answers(run: ActiveRun, messages: Sequence[Message]) -> None:
    """Remembers a model's answer, if the run's calls are grouped by their messages (`run.answers` is not None)."""
    hashes = run.answers
    if hashes is None:
        return
    for message in messages:
        text = _text(message)
        if len(text) >= _SHORTEST:
            hashes[hash(text)] = None
    while len(hashes) > _MOST_ANSWERS:
        hashes.pop(next(iter(hashes)), None)


def _answered_before(runs: Sequence[ActiveRun], request: RequestMessages) -> ActiveRun | None:
    """Returns the run in which one of these messages was a model's answer; None if there is none."""
    if not any(run.answers for run in runs):
        return None
    hashes: set[int] = set()
    with guarded("compare a call's messages with earlier answers"):  # they are the user's values
        hashes = {hash(_text(message)) for message in map(request.to_message, request.messages[-_MOST_COMPARED:])
                if message["role"] != "assistant"}  # fmt: skip
    return next((run for run in runs if not hashes.isdisjoint(run.answers or ())), None)


def _text(message: Message) -> str:
    texts = (part.get("content") for part in message["parts"] if part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str)).strip()

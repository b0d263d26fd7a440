"""Calls in a thread without a border: which of them belong together, as what they were asked shows.

| a call belongs to the run of an earlier call of its thread, if | example |
|---|---|
| its messages are that call's, followed by the model's answer and what was said to it | a conversation |
| one of its messages, not the model's own, is what that call answered | a simulated user's words, given to an agent |
| it is a tool that the answer of that call asked for | |

Calls are never put together because one follows the other.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from playhead.api.guard import swallowed
from playhead.api.ports import Recorder
from playhead.api.run import ActiveRun
from playhead.model.message import Message
from playhead.model.objects.interrupts import let_through

# Conversations that a thread is in at a time. Each holds its messages for as long as it is one of these.
_MOST_RUNS = 4
# A shorter text is said by many: "yes", "Hello!".
_SHORTEST = 16
_MOST_ANSWERS = 64
# The messages of a call that are compared with answers, from the last.
_MOST_COMPARED = 8


class AskedMessages(Protocol):
    """The messages of a model call, as its client takes them."""

    @property
    def messages(self) -> Sequence[Any]:
        """The provider's own."""
        ...

    @property
    def to_message(self) -> Callable[[Mapping[str, Any]], Message]:
        """Makes ours of one."""
        ...


class ThreadConversations(threading.local):
    """The latest runs of this thread that have neither an agent nor a border, and for each what tells one `resume()`
    from another; newest first."""

    def __init__(self) -> None:
        self.runs: list[tuple[ActiveRun, Any]] = []

    def add(self, run: ActiveRun, rewinding: Any) -> None:
        """Remembers a run that begins here."""
        run.answers = {}
        self.runs.insert(0, (run, rewinding))
        del self.runs[_MOST_RUNS:]

    def find(self, to: Recorder, rewinding: Any, tool: str | None, asked: AskedMessages | None) -> ActiveRun | None:
        """The run that a call of this tool, or with these messages, belongs to; None: to none of them."""
        known = [run for run, other in self.runs if other is rewinding and run.answers is not None]
        if asked is not None:
            return continued(to, known, asked) or _answered_before(known, asked)
        return next((run for run in known if tool in run.requested), None)


def continued(to: Recorder, runs: Sequence[ActiveRun], asked: AskedMessages) -> ActiveRun | None:
    """The run with a call that these messages go on with."""
    return next((run for run in runs if to.goes_on(asked.messages, asked.to_message, run.threads)), None)


def note_answers(run: ActiveRun, messages: Sequence[Message]) -> None:
    """Notes what a model answered in a run whose calls are told by what they say."""
    known = run.answers
    if known is None:
        return
    for message in messages:
        text = _text(message)
        if len(text) >= _SHORTEST:
            known[hash(text)] = None
    while len(known) > _MOST_ANSWERS:
        known.pop(next(iter(known)), None)


def _answered_before(runs: Sequence[ActiveRun], asked: AskedMessages) -> ActiveRun | None:
    """The run in which one of these messages was a model's answer."""
    if not any(run.answers for run in runs):
        return None
    try:
        said = {hash(_text(message)) for message in map(asked.to_message, asked.messages[-_MOST_COMPARED:])
                if message["role"] != "assistant"}  # fmt: skip
    except BaseException as error:  # noqa: BLE001 - the guard: it is the user's value
        let_through(error)
        swallowed("compare a call's messages with earlier answers", error)
        return None
    return next((run for run in runs if not said.isdisjoint(run.answers or ())), None)


def _text(message: Message) -> str:
    texts = (part.get("content") for part in message["parts"] if part.get("type") == "text")
    return "".join(text for text in texts if isinstance(text, str)).strip()

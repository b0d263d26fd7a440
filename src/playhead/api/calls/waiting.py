"""Declares exceptions with which a framework leaves a call that waits for a person. The framework repeats the call when
there is an answer.

Such an exception is neither an error nor a result. The framework's instrumentation declares it.
"""

from collections.abc import Callable
from typing import Any

from playhead.api.calls.span import ObservedSpan

NoteWait = Callable[[ObservedSpan, Any], object]
"""Records on the span of the call that raised this exception what the call waits for. Never raises."""

_kinds: dict[type[BaseException], NoteWait] = {}


def declare_waiting(kind: type[BaseException], note: NoteWait) -> None:
    """Declares that a call which raises an exception of this class is waiting. `note` records what it waits for."""
    _kinds[kind] = note


def waiting_note(raised: BaseException) -> NoteWait | None:
    """Returns the declared function that records what a call waits for when it raises this exception; None: the call
    does not wait."""
    return next((note for kind, note in _kinds.items() if isinstance(raised, kind)), None)

"""Exceptions by which a framework leaves a call that waits for a person, and makes again when there is an answer.

They are no errors, and no results.  The instrumentation of the framework declares them.
"""

from collections.abc import Callable
from typing import Any

from playhead.api.calls.span import ObservedSpan

NoteWait = Callable[[ObservedSpan, Any], object]
"""Records in the call that has raised this exception what it waits for.  Never raises."""

_kinds: dict[type[BaseException], NoteWait] = {}


def declare_waiting(kind: type[BaseException], note: NoteWait) -> None:
    """Calls that exceptions of this class leave are waiting from now on."""
    _kinds[kind] = note


def waiting_note(raised: BaseException) -> NoteWait | None:
    """What records for whom a call waits that this exception leaves; None: it does not wait."""
    return next((note for kind, note in _kinds.items() if isinstance(raised, kind)), None)

"""Where a program's notes are kept (`playhead.notes`). `playhead.configuring` provides it."""

from collections.abc import Callable
from typing import Protocol

from playhead.model.json_value import Json


class ProgramNotes(Protocol):
    """Keeps notes, as JSON. Methods raise JournalUnusable, and ClientError for what the collector refuses."""

    def read(self, scope: str) -> list[Json]:
        """Returns the notes of a scope; the one that was stored last is the last."""
        ...

    def change(self, scope: str, change: Callable[[list[Json]], list[Json]]) -> None:
        """Replaces the notes by what the function makes of them, durably once this returns. The function may be called
        again, if another writer was faster."""
        ...

    def redacted(self, note: Json) -> Json:
        """Returns the note after the program's redaction hook."""
        ...


_provided: list[Callable[[], ProgramNotes]] = []


def provide_note_store(find: Callable[[], ProgramNotes]) -> None:
    """Sets the function that returns the store of this process."""
    _provided[:] = [find]


def note_store() -> ProgramNotes:
    """Returns the store of this process. Raises SettingInvalid."""
    if not _provided:
        raise RuntimeError("import playhead first")
    return _provided[0]()

"""The store's interface for notes and labels of people, and for saved views of the list of runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class NoteToAdd:
    """A note to store, about the run or about the event `event`.

    `seq` and `turn` are those of the event now.  `noted_ns` None: the database's current time.
    """

    id: str
    text: str | None
    label: str | None
    event: str | None = None
    seq: int | None = None
    turn: int | None = None
    author: str | None = None
    api_key: str | None = None
    noted_ns: int | None = None


@dataclass(frozen=True, slots=True)
class StoredNote:
    """A note of a run. `seq` and `turn` are those that `event` had when the note was written."""

    run: str
    id: str
    text: str | None
    label: str | None
    event: str | None
    seq: int | None
    turn: int | None
    author: str | None
    api_key: str | None
    noted_ns: int


@dataclass(frozen=True, slots=True)
class StoredView:
    """A saved view of the list of runs."""

    name: str
    query: str
    author: str | None
    saved_ns: int


class NoteReader(Protocol):
    """Reads notes."""

    async def page(
        self, project_id: int, run: str, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[StoredNote]:
        """Returns notes of a run, newest first. `before`: (noted_ns, id) of the last one of the previous page."""
        ...


class NoteStore(NoteReader, Protocol):
    """Stores notes and saved views.  All methods raise StoreUnavailable."""

    async def add(self, project_id: int, run: str, note: NoteToAdd) -> StoredNote | None:
        """Stores the note and returns it. If the run has a note with this id already, returns that one.  None: there is
        no such run."""
        ...

    async def remove(self, project_id: int, run: str, note: str) -> bool:
        """Deletes a note. Returns False when there is none with this id."""
        ...

    async def views(self, project_id: int, *, limit: int, after: str = "") -> Sequence[StoredView]:
        """Returns saved views by name. `after`: the last name of the previous page."""
        ...

    async def save_view(self, project_id: int, name: str, query: str, author: str | None) -> StoredView:
        """Stores a view, in place of one of the same name."""
        ...

    async def remove_view(self, project_id: int, name: str) -> bool:
        """Deletes a view. Returns False when there is none of this name."""
        ...

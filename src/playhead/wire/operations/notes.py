"""Notes and labels of people, and views of the list of runs that they saved."""

import uuid
from datetime import datetime
from typing import Annotated, TypedDict

from playhead.wire.operations.bounds import MOMENT, NO_NUL, Bounds, Most, RunName
from playhead.wire.operations.operation import INGEST, READ, delete, get_list, post
from playhead.wire.operations.page import Page


class Note(TypedDict):
    """What a person says about a run, or about a moment of it: a `text`, a `label`, or both.

    `event` is the id of the event that it is about, `seq` where that stands now and `turn` its turn; null: it is about
    the run.  `author` is what the writer
    said, `key` the name of the API key.
    """

    run: str
    id: str
    seq: int | None
    event: str | None
    turn: int | None
    text: str | None
    label: str | None
    author: str | None
    key: str | None
    time: str


class SavedView(TypedDict):
    """A view of the list of runs: the `query` of the page (`outcome=failed&sort=cost`), under a name."""

    name: str
    query: str
    author: str | None
    time: str


class DeletedOne(TypedDict):
    """Whether there was something to delete."""

    deleted: bool


_TEXT, _LABEL, _AUTHOR, _VIEW, _QUERY = 10_000, 100, 200, 100, 4_000

NoteText = Annotated[
    str | None, Bounds(min_length=1, max_length=_TEXT, pattern=NO_NUL, description="What is to be said.")
]
NoteLabel = Annotated[
    str | None,
    Bounds(min_length=1, max_length=_LABEL, pattern=NO_NUL, description="A label, such as `wrong tool`."),
]
NoteAt = Annotated[
    int | str | None,
    Bounds(max_length=300, pattern=NO_NUL, as_text=True, description=f"{MOMENT}: what it is about; default: the run."),
]
Author = Annotated[str | None, Bounds(max_length=_AUTHOR, pattern=NO_NUL, description="Who says so.")]
NoteId = Annotated[
    str | None,
    Bounds(
        pattern=r"^[A-Za-z0-9_:-]{1,100}$",
        description="The same note with the same id is stored once; default: a new id.",
        new=lambda: uuid.uuid4().hex,
    ),
]
NotedAt = Annotated[
    str | datetime | None,
    Bounds(
        max_length=50,
        is_time=True,
        description="Of a note that is moved: when it was written (RFC 3339), instead of now.",
    ),
]
StoredNote = Annotated[str, Bounds(max_length=100, pattern=NO_NUL, description="The note's id.")]
ViewName = Annotated[
    str,
    Bounds(min_length=1, max_length=_VIEW, pattern=r"^[^\x00/]+$", description="What the view is called, without `/`."),
]
ViewQuery = Annotated[str, Bounds(max_length=_QUERY, pattern=NO_NUL, description="The query of the page.")]


class NoteOperations:
    """Notes and labels, and saved views."""

    @get_list("/runs/{run}/notes", scope=READ, tag="scores", page_size=100)
    def notes(self, run: RunName, *, limit: Most = None) -> Page[Note]:
        """Notes and labels of a run and of its moments, newest first."""
        ...

    @post("/runs/{run}/notes", scope=INGEST, tag="scores", also_refuses={409: "The run has another note with this id."})
    def add_note(
        self,
        run: RunName,
        text: NoteText = None,
        *,
        label: NoteLabel = None,
        at: NoteAt = None,
        author: Author = None,
        id: NoteId = None,  # noqa: A002 - the name in the body
        time: NotedAt = None,
    ) -> Note:
        """Note something about a run, or about a moment of it: a text, a label, or both.

        Sent again with the same `id`, it is stored once; 409 when the run has another note with this id.
        """
        ...

    @delete("/runs/{run}/notes/{note}", scope=INGEST, tag="scores")
    def delete_note(self, run: RunName, note: StoredNote) -> DeletedOne:
        """Delete a note."""
        ...

    @get_list("/views", scope=READ, tag="runs", page_size=100)
    def views(self, *, limit: Most = None) -> Page[SavedView]:
        """Saved views of the list of runs, by name."""
        ...

    @post("/views", scope=INGEST, tag="runs")
    def save_view(self, name: ViewName, query: ViewQuery, *, author: Author = None) -> SavedView:
        """Save a view of the list of runs. One of the same name is replaced."""
        ...

    @delete("/views/{name}", scope=INGEST, tag="runs")
    def delete_view(self, name: ViewName) -> DeletedOne:
        """Delete a saved view."""
        ...

"""Handlers of notes and labels, and saved views."""

from typing import Any

from playhead.wire.operations.notes import NoteOperations
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.handling import handles


@handles(NoteOperations.notes)
async def notes(asking: Asking, run: Any, *, limit: Any = None) -> Any:
    raise NotImplementedError


@handles(NoteOperations.add_note)
async def add_note(
    asking: Asking, run: Any, text: Any = None, *, label: Any = None, at: Any = None, author: Any = None, id: Any = None
) -> Any:
    raise NotImplementedError


@handles(NoteOperations.delete_note)
async def delete_note(asking: Asking, run: Any, note: Any) -> Any:
    raise NotImplementedError


@handles(NoteOperations.views)
async def views(asking: Asking, *, limit: Any = None) -> Any:
    raise NotImplementedError


@handles(NoteOperations.save_view)
async def save_view(asking: Asking, name: Any, query: Any, *, author: Any = None) -> Any:
    raise NotImplementedError


@handles(NoteOperations.delete_view)
async def delete_view(asking: Asking, name: Any) -> Any:
    raise NotImplementedError

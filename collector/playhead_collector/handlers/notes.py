"""Handlers of notes and labels, and saved views."""

import uuid
from dataclasses import replace
from datetime import datetime

from playhead.wire.operations.notes import DeletedOne, Note, NoteOperations, SavedView
from playhead.wire.operations.page import Page
from playhead_collector.errors import Refused
from playhead_collector.handlers.asking import Changing
from playhead_collector.handlers.conditions import read_time
from playhead_collector.handlers.handling import changes, handles_with_store
from playhead_collector.read.notes import moment_of_note, note_answer, view_answer
from playhead_collector.read.paging import note_cursor, read_note_cursor, read_text_cursor, text_cursor
from playhead_collector.store.ports.notes import NoteToAdd, StoredNote


@handles_with_store(NoteOperations.notes)
async def notes(asking: Changing, run: str, *, limit: int | None = None) -> Page[Note]:
    record, size = await asking.record(run), asking.page(limit)
    before = read_note_cursor(asking.cursor)
    stored = await asking.store.notes.page(asking.project_id, record.run, limit=size + 1, before=before)
    page = stored[:size]
    return {
        "items": [await note_answer(record, note) for note in page],
        "next_cursor": note_cursor(page[-1].noted_ns, page[-1].id) if len(stored) > size else None,
    }


@changes(NoteOperations.add_note)
async def add_note(
    asking: Changing,
    run: str,
    text: str | None = None,
    *,
    label: str | None = None,
    at: int | str | None = None,
    author: str | None = None,
    id: str | None = None,  # noqa: A002 - the name in the body
    time: str | datetime | None = None,
) -> Note:
    if text is None and label is None:
        raise Refused(422, "invalid", "body.text: a note says something: send a text, a label, or both")
    record = await asking.record(run)
    text, label, author = await asking.masked([text, label, author])
    new = NoteToAdd(
        id or uuid.uuid4().hex,
        text,
        label,
        author=author,
        api_key=asking.request.access.key_name,
        noted_ns=read_time(time),
    )
    if at is not None:
        event, seq, turn = await moment_of_note(record, str(at))
        new = replace(new, event=event, seq=seq, turn=turn)
    stored = await asking.store.notes.add(asking.project_id, record.run, new)
    if stored is None:
        message = f"run {record.run} was deleted just now: `playhead runs` lists the others"
        raise Refused(404, "no_such_run", message)
    if not _is_same(stored, new):
        message = f"run {record.run} has another note with the id {new.id}: leave `id` out, or send another"
        raise Refused(409, "note_exists", message)
    return await note_answer(record, stored)


@changes(NoteOperations.delete_note)
async def delete_note(asking: Changing, run: str, note: str) -> DeletedOne:
    record = await asking.record(run)
    return {"deleted": await asking.store.notes.remove(asking.project_id, record.run, note)}


@handles_with_store(NoteOperations.views)
async def views(asking: Changing, *, limit: int | None = None) -> Page[SavedView]:
    size = asking.page(limit)
    stored = await asking.store.notes.views(asking.project_id, limit=size + 1, after=read_text_cursor(asking.cursor))
    page = stored[:size]
    return {
        "items": [view_answer(view) for view in page],
        "next_cursor": text_cursor(page[-1].name) if len(stored) > size else None,
    }


@changes(NoteOperations.save_view)
async def save_view(asking: Changing, name: str, query: str, *, author: str | None = None) -> SavedView:
    return view_answer(await asking.store.notes.save_view(asking.project_id, name, query, author))


@changes(NoteOperations.delete_view)
async def delete_view(asking: Changing, name: str) -> DeletedOne:
    return {"deleted": await asking.store.notes.remove_view(asking.project_id, name)}


def _is_same(stored: StoredNote, new: NoteToAdd) -> bool:
    """Whether the stored note is the one that was sent, perhaps for a second time."""
    said = (stored.text, stored.label, stored.event, stored.author)
    return said == (new.text, new.label, new.event, new.author) and new.noted_ns in (None, stored.noted_ns)

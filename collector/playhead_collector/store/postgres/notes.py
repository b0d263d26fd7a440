"""serve → [store]: notes and labels of people, and saved views of the list of runs."""

from collections.abc import Sequence

from asyncpg import Record

from playhead_collector.store.ports.notes import NoteToAdd, StoredNote, StoredView
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database, begin_write
from playhead_collector.store.postgres.runs import BIGINT, clamp_int, id_of, without_nul
from playhead_collector.store.postgres.statements import Conn

# More views than people look through.
_ALL_VIEWS = 10_000


class PostgresNotes:
    """Implements `ports.notes.NoteStore`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def add(self, project_id: int, run: str, note: NoteToAdd) -> StoredNote | None:
        number = id_of(run)

        async def attempt(conn: Conn) -> StoredNote | None:
            await begin_write(conn, project_id, [number])  # a run that is being deleted keeps no note
            await sql.run(
                conn,
                "add_note",
                project_id=project_id,
                run=number,
                note=note.id,
                noted_ns=None if note.noted_ns is None else clamp_int(note.noted_ns, BIGINT),
                seq=note.seq,
                turn=note.turn,
                event=_cleaned(note.event),
                text=_cleaned(note.text),
                label=_cleaned(note.label),
                author=_cleaned(note.author),
                api_key=_cleaned(note.api_key),
            )
            row = await sql.row(conn, "note", project_id=project_id, run=number, note=note.id)
            return None if row is None else _note(row)

        return await self._db.transact(attempt)

    async def page(
        self, project_id: int, run: str, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[StoredNote]:
        before_ns, before_note = before or (BIGINT, "")
        behind = {"before_ns": before_ns, "before_note": before_note}
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "notes", project_id=project_id, run=id_of(run), how_many=limit, **behind)
        return [_note(row) for row in rows]

    async def remove(self, project_id: int, run: str, note: str) -> bool:
        async with self._db.transaction() as conn:
            return await sql.run(conn, "delete_note", project_id=project_id, run=id_of(run), note=note) > 0

    async def views(self, project_id: int, *, limit: int, after: str = "") -> Sequence[StoredView]:
        async with self._db.reading() as conn:
            if await sql.cipher_of(conn, project_id) is not None:  # encrypted names have another order
                rows = await sql.rows(conn, "views", project_id=project_id, after="", how_many=_ALL_VIEWS)
                views = sorted(map(_view, rows), key=lambda view: view.name)
                return [view for view in views if view.name > after][:limit]
            rows = await sql.rows(conn, "views", project_id=project_id, after=after, how_many=limit)
        return [_view(row) for row in rows]

    async def save_view(self, project_id: int, name: str, query: str, author: str | None) -> StoredView:
        async with self._db.transaction() as conn:
            row = await sql.row(
                conn, "save_view", project_id=project_id, name=without_nul(name), query=query, author=_cleaned(author)
            )
        if row is None:
            raise LookupError("an insert gave back no row")
        return _view(row)

    async def remove_view(self, project_id: int, name: str) -> bool:
        async with self._db.transaction() as conn:
            return await sql.run(conn, "delete_view", project_id=project_id, name=without_nul(name)) > 0


def _cleaned(text: str | None) -> str | None:
    return None if text is None else without_nul(text)


def _note(row: Record) -> StoredNote:
    return StoredNote(
        row["run_id"].hex, row["note_id"], row["text"], row["label"], row["event"], row["seq"], row["turn"],
        row["author"], row["api_key"], row["noted_ns"],
    )  # fmt: skip


def _view(row: Record) -> StoredView:
    return StoredView(row["name"], row["query"], row["author"], row["saved_ns"])

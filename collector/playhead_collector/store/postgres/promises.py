"""serve → [store]: the part of the store for promises. Times are from the database's clock."""

import json
from collections.abc import Sequence
from typing import Any

from asyncpg import Record

from playhead_collector.json_bytes import json_bytes
from playhead_collector.store.ports.promises import Announcement, StoredPromise
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.runs import id_of

# 90 days. Decisions about a run are also in its events; `playhead promises --all` lists the rows of this table.
_KEEP_SECONDS = 7_776_000.0


class PostgresPromiseStore:
    """Implements `ports.promises.PromiseTable`."""

    _db: Database

    async def open_promise(
        self, project_id: int, promise: str, kind: str, run: str | None, body: dict[str, Any], seconds: float | None
    ) -> StoredPromise:
        async with self._db.transaction() as conn:
            await sql.run(conn, "forget_promises", project_id=project_id, seconds=_KEEP_SECONDS)
            of_run = None if run is None else id_of(run)
            text = json_bytes(body).decode()
            parameters = {"promise": promise, "kind": kind, "run": of_run, "body": text, "seconds": seconds}
            await sql.run(conn, "open_promise", project_id=project_id, **parameters)
            row = await sql.row(conn, "promise", project_id=project_id, promise=promise)
        if row is None:
            raise LookupError("a promise that was just opened is not there")
        return _promise(row)

    async def answer_promise(self, project_id: int, promise: str, answer: dict[str, Any], *, late: bool) -> bool:
        text = json_bytes(answer).decode()
        async with self._db.transaction() as conn:
            row = await sql.row(
                conn, "answer_promise", project_id=project_id, promise=promise, answer=text, is_late=late
            )
        return row is not None

    async def promise(self, project_id: int, promise: str) -> StoredPromise | None:
        async with self._db.reading() as conn:
            row = await sql.row(conn, "promise", project_id=project_id, promise=promise)
        return None if row is None else _promise(row)

    async def promises(
        self,
        project_id: int,
        *,
        kind: str | None,
        run: str | None,
        is_open: bool | None,
        after: tuple[int, str],
        limit: int,
    ) -> Sequence[StoredPromise]:
        of_run = None if run is None else id_of(run)
        where = {"kind": kind, "run": of_run, "open": is_open, "after_ns": after[0], "after_promise": after[1]}
        async with self._db.reading() as conn:
            return [
                _promise(row) for row in await sql.rows(conn, "promises", project_id=project_id, most=limit, **where)
            ]

    async def take_announcement(
        self, project_id: int, now_ns: int, until_ns: int, max_age_s: float
    ) -> Announcement | None:
        parameters = {"now": now_ns, "until": until_ns, "max_age": max_age_s}
        async with self._db.transaction() as conn:
            row = await sql.row(conn, "take_announcement", project_id=project_id, **parameters)
        return None if row is None else Announcement(_promise(row), row["announce_attempts"])

    async def drop_announcements(self, project_id: int, now_ns: int, max_age_s: float) -> Sequence[str]:
        async with self._db.transaction() as conn:
            return await sql.column(conn, "drop_announcements", project_id=project_id, now=now_ns, max_age=max_age_s)

    async def settle_announcement(self, project_id: int, promise: str, due_ns: int | None) -> None:
        async with self._db.transaction() as conn:
            await sql.run(conn, "settle_announcement", project_id=project_id, promise=promise, due=due_ns)


def _promise(row: Record) -> StoredPromise:
    return StoredPromise(
        id=row["promise_id"],
        kind=row["kind"],
        run=None if row["run_id"] is None else row["run_id"].hex,
        body=json.loads(row["body"]),
        created_ns=row["created_ns"],
        deadline_ns=row["deadline_ns"],
        answer=None if row["answer"] is None else json.loads(row["answer"]),
        answered_ns=row["answered_ns"],
    )

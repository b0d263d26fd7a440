"""serve → [store] → forward: promises, the answers that runs wait for. Each promise is answered at most once."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from asyncpg import Record

from playhead.model.promises import INTERRUPT
from playhead_collector.json_bytes import json_bytes
from playhead_collector.store.ports.promises import StoredPromise
from playhead_collector.store.postgres import outcomes
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.runs import id_of

# 90 days. Decisions about a run are also in its events; `playhead promises --all` lists the rows of this table.
_KEEP_SECONDS = 7_776_000.0
_MOST_OF_A_RUN = 100


@dataclass(frozen=True, slots=True)
class Announcement:
    """An open promise to send to the webhook, and its project. `attempt`: the number of this attempt, from 1."""

    project_id: int
    project: str
    promise: StoredPromise
    attempt: int


class PostgresPromises:
    """Promises of runs.  All methods raise StoreUnavailable."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def open(
        self, project_id: int, promise: str, kind: str, run: str | None, body: dict[str, Any], seconds: float | None
    ) -> StoredPromise:
        """Opens the promise until `seconds` from now (None: without a deadline) and returns it. If it exists already,
        changes nothing and returns the stored promise with its answer."""
        async with self._db.transaction() as conn:
            await sql.run(conn, "forget_promises", project_id=project_id, seconds=_KEEP_SECONDS)
            of_run = None if run is None else id_of(run)
            text = json_bytes(body).decode()
            parameters = {"promise": promise, "kind": kind, "run": of_run, "body": text, "seconds": seconds}
            is_new = await sql.run(conn, "open_promise", project_id=project_id, **parameters) > 0
            row = await sql.row(conn, "promise", project_id=project_id, promise=promise)
            if is_new and of_run is not None:
                await outcomes.refresh(conn, project_id, [of_run])
        if row is None:
            raise LookupError("a promise that was just opened is not there")
        return _promise(row)

    async def answer(self, project_id: int, promise: str, answer: dict[str, Any], *, late: bool) -> bool:
        """Stores the answer. Returns False if the promise has an answer, its deadline has passed, or it does not exist.

        `late`: the answer is that nobody answered in time; it is stored even after the deadline.
        """
        text = json_bytes(answer).decode()
        async with self._db.transaction() as conn:
            row = await sql.row(
                conn, "answer_promise", project_id=project_id, promise=promise, answer=text, is_late=late
            )
            if row is not None and row["run_id"] is not None:
                await outcomes.refresh(conn, project_id, [row["run_id"]])
        return row is not None

    async def get(self, project_id: int, promise: str) -> StoredPromise | None:
        """Returns the promise; None if it does not exist."""
        async with self._db.reading() as conn:
            row = await sql.row(conn, "promise", project_id=project_id, promise=promise)
        return None if row is None else _promise(row)

    async def page(
        self,
        project_id: int,
        *,
        kind: str | None,
        run: str | None,
        is_open: bool | None,
        after: tuple[int, str],
        limit: int,
    ) -> Sequence[StoredPromise]:
        """Returns promises that meet all conditions (None: any), oldest first. `after`: creation time in ns and id of
        the last promise of the previous page."""
        of_run = None if run is None else id_of(run)
        where = {"kind": kind, "run": of_run, "open": is_open, "after_ns": after[0], "after_promise": after[1]}
        async with self._db.reading() as conn:
            return [
                _promise(row) for row in await sql.rows(conn, "promises", project_id=project_id, most=limit, **where)
            ]

    async def open_of(self, project_id: int, run: str) -> Sequence[StoredPromise]:
        """Returns what a run waits for, oldest first, at most 100. A request that it stops is not among it."""
        promises = await self.page(
            project_id, kind=None, run=run, is_open=True, after=(0, ""), limit=2 * _MOST_OF_A_RUN
        )
        return [promise for promise in promises if promise.kind != INTERRUPT][:_MOST_OF_A_RUN]

    async def take_announcement(self, now_ns: int, until_ns: int, max_age_s: float) -> Announcement | None:
        """Returns the open promise of any project whose announcement has been due for longest, if it is no older than
        `max_age_s`. No other worker gets it until `until_ns`.  None: nothing is due.  Raises StoreUnavailable."""
        parameters = {"now": now_ns, "until": until_ns, "max_age": max_age_s}
        async with self._db.transaction() as conn:
            row = await sql.row(conn, "take_announcement", **parameters)
        if row is None:
            return None
        return Announcement(row["project_id"], row["project"], _promise(row), row["announce_attempts"])

    async def drop_announcements(self, now_ns: int, max_age_s: float) -> Sequence[str]:
        """Cancels announcements that are due, of open promises that are older than `max_age_s` or whose deadline has
        passed. Returns the ids of these promises, at most a hundred per call.  Raises StoreUnavailable."""
        async with self._db.transaction() as conn:
            return await sql.column(conn, "drop_announcements", now=now_ns, max_age=max_age_s)

    async def settle_announcement(self, project_id: int, promise: str, due_ns: int | None) -> None:
        """Sets when the announcement is due again. None: the promise was announced, or announcing is given up."""
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

"""ingest → [store] → forward: one outbox per destination. Ingest adds entries, workers send and remove them."""

from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

from asyncpg import Record

from playhead.model.span import LogEvent, Span
from playhead.projection.scores import evaluations_on
from playhead_collector.store.packing import span_pages
from playhead_collector.store.packing.span_pages import join, log_key, span_key, split
from playhead_collector.store.ports.outbox import (
    OutboxDeadLetter,
    OutboxEntry,
    OutboxSettlement,
    OutboxStatus,
    Remaining,
)
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.packs import PartReader
from playhead_collector.store.postgres.recipients import Recipient
from playhead_collector.store.postgres.runs import id_of, without_nul
from playhead_collector.store.postgres.scores import posted
from playhead_collector.store.postgres.spans import read_spans
from playhead_collector.store.postgres.statements import Conn

_ALL_RUNS = 1 << 56


class PostgresOutbox:
    """Stores spans and log events that wait to be forwarded.  Several collectors may work on an outbox at the same
    time.  All methods raise StoreUnavailable."""

    def __init__(self, db: Database, clock: Callable[[], int], parts: PartReader | None = None) -> None:
        """`parts` reads the object store, where records of cold runs are."""
        self._parts = parts
        self._db = db
        self._clock = clock

    async def claim(self, destination: str, limit: int, until_ns: int) -> Sequence[OutboxEntry]:
        """Returns due entries, longest waiting first. No other worker gets them before `until_ns`. If the worker that
        took them dies, another one gets them after that time."""
        parameters = {"destination": destination, "now": self._clock(), "until": until_ns, "how_many": limit}
        async with self._db.transaction() as conn:
            rows = await sql.rows(conn, "take_entries", **parameters)
        return sorted(map(_entry, rows), key=lambda entry: entry.number)

    async def renew(self, entries: Sequence[OutboxEntry], until_ns: int) -> None:
        """Extends the time until which no other worker gets these entries to `until_ns`."""
        async with self._db.transaction() as conn:
            await sql.run(conn, "keep_entries", entries=[entry.number for entry in entries], until=until_ns)

    async def items(self, entry: OutboxEntry) -> tuple[Sequence[Span], Sequence[LogEvent]]:
        """Returns the entry's ended spans by start time, and its log events by time. Deleted items are left out.
        Evaluations that are recorded on its spans are among the log events
        (`playhead.projection.scores.evaluations_on`)."""
        run = UUID(entry.run)
        page = None
        async with self._db.reading() as conn:
            if entry.page is not None:
                row = await sql.row(conn, "outbox_page", project_id=entry.project_id, run=run, digest=UUID(entry.page))
                page = None if row is None else span_pages.unpack(row["page"], row["body"])
            # Pages are rewritten while a run goes on. If the page no longer exists, all of the run is read.
            merged = (
                span_pages.merge([page])
                if page is not None
                else await read_spans(conn, entry.project_id, run, self._parts)
            )
            all_logs = merged.logs if page is not None else [*merged.logs, *await posted(conn, entry.project_id, run)]
        all_logs = [*all_logs, *(evaluation for span in merged.spans for evaluation in evaluations_on(span))]
        spans = [span for span in merged.spans if span.end_ns is not None and _wanted(entry.spans, span_key(span))]
        logs = [log for log in all_logs if _wanted(entry.logs, log_key(log))] if entry.logs != frozenset() else []
        return spans, logs

    async def finish(self, settlement: OutboxSettlement) -> None:
        """Stores the results of entries, in one transaction."""
        async with self._db.transaction() as conn:
            if settlement.dead:
                await _move_to_dead_letters(conn, settlement.dead)
            if settlement.later:
                await _postpone(conn, settlement.later)
            if settlement.done:
                await sql.run(conn, "delete_entries", entries=[item.number for item in settlement.done])

    async def status(self) -> Sequence[OutboxStatus]:
        """Returns the numbers of each destination that has entries."""
        async with self._db.reading() as conn:
            return [OutboxStatus(*row.values()) for row in await sql.rows(conn, "outbox_status")]

    async def dead_letters(self, destination: str, limit: int, after: int = 0) -> Sequence[OutboxDeadLetter]:
        """Returns dead letters of the destination, oldest first. `after`: the number of the last one of the previous
        page."""
        parameters = {"destination": destination, "after": after, "how_many": limit}
        async with self._db.reading() as conn:
            return [_dead_letter(row) for row in await sql.rows(conn, "dead_letters", **parameters)]

    async def retry_dead(self, destination: str, numbers: Sequence[int] | None = None) -> int:
        """Makes dead letters (None: all) due again. Returns how many."""
        parameters = {"destination": destination, "entries": numbers, "now": self._clock()}
        async with self._db.transaction() as conn:
            return await sql.run(conn, "retry_dead", **parameters)

    async def drop(self, destination: str, numbers: Sequence[int] | None, *, waiting: bool) -> int:
        """Deletes dead letters, with `waiting` also waiting entries. `numbers`: only these (None: all). Returns how
        many."""
        parameters = {"destination": destination, "entries": numbers, "waiting": waiting}
        async with self._db.transaction() as conn:
            return await sql.run(conn, "drop_entries", **parameters)

    async def backfill(self, project_id: int, recipient: Recipient, run: str | None, since_ns: int) -> int:
        """Adds stored data to the outbox: of this run, or (None) of all runs in the sample that began since `since_ns`.
        Returns the number of runs."""
        parameters = {
            "project_id": project_id,
            "destination": recipient.name,
            "logs": None if recipient.logs or recipient.calls_in_logs else b"",
            "now": self._clock(),
        }
        async with self._db.transaction() as conn:
            if run is not None:
                return await sql.run(conn, "backfill_run", run=id_of(run), **parameters)
            least = int(min(recipient.sample, 1.0) * _ALL_RUNS)
            return await sql.run(conn, "backfill_since", since=since_ns, least=least, **parameters)

    async def expire(self, destination: str, before_ns: int, max_items: int) -> int:
        """Deletes entries from before `before_ns`, and the oldest entries as long as there are more than
        `max_items` spans and log events. Includes dead letters. Returns how many spans and log events the deleted
        entries named."""
        async with self._db.transaction() as conn:
            old = await sql.column(conn, "expire_old", destination=destination, before=before_ns)
            return sum(old) + sum(await sql.column(conn, "expire_beyond", destination=destination, most=max_items))

    async def forget_destinations(self, configured: Sequence[str], before_ns: int) -> int:
        """Deletes entries from before `before_ns`, of all destinations that are not `configured`. Returns how
        many."""
        async with self._db.transaction() as conn:
            return await sql.run(conn, "forget_destinations", known=list(configured), before=before_ns)


def _entry(row: Record) -> OutboxEntry:
    return OutboxEntry(
        number=row["entry"],
        project_id=row["project_id"],
        run=row["run_id"].hex,
        created_ns=row["created_ns"],
        attempts=row["attempts"] - 1,
        spans=None if row["spans"] is None else frozenset(split(row["spans"])),
        logs=None if row["logs"] is None else frozenset(split(row["logs"])),
        page=None if row["digest"] is None else row["digest"].hex,
    )


def _wanted(keys: frozenset[bytes] | None, key: bytes) -> bool:
    return keys is None or key in keys


def _joined(keys: Iterable[bytes] | None) -> bytes | None:
    return None if keys is None else join(keys)


async def _move_to_dead_letters(conn: Conn, dead: Sequence[Remaining]) -> None:
    rows = await sql.rows(conn, "destinations_of", entries=[remaining.entry.number for remaining in dead])
    destinations = {row["entry"]: row["destination"] for row in rows}
    # Without entries that were dropped meanwhile.
    existing = [remaining for remaining in dead if remaining.entry.number in destinations]
    await sql.run(
        conn,
        "bury_entries",
        destinations=[destinations[remaining.entry.number] for remaining in existing],
        projects=[remaining.entry.project_id for remaining in existing],
        runs=[UUID(remaining.entry.run) for remaining in existing],
        spans=[_joined(remaining.spans) for remaining in existing],
        logs=[_joined(remaining.logs) for remaining in existing],
        created=[remaining.entry.created_ns for remaining in existing],
        reasons=[without_nul(remaining.reason or "") for remaining in existing],
    )


async def _postpone(conn: Conn, later: Sequence[Remaining]) -> None:
    await sql.run(
        conn,
        "postpone_entries",
        entries=[item.entry.number for item in later],
        dues=[item.due_ns for item in later],
        spans=[_joined(item.spans) for item in later],
        logs=[_joined(item.logs) for item in later],
        attempts=[item.entry.attempts + item.counts for item in later],
    )


def _dead_letter(row: Record) -> OutboxDeadLetter:
    return OutboxDeadLetter(
        row["entry"],
        row["run_id"].hex,
        row["reason"],
        row["created_ns"],
        [key.hex() for key in split(row["spans"] or b"")],
        len(split(row["logs"] or b"")),
    )

"""[outbox] → forward: entries for workers, and their results.  See `ports.forwarding`."""

from collections.abc import Iterable, Sequence
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
    Recipient,
    Remaining,
)
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.projecting import read_spans
from playhead_collector.store.postgres.runs import without_nul
from playhead_collector.store.postgres.scores import posted
from playhead_collector.store.postgres.statements import Conn

_ALL_RUNS = 1 << 56


async def claim(conn: Conn, destination: str, limit: int, now_ns: int, until_ns: int) -> list[OutboxEntry]:
    """See `OutboxStore.claim_entries`."""
    parameters = {"destination": destination, "now": now_ns, "until": until_ns, "how_many": limit}
    rows = await sql.rows(conn, "take_entries", **parameters)
    return sorted(map(_entry, rows), key=lambda entry: entry.number)


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


async def items(conn: Conn, entry: OutboxEntry) -> tuple[list[Span], list[LogEvent]]:
    """See `OutboxStore.entry_items`."""
    run = UUID(entry.run)
    page = None
    if entry.page is not None:
        row = await sql.row(conn, "outbox_page", project_id=entry.project_id, run=run, digest=UUID(entry.page))
        page = None if row is None else span_pages.unpack(row["page"], row["body"])
    # Pages are rewritten while a run goes on. If the page no longer exists, all of the run is read.
    merged = span_pages.merge([page]) if page is not None else await read_spans(conn, entry.project_id, run)
    all_logs = merged.logs if page is not None else [*merged.logs, *await posted(conn, entry.project_id, run)]
    all_logs = [*all_logs, *(evaluation for span in merged.spans for evaluation in evaluations_on(span))]
    spans = [span for span in merged.spans if span.end_ns is not None and _wanted(entry.spans, span_key(span))]
    logs = [log for log in all_logs if _wanted(entry.logs, log_key(log))] if entry.logs != frozenset() else []
    return spans, logs


def _wanted(keys: frozenset[bytes] | None, key: bytes) -> bool:
    return keys is None or key in keys


async def finish(conn: Conn, settlement: OutboxSettlement) -> None:
    """See `OutboxStore.finish_entries`."""
    if settlement.dead:
        await _move_to_dead_letters(conn, settlement.dead)
    if settlement.later:
        later = settlement.later
        await sql.run(
            conn,
            "postpone_entries",
            entries=[item.entry.number for item in later],
            dues=[item.due_ns for item in later],
            spans=[_joined(item.spans) for item in later],
            logs=[_joined(item.logs) for item in later],
            attempts=[item.entry.attempts + item.counts for item in later],
        )
    if settlement.done:
        await sql.run(conn, "delete_entries", entries=[item.number for item in settlement.done])


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


async def status(conn: Conn) -> list[OutboxStatus]:
    """See `OutboxStore.outbox_status`."""
    return [OutboxStatus(*row.values()) for row in await sql.rows(conn, "outbox_status")]


async def dead_letters(conn: Conn, destination: str, limit: int, after: int) -> list[OutboxDeadLetter]:
    """See `OutboxStore.dead_letters`."""
    parameters = {"destination": destination, "after": after, "how_many": limit}
    return [
        OutboxDeadLetter(
            row["entry"],
            row["run_id"].hex,
            row["reason"],
            row["created_ns"],
            [key.hex() for key in split(row["spans"] or b"")],
            len(split(row["logs"] or b"")),
        )
        for row in await sql.rows(conn, "dead_letters", **parameters)
    ]


async def backfill(
    conn: Conn, project_id: int, recipient: Recipient, run: UUID | None, since_ns: int, now_ns: int
) -> int:
    """See `OutboxStore.backfill`."""
    parameters = {
        "project_id": project_id,
        "destination": recipient.name,
        "logs": None if recipient.logs or recipient.calls_in_logs else b"",
        "now": now_ns,
    }
    if run is not None:
        return await sql.run(conn, "backfill_run", run=run, **parameters)
    least = int(min(recipient.sample, 1.0) * _ALL_RUNS)
    return await sql.run(conn, "backfill_since", since=since_ns, least=least, **parameters)


async def expire(conn: Conn, destination: str, before_ns: int, max_items: int) -> int:
    """See `OutboxStore.expire_entries`."""
    old = await sql.column(conn, "expire_old", destination=destination, before=before_ns)
    return sum(old) + sum(await sql.column(conn, "expire_beyond", destination=destination, most=max_items))

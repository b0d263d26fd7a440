"""retain → [store]: policies and pins, and the moves of runs from tier to tier.

A move is one transaction for some runs: they are locked and looked at again, their new form is written, their rows are
deleted, and the audit says so. A collector that is killed before the commit has changed nothing; after it, all is done.
Contents that no run names any more are left to the sweep, which begins a grace period later.

Ingest does not wait for a move: what it adds meanwhile stands in rows of its own, and brings the run back into rows
when it is projected (`packed_runs.thaw`). Only deleting and archiving exclude writers, as a deletion by hand does.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from asyncpg import Record

from playhead.model.event import RunEvent
from playhead_collector.store.packing import packed_runs
from playhead_collector.store.packing.packed_runs import PlainEventPage, WholeRecord
from playhead_collector.store.packing.thinned_events import kept_refs, stripped
from playhead_collector.store.ports.tiers import Move, RemovalRow, RunAge, StoredPin, Tier
from playhead_collector.store.postgres import changes, events, garbage, search_blocks
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database, begin_exclusive_write
from playhead_collector.store.postgres.objects import ObjectState, PostgresObjects
from playhead_collector.store.postgres.packed_runs import (
    PURPOSE,
    Decrypt,
    RecordsElsewhere,
    StoredRecord,
    bring_back,
    digest_list,
    read_records,
)
from playhead_collector.store.postgres.packs import decryption
from playhead_collector.store.postgres.runs import BIGINT, id_of, without_nul
from playhead_collector.store.postgres.statements import Conn

_LOCK_TIMEOUT_MS = 2_000
_MOST_ATTEMPTS = 3
_NO_RUN = UUID(int=0)


class PostgresTiers:
    """Implements `ports.tiers.TierStore`."""

    def __init__(self, db: Database, clock: Callable[[], int], objects: PostgresObjects) -> None:
        self._db = db
        self._clock = clock
        self._objects = objects

    async def policies(self) -> Mapping[int, str]:
        async with self._db.reading() as conn:
            return {row["project_id"]: row["retention"] for row in await sql.rows(conn, "policies")}

    async def policy(self, project_id: int) -> str | None:
        async with self._db.reading() as conn:
            row = await sql.row(conn, "policy", project_id=project_id)
        return None if row is None else row["retention"]

    async def set_policy(self, project_id: int, policy: str | None) -> None:
        async with self._db.transaction() as conn:
            await sql.run(conn, "set_policy", project_id=project_id, policy=policy)

    async def runs_after(
        self, project_id: int, after: str | None, *, ended_before_ns: int, limit: int
    ) -> Sequence[RunAge]:
        start = _NO_RUN if after is None else id_of(after)
        bounds = {"after": start, "ended_before": ended_before_ns, "how_many": limit}
        async with self._db.reading() as conn:
            return list(map(_run_age, await sql.rows(conn, "run_ages_after", project_id=project_id, **bounds)))

    async def run_age(self, project_id: int, run: str) -> RunAge | None:
        async with self._db.reading() as conn:
            row = await sql.row(conn, "run_ages", project_id=project_id, runs=[id_of(run)])
        return None if row is None else _run_age(row)

    async def sizes(self, project_id: int, runs: Sequence[str]) -> Mapping[str, int]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "record_sizes", project_id=project_id, runs=[id_of(run) for run in runs])
        return {row["run_id"].hex: row["bytes"] for row in rows}

    async def move(
        self, project_id: int, runs: Sequence[str], to: Tier, choose: Callable[[RunAge], Move | None]
    ) -> Sequence[RemovalRow]:
        ids = [id_of(run) for run in runs]
        for _ in range(_MOST_ATTEMPTS):
            try:
                return await self._db.transact(lambda conn: _move(conn, project_id, ids, to, choose, self._clock()))
            except RecordsElsewhere as elsewhere:
                await bring_back(self._db, self._objects, project_id, elsewhere.runs)
        return ()  # another collector moves them at the same time

    async def packs_to_warm(self, project_id: int, after: int, limit: int) -> Sequence[int]:
        async with self._db.reading() as conn:
            return await sql.column(conn, "packs_to_warm", project_id=project_id, after=after, how_many=limit)

    async def move_records(self, project_id: int, after: str | None, limit: int) -> str | None:
        async with self._db.reading() as conn:
            start = _NO_RUN if after is None else id_of(after)
            rows = await sql.rows(conn, "packed_here", project_id=project_id, after=start, how_many=limit)
            decrypt = await decryption(conn, project_id, PURPOSE)
        if not rows:
            return None
        kept = await asyncio.to_thread(_all_kept, rows, decrypt)
        located = await self._objects.put_parts(project_id, {row["run_id"]: row["body"] for row in rows})
        places = list(located.values())

        async def point(conn: Conn) -> None:
            await sql.run(
                conn, "point_packed", project_id=project_id, runs=list(located), kept=[kept[run] for run in located],
                objects=[place.object for place in places], starts=[place.start for place in places],
                lengths=[place.length for place in places], digests=[place.digest for place in places],
            )  # fmt: skip
            await self._objects.publish_moved(conn, places, ObjectState.POINTED)

        await self._db.transact(point)
        return rows[-1]["run_id"].hex if len(rows) == limit else None

    async def tiers(self, project_id: int) -> Mapping[Tier, int]:
        async with self._db.reading() as conn:
            return {Tier(row["tier"]): row["runs"] for row in await sql.rows(conn, "tiers", project_id=project_id)}

    async def pin(self, project_id: int, run: str, reason: str | None, api_key: str | None) -> StoredPin | None:
        columns = {"reason": None if reason is None else without_nul(reason), "api_key": api_key}
        async with self._db.transaction() as conn:
            row = await sql.row(conn, "write_pin", project_id=project_id, run=id_of(run), **columns)
        return None if row is None else StoredPin(*row)

    async def unpin(self, project_id: int, run: str) -> bool:
        async with self._db.transaction() as conn:
            return await sql.run(conn, "delete_pin", project_id=project_id, run=id_of(run)) > 0

    async def pin_of(self, project_id: int, run: str) -> StoredPin | None:
        async with self._db.reading() as conn:
            row = await sql.row(conn, "pin", project_id=project_id, run=id_of(run))
        return None if row is None else StoredPin(*row)

    async def removals(self, project_id: int, *, limit: int, before: int | None = None) -> Sequence[RemovalRow]:
        bounds = {"before": BIGINT if before is None else before, "how_many": limit}
        async with self._db.reading() as conn:
            return list(map(_removal, await sql.rows(conn, "removals", project_id=project_id, **bounds)))


def _run_age(row: Record) -> RunAge:
    labels: Sequence[str] = row["labels"]
    return RunAge(
        row["run_id"].hex,
        Tier(row["tier"]),
        row["ended_ns"],
        row["outcome"],
        tuple(label.removeprefix("agent:") for label in labels if label.startswith("agent:")),
        tuple(label.removeprefix("tag:") for label in labels if label.startswith("tag:")),
        settled=row["settled"],
        dirty=row["dirty"],
        has_rows=row["has_rows"],
        pinned=row["pinned"],
        waiting=row["waiting"],
        leased=row["leased"],
        fork_tier=None if row["fork_tier"] is None else Tier(row["fork_tier"]),
    )


def _removal(row: Record) -> RemovalRow:
    return RemovalRow(
        row["removal"],
        row["at_ns"],
        row["rule"],
        Tier(row["from_tier"]),
        Tier(row["to_tier"]),
        [run.hex for run in row["runs"]],
        row["contents"],
        row["bytes"],
    )


def _all_kept(rows: Sequence[Record], decrypt: Decrypt) -> dict[UUID, bytes]:
    """Returns what each of these packed runs keeps, so that no sweep has to read the object store."""
    return {
        row["run_id"]: row["kept"]
        if row["kept"] is not None
        else b"".join(sorted(StoredRecord(packed_runs.decode(decrypt(row["body"]))).named))
        for row in rows
    }


# --- moves -----------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Moving:
    """A run that moves. `packed` and `kept`: its row in `packed_run`; None: it gets none. `lost`: how many contents and
    threads it does not name any more; `freed`: bytes of its record that go."""

    run: UUID
    age: RunAge
    move: Move
    stored: StoredRecord
    packed: bytes | None = None
    kept: bytes | None = None
    lost: int = 0
    freed: int = 0


async def _move(
    conn: Conn,
    project_id: int,
    ids: Sequence[UUID],
    to: Tier,
    choose: Callable[[RunAge], Move | None],
    now_ns: int,
) -> Sequence[RemovalRow]:
    if to >= Tier.ARCHIVE:
        await begin_exclusive_write(conn, project_id, _LOCK_TIMEOUT_MS)
    locked = await sql.column(conn, "lock_to_thin", project_id=project_id, runs=ids)
    moving = await _chosen(conn, project_id, locked, to, choose)
    if not moving:
        return ()
    await asyncio.to_thread(_make_all, moving)
    runs = [entry.run for entry in moving]
    if to is Tier.DELETED:
        await garbage.delete_runs(conn, project_id, runs, now_ns)
    else:
        await _write_thinned(conn, project_id, to, moving, now_ns)
        await changes.notify(conn, project_id, runs)
    if any(entry.lost for entry in moving):
        await sql.run(conn, "sweep_later", project_id=project_id, now=now_ns)
    return await _note(conn, project_id, to, moving, now_ns)


async def _chosen(
    conn: Conn, project_id: int, locked: Sequence[UUID], to: Tier, choose: Callable[[RunAge], Move | None]
) -> list[_Moving]:
    """Returns those of the locked runs that go to this tier, as they are now, with their records."""
    ages = {
        row["run_id"]: _run_age(row) for row in await sql.rows(conn, "run_ages", project_id=project_id, runs=locked)
    }
    moves = {run: (age, move) for run, age in ages.items() if (move := choose(age)) is not None and move.tier == to}
    if not moves:
        return []
    records = await read_records(conn, project_id, list(moves))
    return [_Moving(run, age, move, records[run]) for run, (age, move) in moves.items()]


def _make_all(moving: Iterable[_Moving]) -> None:
    for entry in moving:
        _make(entry)


def _make(entry: _Moving) -> None:
    """Computes the new form of a run."""
    stored = entry.stored
    named = stored.named
    if entry.move.tier is Tier.DELETED:
        entry.lost, entry.freed = len(named), stored.size
        return
    own = [event for page in stored.record.events for event in events.unpack(entry.run.hex, page.first, page.json)]
    if entry.move.tier is Tier.ARCHIVE:
        entry.packed, entry.kept, entry.lost = packed_runs.encode(_archived(own)), b"", len(named)
    else:
        entry.packed = packed_runs.encode(stored.record)
        if entry.move.contents != "all":
            kept = kept_refs(own, last_context=entry.move.contents == "last_context")
            entry.kept = digest_list(kept)
            entry.lost = len(named - {ref.digest for ref in kept})
    entry.freed = max(0, stored.size - len(entry.packed))


def _archived(own: Sequence[RunEvent]) -> WholeRecord:
    left = [stripped(event) for event in own]
    parts = [left[at : at + events.PAGE_EVENTS] for at in range(0, len(left), events.PAGE_EVENTS)]
    return WholeRecord(
        events=[
            PlainEventPage(number, part[0].seq, part[-1].seq, events.page_json(part))
            for number, part in enumerate(parts)
        ]
    )


async def _write_thinned(conn: Conn, project_id: int, to: Tier, moving: Sequence[_Moving], now_ns: int) -> None:
    runs = [entry.run for entry in moving]
    if to >= Tier.COLD:
        await search_blocks.lock(conn, project_id)
        await search_blocks.forget_runs(conn, project_id, runs)
        pages = [page for entry in moving for page in entry.stored.pages]
        await sql.run(conn, "forget_record", project_id=project_id, runs=runs, pages=pages)
        columns = {"kept": [entry.kept for entry in moving], "bodies": [entry.packed for entry in moving]}
        await sql.run(conn, "write_packed", project_id=project_id, runs=runs, **columns)
        if losing := [entry.run for entry in moving if entry.kept is not None]:
            await sql.run(conn, "forget_explanations", project_id=project_id, runs=losing)
    if to is Tier.ARCHIVE:
        await sql.run(conn, "archive_runs", project_id=project_id, runs=runs, now=now_ns)
    rules = [entry.move.rule for entry in moving]
    await sql.run(conn, "set_tier", project_id=project_id, runs=runs, tier=int(to), rules=rules, now=now_ns)


async def _note(conn: Conn, project_id: int, to: Tier, moving: Sequence[_Moving], now_ns: int) -> Sequence[RemovalRow]:
    """Writes the audit: a row for each rule and tier that these runs came from."""
    together: dict[tuple[str, Tier], list[_Moving]] = {}
    for entry in moving:
        together.setdefault((entry.move.rule, entry.age.tier), []).append(entry)
    noted: list[RemovalRow] = []
    for (rule, tier), entries in together.items():
        contents, freed = sum(entry.lost for entry in entries), sum(entry.freed for entry in entries)
        columns = {"rule": rule, "from_tier": int(tier), "to_tier": int(to), "contents": contents, "bytes": freed}
        runs = [entry.run for entry in entries]
        number = await sql.value(conn, "note_removal", project_id=project_id, now=now_ns, runs=runs, **columns)
        noted.append(RemovalRow(number, now_ns, rule, tier, to, [run.hex for run in runs], contents, freed))
    return noted

"""receive, lift → [store] → projection, read: implements the interfaces of `ports` on Postgres.

Most methods are one transaction or one statement.  Only data that never changes is cached in memory.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from playhead.model.canonical import Content
from playhead.model.event import RunEvent
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.state import RunState
from playhead.model.thread import ThreadNode
from playhead.projection.run_row import RunRow
from playhead.wire.pack import ThreadExtension
from playhead_collector.errors import ContentMissing
from playhead_collector.store.ports import (
    NO_CACHED_RUNS,
    Batch,
    CachedRun,
    Ingested,
    RunFilter,
    RunWork,
    StoredPage,
    ThreadNodes,
    UnpackedRun,
    UnprojectedRun,
)
from playhead_collector.store.ports.keys import ApiKey, MayRemove
from playhead_collector.store.ports.outbox import (
    OutboxDeadLetter,
    OutboxEntry,
    OutboxSettlement,
    OutboxStatus,
    Recipient,
)
from playhead_collector.store.ports.retention import Deleted, Swept
from playhead_collector.store.postgres import (
    changes,
    contents,
    events,
    garbage,
    ingest,
    keys,
    outbox,
    projecting,
    runs,
    sealing,
    threads,
)
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.cohorts import PostgresCohortStore
from playhead_collector.store.postgres.connection import Database, DatabaseTimeouts, begin_write
from playhead_collector.store.postgres.dictionaries import DictionaryTrainer
from playhead_collector.store.postgres.ingest import StoreMemory, StoreResult, date_of
from playhead_collector.store.postgres.leases import PostgresLeaseStore
from playhead_collector.store.postgres.promises import PostgresPromiseStore
from playhead_collector.store.postgres.runs import id_of
from playhead_collector.store.postgres.same_context import PostgresSameContextStore
from playhead_collector.store.postgres.scores import PostgresScoreStore
from playhead_collector.store.postgres.search import PostgresSearchStore
from playhead_collector.store.postgres.statements import Conn
from playhead_collector.store.postgres.storage import PostgresStorageStore
from playhead_collector.store.postgres.uses import PostgresUseStore, pack_and_index

POOL_SIZE = 10
# `event_pages` yields portions of this many events, with one round trip for each.
_PORTION = 4 * events.PAGE_EVENTS
# Packing more spans than this (30 us each) would block the event loop: a thread does it.
_BUSY_ITEMS = 1_000
_CONTENT_TABLES = ("content", "media_type", "dictionary", "thread_node", "thread_orphan", "content_pack")


async def connect(
    dsn: str,
    *,
    pool_size: int = POOL_SIZE,
    timeouts: DatabaseTimeouts = DatabaseTimeouts(),  # noqa: B008 - immutable
    clock: Callable[[], int] = time.time_ns,
    recipients: Sequence[Recipient] = (),
) -> "PostgresStore":
    """Opens a store on a database that has the schema. Raises StoreUnavailable.  `clock`: current time in ns since
    1970. `recipients`: the destinations in whose outboxes ingest enters what arrives."""
    return PostgresStore(await Database.open(dsn, pool_size, timeouts), clock, recipients)


class PostgresStore(
    PostgresSearchStore, PostgresSameContextStore, PostgresLeaseStore, PostgresScoreStore, PostgresCohortStore,
    PostgresUseStore, PostgresPromiseStore, PostgresStorageStore,
):  # fmt: skip
    """Implements `ports.Store`."""

    def __init__(self, db: Database, clock: Callable[[], int], recipients: Sequence[Recipient] = ()) -> None:
        super().__init__(db, clock)
        self._recipients = recipients
        self._memory = StoreMemory()
        self._dictionary_trainer = DictionaryTrainer(db, self._memory.packs.dictionaries)

    async def ready(self) -> None:
        await self._db.ready()

    async def close(self) -> None:
        await self._db.close()

    # --- content ------------------------------------------------------------------------------------------------------

    async def put(
        self, project_id: int, contents: Iterable[Content], threads: Iterable[ThreadExtension] = ()
    ) -> Sequence[ContentRef]:
        content_list, extensions, now = list(contents), list(threads), self._clock()

        async def attempt(conn: Conn) -> StoreResult:
            write_context = await begin_write(conn, project_id)
            stored = await ingest.put(conn, self._memory, write_context, content_list, extensions, date_of(now))
            await ingest.mark_waiting_runs(conn, project_id, stored.waiting, now)
            return stored

        stored = await self._db.transact(attempt)
        await self._dictionary_trainer.stored(project_id, stored.new_contents)
        return stored.unknown_parents

    async def missing(self, project_id: int, refs: Sequence[ContentRef]) -> Sequence[ContentRef]:
        async def attempt(conn: Conn) -> Sequence[ContentRef]:
            return await contents.missing(
                conn, self._memory.packs, await begin_write(conn, project_id), refs, date_of(self._clock())
            )

        return await self._db.transact(attempt)

    async def get(self, project_id: int, ref: ContentRef) -> Content:
        stored = (await self.get_many(project_id, [ref])).get(ref)
        if stored is None:
            raise ContentMissing(f"nothing is stored under {ref}: it has not arrived yet, or was deleted")
        return stored

    async def get_many(self, project_id: int, refs: Sequence[ContentRef]) -> Mapping[ContentRef, Content]:
        async with self._db.reading() as conn:
            return await contents.read(conn, self._memory.packs, project_id, refs)

    async def refs_with_prefix(self, project_id: int, prefixes: Sequence[bytes]) -> Sequence[ContentRef]:
        async with self._db.reading() as conn:
            return await contents.refs_with_prefix(conn, self._memory.packs, project_id, prefixes)

    async def is_awaited(self, project_id: int, ref: ContentRef) -> bool:
        async with self._db.reading() as conn:
            return await sql.value(conn, "is_awaited", project_id=project_id, ref=ref.digest)

    async def thread(self, project_id: int, ref: ContentRef) -> Sequence[ThreadNode]:
        async with self._db.reading() as conn:
            nodes = await threads.read(conn, self._memory.packs, project_id, ref)
        if not nodes:
            # Its parent may have been stored by a transaction that could not see that this thread waits for it.
            await self._db.transact(
                lambda conn: threads.store_orphans(
                    conn, self._memory.packs, self._memory.lineage_numbers, project_id, date_of(self._clock())
                )
            )
            async with self._db.reading() as conn:
                nodes = await threads.read(conn, self._memory.packs, project_id, ref)
        if not nodes:
            raise ContentMissing(f"no thread is stored under {ref}: it has not arrived yet, or was deleted")
        return nodes

    async def threads(self, project_id: int, refs: Sequence[ContentRef], most_nodes: int) -> ThreadNodes:
        async with self._db.reading() as conn:
            return await threads.read_together(conn, self._memory.packs, project_id, refs, most_nodes)

    async def epoch(self, project_id: int) -> str:
        async with self._db.reading() as conn:
            return await contents.epoch(conn, project_id)

    # --- spans --------------------------------------------------------------------------------------------------------

    async def ingest(self, project_id: int, batch: Batch) -> Ingested:
        busy = len(batch.spans) + len(batch.logs) > _BUSY_ITEMS
        by_run = await asyncio.to_thread(ingest.arrivals, batch) if busy else ingest.arrivals(batch)
        now = self._clock()
        ingested, stored = await self._db.transact(
            lambda conn: ingest.ingest(conn, self._memory, project_id, batch, by_run, now, self._recipients)
        )
        await self._dictionary_trainer.stored(project_id, stored.new_contents)
        return ingested

    async def spans(self, project_id: int, run: str) -> Sequence[Span]:
        async with self._db.reading() as conn:
            return (await projecting.read_spans(conn, project_id, id_of(run))).spans

    async def logs(self, project_id: int, run: str) -> Sequence[LogEvent]:
        async with self._db.reading() as conn:
            return (await projecting.read_spans(conn, project_id, id_of(run))).logs

    async def span_pages(self, project_id: int, run: str, *, after: int, limit: int) -> Sequence[StoredPage]:
        async with self._db.reading() as conn:
            return await projecting.read_span_pages(conn, project_id, id_of(run), after, limit)

    # --- events and runs ----------------------------------------------------------------------------------------------

    @asynccontextmanager
    async def locked_runs(
        self,
        project_id: int,
        runs: Sequence[str],
        *,
        wait: bool = True,
        cached: Mapping[str, CachedRun] = NO_CACHED_RUNS,
    ) -> AsyncGenerator[Sequence[RunWork]]:
        ids, now = [id_of(run) for run in runs], self._clock()
        async with projecting.locked_runs(
            self._db, self._memory, project_id, ids, cached, wait=wait, now_ns=now
        ) as run_works:
            yield run_works

    @asynccontextmanager
    async def locked_run(self, project_id: int, run: str) -> AsyncGenerator[RunWork | None]:
        async with self.locked_runs(project_id, [run]) as run_works:
            yield run_works[0] if run_works else None

    async def has_unprojected_data(self, project_id: int, run: str) -> bool | None:
        async with self._db.reading() as conn:
            news = await sql.row(conn, "news", project_id=project_id, run=id_of(run))
        return None if news is None else news["dirty"]

    async def unprojected_runs(self, limit: int) -> Sequence[UnprojectedRun]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "dirty_runs", how_many=limit)
        return [UnprojectedRun(project_id, run.hex, size) for project_id, run, size in rows]

    async def sealable_runs(self, quiet_since_ns: int, lost_since_ns: int, limit: int) -> Sequence[tuple[int, str]]:
        async with self._db.reading() as conn:
            rows = await sql.rows(
                conn, "sealable_runs", quiet_since=quiet_since_ns, lost_since=lost_since_ns, how_many=limit
            )
        return [(project_id, run.hex) for project_id, run in rows]

    async def seal(self, quiet_since_ns: int, limit: int) -> int:
        async with self._db.transaction() as conn:
            return len(await sql.rows(conn, "seal_runs", quiet_since=quiet_since_ns, how_many=limit))

    async def mark_lost(self, own_before_ns: int, foreign_before_ns: int, limit: int) -> int:
        times = {"own_before": own_before_ns, "foreign_before": foreign_before_ns}
        async with self._db.transaction() as conn:
            lost = await sql.rows(conn, "mark_lost", **times, how_many=limit)
            for project_id in {row["project_id"] for row in lost}:
                await changes.notify(
                    conn, project_id, [row["run_id"] for row in lost if row["project_id"] == project_id]
                )
        return len(lost)

    async def runs_to_pack(self, limit: int) -> Sequence[UnpackedRun]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "runs_to_pack", how_many=limit)
        return [UnpackedRun(project_id, run.hex, times) for project_id, run, times in rows]

    async def pack(self, due: Sequence[UnpackedRun]) -> int:
        moved = await pack_and_index(self._db, self._memory.packs, due, date_of(self._clock()))
        await self.skip_packing(due)
        return moved

    async def skip_packing(self, due: Sequence[UnpackedRun]) -> None:
        runs, times = [id_of(entry.run) for entry in due], [entry.times for entry in due]
        async with self._db.transaction() as conn:
            await sql.run(conn, "are_packed", project_id=due[0].project_id, runs=runs, times=times)

    async def shrink(self) -> bool:
        return await sealing.shrink(self._db)

    async def events(
        self, project_id: int, run: str, *, after: int = 0, upto: int | None = None, limit: int | None = None
    ) -> Sequence[RunEvent]:
        async with self._db.reading() as conn:
            return await events.read(conn, project_id, run, after=after, upto=upto, limit=limit)

    async def event_pages(self, project_id: int, run: str, after: int = 0) -> AsyncIterator[Sequence[RunEvent]]:
        while portion := await self.events(project_id, run, after=after, limit=_PORTION):
            yield portion
            after = portion[-1].seq

    async def seq_of(self, project_id: int, run: str, event_id: str) -> int | None:
        async with self._db.reading() as conn:
            return await events.seq_of(conn, project_id, run, event_id)

    async def explanation(self, project_id: int, subject: ContentRef, model: str | None = None) -> ContentRef | None:
        async with self._db.reading() as conn:
            digest = await sql.value(conn, "explanation", project_id=project_id, subject=subject.digest, model=model)
        return None if digest is None else ContentRef.from_digest(digest)

    async def keep_explanation(
        self, project_id: int, run: str, subject: ContentRef, model: str, explanation: Content
    ) -> None:
        await self.put(project_id, [explanation])
        columns = {"run": id_of(run), "subject": subject.digest, "content": explanation.ref.digest}
        async with self._db.transaction() as conn:
            await begin_write(conn, project_id)
            await sql.run(conn, "keep_explanation", project_id=project_id, model=model, **columns)

    async def snapshot(self, project_id: int, run: str, seq: int) -> RunState | None:
        async with self._db.reading() as conn:
            return await events.snapshot(conn, project_id, run, seq)

    async def run(self, project_id: int, run: str) -> RunRow | None:
        async with self._db.reading() as conn:
            return await runs.read(conn, project_id, run)

    async def runs(
        self, project_id: int, where: RunFilter, *, limit: int, before: tuple[int, str] | None = None
    ) -> Sequence[RunRow]:
        async with self._db.reading() as conn:
            return await runs.page(conn, project_id, where, limit, before)

    # --- deletion -----------------------------------------------------------------------------------------------------

    async def delete_run(self, project_id: int, run: str, *, forks: bool) -> Deleted:
        return await self._db.transact(
            lambda conn: garbage.delete(conn, project_id, id_of(run), self._clock(), forks=forks)
        )

    async def sweeps_due(self, grace_ns: int) -> Sequence[int]:
        async with self._db.reading() as conn:
            return await sql.column(conn, "sweeps_due", until=garbage.ripe_ns(self._clock(), grace_ns) - 1)

    async def sweep_step(self, project_id: int, grace_ns: int) -> Swept:
        return await self._db.transact(
            lambda conn: garbage.step(conn, self._memory.packs, project_id, self._clock(), grace_ns)
        )

    async def forget_tombstones(self, older_ns: int) -> int:
        async with self._db.transaction() as conn:
            return await sql.run(conn, "forget_tombstones", before=self._clock() - older_ns)

    # --- keys ---------------------------------------------------------------------------------------------------------

    async def keys(self, project_id: int) -> Sequence[ApiKey]:
        async with self._db.reading() as conn:
            return await keys.read(conn, project_id)

    async def add_key(
        self, project_id: int, name: str, prefix: str, digest: bytes, scopes: Sequence[str], seconds: float | None
    ) -> ApiKey:
        async with self._db.transaction() as conn:
            return await keys.add(conn, project_id, name, prefix, digest, scopes, seconds)

    async def remove_key(self, project_id: int, number: int, may_remove: MayRemove) -> bool:
        async with self._db.transaction() as conn:
            return await keys.remove(conn, project_id, number, may_remove)

    async def use_keys(self, project_id: int, numbers: Sequence[int]) -> None:
        async with self._db.transaction() as conn:
            await sql.run(conn, "use_keys", project_id=project_id, keys=list(numbers))

    # --- forwarding ---------------------------------------------------------------------------------------------------

    async def claim_entries(self, destination: str, limit: int, until_ns: int) -> Sequence[OutboxEntry]:
        async with self._db.transaction() as conn:
            return await outbox.claim(conn, destination, limit, self._clock(), until_ns)

    async def renew_entries(self, entries: Sequence[OutboxEntry], until_ns: int) -> None:
        async with self._db.transaction() as conn:
            await sql.run(conn, "keep_entries", entries=[entry.number for entry in entries], until=until_ns)

    async def entry_items(self, entry: OutboxEntry) -> tuple[Sequence[Span], Sequence[LogEvent]]:
        async with self._db.reading() as conn:
            return await outbox.items(conn, entry)

    async def finish_entries(self, settlement: OutboxSettlement) -> None:
        async with self._db.transaction() as conn:
            await outbox.finish(conn, settlement)

    async def outbox_status(self) -> Sequence[OutboxStatus]:
        async with self._db.reading() as conn:
            return await outbox.status(conn)

    async def dead_letters(self, destination: str, limit: int, after: int = 0) -> Sequence[OutboxDeadLetter]:
        async with self._db.reading() as conn:
            return await outbox.dead_letters(conn, destination, limit, after)

    async def retry_dead(self, destination: str, numbers: Sequence[int] | None = None) -> int:
        async with self._db.transaction() as conn:
            parameters = {"destination": destination, "entries": numbers, "now": self._clock()}
            return await sql.run(conn, "retry_dead", **parameters)

    async def drop_entries(self, destination: str, numbers: Sequence[int] | None, *, waiting: bool) -> int:
        async with self._db.transaction() as conn:
            parameters = {"destination": destination, "entries": numbers, "waiting": waiting}
            return await sql.run(conn, "drop_entries", **parameters)

    async def backfill(self, project_id: int, recipient: Recipient, run: str | None, since_ns: int) -> int:
        async with self._db.transaction() as conn:
            number = None if run is None else id_of(run)
            return await outbox.backfill(conn, project_id, recipient, number, since_ns, self._clock())

    async def expire_entries(self, destination: str, before_ns: int, max_items: int) -> int:
        async with self._db.transaction() as conn:
            return await outbox.expire(conn, destination, before_ns, max_items)

    async def forget_destinations(self, configured: Sequence[str], before_ns: int) -> int:
        async with self._db.transaction() as conn:
            return await sql.run(conn, "forget_destinations", known=list(configured), before=before_ns)

    # --- figures ------------------------------------------------------------------------------------------------------

    async def counts(self) -> Mapping[str, Any]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "sizes")
        tables = {row["name"]: {"rows": row["rows"], "bytes": row["bytes"]} for row in rows}
        return {
            "content_bytes": sum(tables[name]["bytes"] for name in _CONTENT_TABLES),
            "database_bytes": sum(table["bytes"] for table in tables.values()),
            "tables": tables,
        }

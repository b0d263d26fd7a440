"""receive, lift → [store] → read: spans and log events, which a run has in pages."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from uuid import UUID

from asyncpg import Record

from playhead.model.span import LogEvent, Span
from playhead_collector.store.packing import span_pages
from playhead_collector.store.packing.span_pages import MergedSpans, SpanPage
from playhead_collector.store.ports.spans import Batch, Ingested, StoredPage
from playhead_collector.store.postgres import ingest, packed_runs, packs
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.dictionaries import DictionaryTrainer
from playhead_collector.store.postgres.ingest import StoreMemory
from playhead_collector.store.postgres.recipients import Recipient
from playhead_collector.store.postgres.runs import id_of
from playhead_collector.store.postgres.statements import Conn

# Packing more spans than this (30 us each) would block the event loop: a thread does it.
_BUSY_ITEMS = 1_000
# The same for decoding more bytes than this.
_BUSY_BYTES = 16 * 1024


class PostgresSpans:
    """Implements `ports.spans.SpanReader`, and stores what it reads."""

    def __init__(
        self,
        db: Database,
        clock: Callable[[], int],
        memory: StoreMemory,
        dictionary_trainer: DictionaryTrainer,
        recipients: Sequence[Recipient],
    ) -> None:
        self._db = db
        self._clock = clock
        self._memory = memory
        self._dictionary_trainer = dictionary_trainer
        self._recipients = recipients

    async def ingest(self, project_id: int, batch: Batch) -> Ingested:
        """Stores the batch in one transaction; it is durable once this returns. Records which runs have data that is
        not projected.

        Storing the same span or log event twice changes nothing. An ended span replaces its announcement (`end_ns`
        None), never the other way round. Raises StoreUnavailable.
        """
        busy = len(batch.spans) + len(batch.logs) > _BUSY_ITEMS
        by_run = await asyncio.to_thread(ingest.arrivals, batch) if busy else ingest.arrivals(batch)
        now = self._clock()
        ingested, stored = await self._db.transact(
            lambda conn: ingest.ingest(conn, self._memory, project_id, batch, by_run, now, self._recipients)
        )
        await self._dictionary_trainer.stored(project_id, stored.new_contents)
        return ingested

    async def read(self, project_id: int, run: str) -> Sequence[Span]:
        async with self._db.reading() as conn:
            return (await read_spans(conn, project_id, id_of(run), self._memory.packs.part_reader)).spans

    async def logs(self, project_id: int, run: str) -> Sequence[LogEvent]:
        async with self._db.reading() as conn:
            return (await read_spans(conn, project_id, id_of(run), self._memory.packs.part_reader)).logs

    async def pages(self, project_id: int, run: str, *, after: int, limit: int) -> Sequence[StoredPage]:
        run_id = id_of(run)
        parameters = {"run": run_id, "after": after, "how_many": limit}
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "read_pages_after", project_id=project_id, **parameters)
            pages = [(row["page"], row["body"]) for row in rows]
            if not pages:  # read to the end, or thinned
                packed = await packed_runs.span_bodies(conn, project_id, run_id, self._memory.packs.part_reader)
                pages = [page for page in packed if page[0] > after][:limit]
        return await asyncio.to_thread(_merged_pages, pages)


async def read_spans(conn: Conn, project_id: int, run: UUID, parts: packs.PartReader | None = None) -> MergedSpans:
    """Returns the valid versions of all spans and log events of a run. `parts` reads the object store."""
    rows = await sql.rows(conn, "read_pages", project_id=project_id, runs=[run], seen=[])
    if not rows:
        packed = await packed_runs.span_bodies(conn, project_id, run, parts)
        return await asyncio.to_thread(lambda: span_pages.merge([span_pages.unpack(*page) for page in packed]))
    return (await unpack_spans(rows, [run]))[run][1]


async def unpack_spans(rows: Sequence[Record], ids: Iterable[UUID]) -> dict[UUID, tuple[list[SpanPage], MergedSpans]]:
    """Returns the pages in these rows, and the valid versions of their items, of each of these runs."""
    if sum(len(row["body"]) for row in rows) > _BUSY_BYTES:
        return await asyncio.to_thread(_unpack, rows, ids)
    return _unpack(rows, ids)


def _unpack(rows: Sequence[Record], ids: Iterable[UUID]) -> dict[UUID, tuple[list[SpanPage], MergedSpans]]:
    pages: dict[UUID, list[SpanPage]] = {run: [] for run in ids}
    for row in rows:
        pages[row["run_id"]].append(span_pages.unpack(row["page"], row["body"]))
    return {run: (run_pages, span_pages.merge(run_pages)) for run, run_pages in pages.items()}


def _merged_pages(pages: Sequence[tuple[int, bytes]]) -> list[StoredPage]:
    """Returns each of these pages, with one version of each of its items."""
    merged = [(number, span_pages.merge([span_pages.unpack(number, body)])) for number, body in pages]
    return [StoredPage(number, items.spans, items.logs) for number, items in merged]

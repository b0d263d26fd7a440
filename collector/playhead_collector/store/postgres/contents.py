"""receive, lift → [store] → read: contents and threads under their refs, and the explanations of contents."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead.wire.pack import ThreadExtension
from playhead_collector.errors import ContentForgotten, ContentMissing
from playhead_collector.store.ports.contents import ContentFacts, ThreadNodes
from playhead_collector.store.postgres import content_rows, ingest, threads, tombstones
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database, begin_write
from playhead_collector.store.postgres.dictionaries import DictionaryTrainer
from playhead_collector.store.postgres.ingest import StoreMemory, StoreResult, date_of
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.runs import id_of
from playhead_collector.store.postgres.statements import Conn


class PostgresContents:
    """Implements `ports.contents.ContentReader`, and stores what it reads."""

    def __init__(
        self, db: Database, clock: Callable[[], int], memory: StoreMemory, dictionary_trainer: DictionaryTrainer
    ) -> None:
        self._db = db
        self._clock = clock
        self._memory = memory
        self._dictionary_trainer = dictionary_trainer

    # --- writing ------------------------------------------------------------------------------------------------------

    async def put(
        self,
        project_id: int,
        contents: Iterable[Content],
        threads: Iterable[ThreadExtension] = (),
        unproven: Collection[bytes] = (),
    ) -> Sequence[ContentRef]:
        """Stores contents and threads durably. Storing the same again changes only `last_seen`.

        Returns the parents of extensions whose parent is not stored. Such extensions are kept, and become readable once
        the parent arrives. `unproven`: digests in the refs of contents that came masked, which replace nothing. Raises
        StoreUnavailable.
        """
        content_list, extensions, now = list(contents), list(threads), self._clock()

        async def attempt(conn: Conn) -> StoreResult:
            write_context = await begin_write(conn, project_id)
            stored = await ingest.put(
                conn, self._memory, write_context, content_list, extensions, date_of(now), unproven
            )
            await ingest.mark_waiting_runs(conn, project_id, stored.waiting, now)
            return stored

        stored = await self._db.transact(attempt)
        await self._dictionary_trainer.stored(project_id, stored.new_contents)
        return stored.unknown_parents

    async def missing(self, project_id: int, refs: Sequence[ContentRef]) -> Sequence[ContentRef]:
        """Returns the refs of contents and threads that are not stored, or came masked. Updates `last_seen` of the
        others. Raises StoreUnavailable."""
        today = date_of(self._clock())

        async def attempt(conn: Conn) -> Sequence[ContentRef]:
            write_context = await begin_write(conn, project_id)
            return await content_rows.missing(conn, self._memory.packs, write_context, refs, today, proven=True)

        return await self._db.transact(attempt)

    async def epoch(self, project_id: int) -> str:
        """Returns a text that changes whenever contents may have been deleted. A sender may assume that a stored ref is
        still stored only while the epoch is the same. Raises StoreUnavailable."""
        async with self._db.reading() as conn:
            current = await sql.value(conn, "epoch", project_id=project_id)
            if current is None:
                await sql.run(conn, "insert_project", project_id=project_id)
                current = await sql.value(conn, "epoch", project_id=project_id)
        return str(current.hex)

    # --- reading ------------------------------------------------------------------------------------------------------

    async def get(self, project_id: int, ref: ContentRef) -> Content:
        stored = (await self.get_many(project_id, [ref])).get(ref)
        if stored is None:
            await self._check_not_forgotten(project_id, ref)
            raise ContentMissing(f"nothing is stored under {ref}: it has not arrived yet, or was deleted")
        return stored

    async def _check_not_forgotten(self, project_id: int, ref: ContentRef) -> None:
        """Raises ContentForgotten."""
        async with self._db.reading() as conn:
            day = await tombstones.date_of(conn, project_id, ref)
        if day is not None:
            raise ContentForgotten(f"{ref} was forgotten on {day.isoformat()}: ask for another content")

    async def get_many(self, project_id: int, refs: Sequence[ContentRef]) -> Mapping[ContentRef, Content]:
        async def read(packs: Packs) -> Mapping[ContentRef, Content]:
            async with self._db.reading() as conn:
                return await content_rows.read(conn, packs, project_id, refs)

        return await self._memory.packs.supplied(read)

    async def facts(self, project_id: int, ref: ContentRef) -> ContentFacts | None:
        async with self._db.reading() as conn:
            return await content_rows.facts_of(conn, self._memory.packs, project_id, ref)

    async def refs_with_prefix(self, project_id: int, prefixes: Sequence[bytes]) -> Sequence[ContentRef]:
        lows, highs = ([beginning.ljust(32, fill) for beginning in prefixes] for fill in (b"\x00", b"\xff"))
        async with self._db.reading() as conn:
            rows = await sql.column(conn, "refs_between", project_id=project_id, lows=lows, highs=highs)
            # After the rows: contents move from rows to packs, never back.
            packed = await self._memory.packs.refs_with_prefix(conn, project_id, prefixes)
        return list({*map(ContentRef.from_digest, rows), *packed})

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
            await self._check_not_forgotten(project_id, ref)
            raise ContentMissing(f"no thread is stored under {ref}: it has not arrived yet, or was deleted")
        return nodes

    async def threads(self, project_id: int, refs: Sequence[ContentRef], most_nodes: int) -> ThreadNodes:
        async with self._db.reading() as conn:
            return await threads.read_together(conn, self._memory.packs, project_id, refs, most_nodes)

    # --- explanations -------------------------------------------------------------------------------------------------

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

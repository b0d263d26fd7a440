"""[store] → analysis: implements `ports.search`: writes the index of sealed runs, and searches in it."""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, TypeAlias

from asyncpg import Record

from playhead.model.ref import ContentRef
from playhead.projection.search_rows import ToolOutcome
from playhead_collector.store.packing import seen_contents
from playhead_collector.store.packing.content_packs import array_of, key_of
from playhead_collector.store.packing.roles import role_named, role_number
from playhead_collector.store.packing.search_blocks import IndexedContent, OpenBlock
from playhead_collector.store.packing.seen_contents import SeenContent, prefix_of
from playhead_collector.store.packing.zstd import compress_json, decompress_json
from playhead_collector.store.ports.search import (
    FoundRun,
    IndexedRun,
    RunBounds,
    RunThatSaw,
    SearchedText,
    TextHit,
    UnindexedRun,
)
from playhead_collector.store.postgres import search_blocks
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database, begin_write
from playhead_collector.store.postgres.runs import BIGINT, LAST_RUN, clamp_int, id_of
from playhead_collector.store.postgres.statements import Conn

COMPLETED, RETURNED_ERROR = ToolOutcome.COMPLETED, ToolOutcome.RETURNED_ERROR
RefsWithPrefix: TypeAlias = Callable[[int, Sequence[bytes]], Awaitable[Sequence[ContentRef]]]
"""Returns the refs of a project's stored contents that begin with these bytes."""
_AFTER_ALL = "~"
# Postgres has no lexemes of very long words.
_LONGEST_WORD = 200
# How many of the newest blocks are looked at before the index is asked, which takes longer for common words. How many
# blocks it lists at a time, and how many of these are read at a time.
_NEWEST_BLOCKS, _BLOCKS_LISTED, _BLOCKS_AT_ONCE = 256, 1_024, 64


class PostgresSearch:
    """Implements `ports.search.SearchIndex`."""

    def __init__(self, db: Database, refs_with_prefix: RefsWithPrefix) -> None:
        """`refs_with_prefix`: that of the contents."""
        self._db = db
        self._refs_with_prefix = refs_with_prefix

    async def is_off(self, project_id: int) -> bool:
        async with self._db.reading() as conn:
            return await sql.cipher_of(conn, project_id) is not None

    # --- the index ----------------------------------------------------------------------------------------------------

    async def prepare(self, project_id: int, language: str) -> bool:
        async with self._db.transaction() as conn:
            if not await sql.value(conn, "has_search_language", language=language):
                return False
            row = await sql.row(conn, "lock_search_language", project_id=project_id)
            if row is not None and row["search_language"] != language:
                if row["search_language"] is not None:
                    await search_blocks.lock(conn, project_id)
                    await sql.run(conn, "clear_search", project_id=project_id)
                await sql.run(conn, "set_search_language", project_id=project_id, language=language)
        return True

    async def unindexed_runs(self, limit: int) -> Sequence[UnindexedRun]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "unindexed_runs", how_many=limit)
        return [UnindexedRun(project_id, run.hex) for project_id, run in rows]

    async def count_unindexed(self, project_id: int, limit: int) -> int:
        async with self._db.reading() as conn:
            return await sql.value(conn, "count_unindexed", project_id=project_id, how_many=limit)

    async def index_run(self, project_id: int, run: IndexedRun, texts: Sequence[SearchedText]) -> bool:
        run_id, started_ns = id_of(run.run), clamp_int(run.started_ns, BIGINT)
        terms = sorted({*run.terms, *map(key_of, run.seen)})
        row = {"run": run_id, "started": started_ns, "terms": terms, "body": compress_json(run.body)}
        contents = [
            IndexedContent(prefix_of(text.ref), role_number(text.role), started_ns, text.terms) for text in texts
        ]
        returned = {
            "seqs": list(run.returned_errors),
            "outcomes": [RETURNED_ERROR if is_error else COMPLETED for is_error in run.returned_errors.values()],
        }

        async def attempt(conn: Conn) -> bool:
            # A deletion waits until this is committed: it has to see which texts this run has.
            await begin_write(conn, project_id)
            await search_blocks.lock(conn, project_id)
            if not await sql.value(conn, "mark_searched", project_id=project_id, run=run_id):
                return False
            if await sql.cipher_of(conn, project_id) is not None:  # terms and blocks would tell what texts say
                await sql.run(conn, "set_returned_errors", project_id=project_id, run=run_id, **returned)
                return True
            blocks = await search_blocks.blocks_of(conn, project_id, list(run.seen))
            new = [content for content in contents if content.prefix not in blocks]
            blocks |= await search_blocks.add(conn, project_id, new)
            seen = seen_contents.encode(
                {ref: SeenContent(seq, blocks[prefix_of(ref)]) for ref, seq in run.seen.items()}
            )
            before = await sql.column(conn, "seen_by", project_id=project_id, runs=[run_id])
            await sql.run(conn, "index_run", project_id=project_id, seen=seen, **row)
            await search_blocks.forget(conn, project_id, map(seen_contents.decode, before))
            await sql.run(conn, "set_returned_errors", project_id=project_id, run=run_id, **returned)
            return True

        return await self._db.transact(attempt)

    async def leave_unindexed(self, project_id: int, run: str) -> None:
        async with self._db.transaction() as conn:
            await sql.value(conn, "mark_searched", project_id=project_id, run=id_of(run))

    # --- runs ---------------------------------------------------------------------------------------------------------

    async def newest_indexed(
        self, project_id: int, terms: Sequence[int], where: RunBounds, *, looked: int, limit: int
    ) -> Sequence[FoundRun]:
        parameters = _runs_within(where) | {"looked": looked, "how_many": limit}
        async with self._db.reading() as conn:
            return _runs(await sql.rows(conn, "newest_indexed", project_id=project_id, terms=terms, **parameters))

    async def indexed_with(
        self, project_id: int, terms: Sequence[int], where: RunBounds, *, limit: int
    ) -> Sequence[FoundRun]:
        parameters = _runs_within(where) | {"how_many": limit}
        async with self._db.reading() as conn:
            return _runs(await sql.rows(conn, "indexed_with", project_id=project_id, terms=terms, **parameters))

    async def runs_that_saw(
        self, project_id: int, refs: Sequence[ContentRef], limit: int
    ) -> Mapping[ContentRef, Sequence[RunThatSaw]]:
        by_key: defaultdict[int, list[Record]] = defaultdict(list)
        keys = list({key_of(ref) for ref in refs})
        async with self._db.reading() as conn:
            for row in await sql.rows(conn, "runs_that_saw", project_id=project_id, keys=keys, how_many=limit):
                by_key[row["key"]].append(row)
        return {ref: list(_that_saw(ref, by_key[key_of(ref)])) for ref in refs}

    # --- texts --------------------------------------------------------------------------------------------------------

    async def lexemes(self, language: str, words: Collection[str]) -> Mapping[str, str]:
        asked = [word for word in words if len(word) <= _LONGEST_WORD]
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "lexemes", language=language, words=asked)
        return {row["word"]: row["lexeme"] for row in rows if row["lexeme"] != row["word"]}

    async def texts_with(
        self, project_id: int, wanted: Sequence[Set[int]], where: RunBounds, role: str | None, *, limit: int
    ) -> Sequence[TextHit]:
        hits = await self._hits(project_id, wanted, where, role, limit)
        refs = await self._refs_with_prefix(project_id, [content.prefix for content in hits])
        stored = {prefix_of(ref): ref for ref in refs}
        return [_hit(content, stored.get(content.prefix)) for content in hits]

    async def _hits(
        self, project_id: int, wanted: Sequence[Set[int]], where: RunBounds, role: str | None, limit: int
    ) -> Sequence[IndexedContent]:
        terms = sorted({term for each in wanted for term in each})
        hits = _Hits([[terms.index(term) for term in each] for each in wanted], where, role)
        bounds = {"since": hits.since_ns, "before_since": hits.before[0]}
        async with self._db.reading() as conn:
            parameters = bounds | {"wanted": terms, "looked": _NEWEST_BLOCKS}
            newest = await sql.rows(conn, "newest_blocks", project_id=project_id, **parameters)
            hits.add(newest)
            if len(newest) < _NEWEST_BLOCKS or hits.count_after(newest[-1]["newest_ns"]) >= limit:
                return hits.newest(limit)
            read = {row["block"] for row in newest}
            parameters = bounds | {"wanted": list(map(array_of, wanted)), "how_many": _BLOCKS_LISTED}
            newest_ns, block = BIGINT, BIGINT
            while True:
                listed = await sql.rows(
                    conn,
                    "blocks_with",
                    project_id=project_id,
                    before_newest=newest_ns,
                    before_block=block,
                    **parameters,
                )
                left = [row for row in listed if row["block"] not in read]
                for start in range(0, len(left), _BLOCKS_AT_ONCE):
                    some = left[start : start + _BLOCKS_AT_ONCE]
                    if hits.count_after(some[0]["newest_ns"]) >= limit:
                        return hits.newest(limit)
                    numbers = [row["block"] for row in some]
                    hits.add(await sql.rows(conn, "read_blocks", project_id=project_id, wanted=terms, blocks=numbers))
                if len(listed) < _BLOCKS_LISTED:
                    return hits.newest(limit)
                newest_ns, block = listed[-1]["newest_ns"], listed[-1]["block"]

    async def searched_text(self, project_id: int, ref: ContentRef) -> TextHit | None:
        async with self._db.reading() as conn:
            block = (await search_blocks.blocks_of(conn, project_id, [ref])).get(prefix_of(ref))
            rows = await sql.rows(conn, "blocks", project_id=project_id, blocks=[] if block is None else [block])
        contents = (content for row in rows for content in OpenBlock(row["body"], len(row["terms"])).having(()))
        return next((_hit(content, ref) for content in contents if content.prefix == prefix_of(ref)), None)


class _Hits:
    """The contents of blocks that match a search."""

    def __init__(self, alternatives: Sequence[Sequence[int]], where: RunBounds, role: str | None) -> None:
        """`alternatives`: sets of indices in the array of places of a row; all terms of one must be there."""
        until = BIGINT if where.until_ns is None else clamp_int(where.until_ns, BIGINT)
        self.since_ns = -BIGINT if where.since_ns is None else clamp_int(where.since_ns, BIGINT)
        # The time and the prefix of a content that all hits come after, in the order of answers.
        self.before: tuple[int, str] = min(where.before or (BIGINT, _AFTER_ALL), (until, _AFTER_ALL))
        self._alternatives, self._role = alternatives, None if role is None else role_number(role)
        self._found: dict[bytes, IndexedContent] = {}

    def add(self, rows: Iterable[Record]) -> None:
        """Adds those of these blocks. `places` of a row: where the terms stand in the block, or None."""
        for row in rows:
            places = row["places"]
            for alternative in self._alternatives:
                at = [places[index] for index in alternative]
                if None not in at:
                    matching = OpenBlock(row["body"], row["terms"]).having(place - 1 for place in at)
                    self._found.update((content.prefix, content) for content in matching if self._fits(content))

    def _fits(self, content: IndexedContent) -> bool:
        if self._role is not None and content.role != self._role:
            return False
        return content.since_ns >= self.since_ns and (content.since_ns, content.prefix.hex()) < self.before

    def count_after(self, time_ns: int) -> int:
        """How many of the hits are newer than this."""
        return sum(content.since_ns > time_ns for content in self._found.values())

    def newest(self, limit: int) -> list[IndexedContent]:
        """The newest of the hits."""
        in_order = sorted(self._found.values(), key=lambda content: (content.since_ns, content.prefix), reverse=True)
        return in_order[:limit]


def _hit(content: IndexedContent, ref: ContentRef | None) -> TextHit:
    return TextHit(content.prefix, ref, content.since_ns, role_named(content.role))


def _that_saw(ref: ContentRef, rows: Iterable[Record]) -> Iterator[RunThatSaw]:
    for row in rows:
        seen = seen_contents.decode(row["seen"]).get(prefix_of(ref))
        if seen is not None:
            yield RunThatSaw(row["run_id"].hex, row["started_ns"], seen.seq)


def _runs_within(where: RunBounds) -> dict[str, Any]:
    started, run = where.before or (BIGINT, None)
    return _times(where) | {"before_started": started, "before_run": LAST_RUN if run is None else id_of(run)}


def _times(where: RunBounds) -> dict[str, Any]:
    return {
        "since": -BIGINT if where.since_ns is None else clamp_int(where.since_ns, BIGINT),
        "until": BIGINT if where.until_ns is None else clamp_int(where.until_ns, BIGINT),
    }


def _runs(rows: Iterable[Record]) -> list[FoundRun]:
    return [FoundRun(row["run_id"].hex, row["started_ns"], decompress_json(row["body"])) for row in rows]

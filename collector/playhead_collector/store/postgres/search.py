"""[store] → analysis: implements `ports.search`: writes the index of sealed runs, and searches in it."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import asyncpg
from asyncpg import Record

from playhead.model.ref import ContentRef
from playhead.projection.search_rows import ToolOutcome
from playhead_collector.errors import Refused
from playhead_collector.store.packing.content_packs import key_of
from playhead_collector.store.packing.roles import role_named, role_number
from playhead_collector.store.packing.zstd import compress_json, decompress_json
from playhead_collector.store.ports.search import (
    FoundRun,
    IndexedRun,
    ParsedWords,
    RunBounds,
    SearchedText,
    TextHit,
    UnindexedRun,
    WordQuery,
)
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database, begin_write
from playhead_collector.store.postgres.runs import BIGINT, LAST_RUN, clamp_int, id_of
from playhead_collector.store.postgres.statements import Conn

COMPLETED, RETURNED_ERROR = ToolOutcome.COMPLETED, ToolOutcome.RETURNED_ERROR
# Greater than all refs.
_LAST_REF = b"\xff" * 33


class PostgresSearch:
    """Implements `ports.search.SearchIndex`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    # --- the index ----------------------------------------------------------------------------------------------------

    async def prepare(self, project_id: int, language: str) -> bool:
        async with self._db.transaction() as conn:
            if not await sql.value(conn, "has_search_language", language=language):
                return False
            row = await sql.row(conn, "lock_search_language", project_id=project_id)
            if row is not None and row["search_language"] != language:
                if row["search_language"] is not None:
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

    async def indexed_texts(self, project_id: int, refs: Sequence[ContentRef]) -> AbstractSet[ContentRef]:
        async with self._db.reading() as conn:
            digests = await sql.column(conn, "indexed_texts", project_id=project_id, refs=[ref.digest for ref in refs])
        return {ContentRef.from_digest(digest) for digest in digests}

    async def index_run(self, project_id: int, run: IndexedRun, texts: Sequence[SearchedText], language: str) -> bool:
        row = {"run": id_of(run.run), "started": clamp_int(run.started_ns, BIGINT), "body": compress_json(run.body)}
        row |= {"terms": sorted(set(run.terms)), "seen": sorted({key_of(ref) for ref in run.seen})}
        returned = {
            "seqs": list(run.returned_errors),
            "outcomes": [RETURNED_ERROR if is_error else COMPLETED for is_error in run.returned_errors.values()],
        }
        columns = {
            "refs": [text.ref.digest for text in texts],
            "roles": [role_number(text.role) for text in texts],
            "texts": [text.text for text in texts],
        }

        async def attempt(conn: Conn) -> bool:
            # A deletion waits until this is committed: it has to see which texts this run has.
            await begin_write(conn, project_id)
            if not await sql.value(conn, "mark_searched", project_id=project_id, run=row["run"]):
                return False
            await sql.run(conn, "index_run", project_id=project_id, **row)
            since = row["started"]
            await sql.run(conn, "index_texts", project_id=project_id, language=language, since=since, **columns)
            await sql.run(conn, "set_returned_errors", project_id=project_id, run=row["run"], **returned)
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
    ) -> Mapping[ContentRef, Sequence[FoundRun]]:
        by_key: defaultdict[int, list[FoundRun]] = defaultdict(list)
        keys = list({key_of(ref) for ref in refs})
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "runs_that_saw", project_id=project_id, keys=keys, how_many=limit)
        for row, run in zip(rows, _runs(rows), strict=True):
            by_key[row["key"]].append(run)
        return {ref: by_key[key_of(ref)] for ref in refs}

    # --- texts --------------------------------------------------------------------------------------------------------

    async def parsed_words(self, query: WordQuery) -> ParsedWords | None:
        async with self._db.reading() as conn:
            try:
                row = await sql.row(conn, "parsed_words", language=query.language, query=query.text)
            except (asyncpg.InternalServerError, asyncpg.ProgramLimitExceededError) as error:
                message = f"Postgres cannot search for these words ({error}): ask for fewer, with fewer dashes"
                raise Refused(400, "bad_words", message) from error
        if row is None or row["needed"] in ("", "T"):
            return None
        return ParsedWords(row["words"], query.language, query.role)

    async def newest_texts(
        self, project_id: int, query: ParsedWords, where: RunBounds, *, looked: int, limit: int
    ) -> Sequence[TextHit]:
        parameters = _texts_within(where) | _words(query) | {"looked": looked, "how_many": limit}
        async with self._db.reading() as conn:
            return _texts(await sql.rows(conn, "newest_texts", project_id=project_id, **parameters))

    async def texts_with(
        self, project_id: int, query: ParsedWords, where: RunBounds, *, limit: int
    ) -> Sequence[TextHit]:
        parameters = _texts_within(where) | _words(query) | {"how_many": limit}
        async with self._db.reading() as conn:
            return _texts(await sql.rows(conn, "texts_with", project_id=project_id, **parameters))

    async def searched_text(self, project_id: int, ref: ContentRef) -> TextHit | None:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "searched_text", project_id=project_id, ref=ref.digest)
        return next(iter(_texts(rows)), None)

    async def marked_words(self, query: ParsedWords, texts: Sequence[str], begin: str, end: str) -> Sequence[str]:
        options = f'HighlightAll=true, StartSel="{begin}", StopSel="{end}"'
        parameters = {"language": query.language, "words": query.words, "texts": list(texts), "options": options}
        async with self._db.reading() as conn:
            return await sql.column(conn, "marked_words", **parameters)


def _runs_within(where: RunBounds) -> dict[str, Any]:
    started, run = where.before or (BIGINT, None)
    return _times(where) | {"before_started": started, "before_run": LAST_RUN if run is None else id_of(run)}


def _texts_within(where: RunBounds) -> dict[str, Any]:
    since, ref = where.before or (BIGINT, None)
    return _times(where) | {"before_since": since, "before_ref": _LAST_REF if ref is None else ContentRef(ref).digest}


def _times(where: RunBounds) -> dict[str, Any]:
    return {
        "since": -BIGINT if where.since_ns is None else clamp_int(where.since_ns, BIGINT),
        "until": BIGINT if where.until_ns is None else clamp_int(where.until_ns, BIGINT),
    }


def _words(query: ParsedWords) -> dict[str, Any]:
    role = None if query.role is None else role_number(query.role)
    return {"words": query.words, "role": role}


def _runs(rows: Iterable[Record]) -> list[FoundRun]:
    return [FoundRun(row["run_id"].hex, row["started_ns"], decompress_json(row["body"])) for row in rows]


def _texts(rows: Iterable[Record]) -> list[TextHit]:
    return [TextHit(ContentRef.from_digest(row["ref"]), row["since_ns"], role_named(row["role"])) for row in rows]

"""[store] → read: implements `ports.storage`."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from asyncpg import Record

from playhead.model.content_kinds import ContentKind
from playhead.model.ref import ContentRef
from playhead_collector.store.packing.content_packs import OpenPack
from playhead_collector.store.packing.kinds import NOT_KNOWN, kind_named, kind_number, kind_of_stored
from playhead_collector.store.ports.contents import content_tier
from playhead_collector.store.ports.storage import (
    ContentSample,
    InlineRun,
    InlineSample,
    LargeContent,
    SampledContent,
    TableSize,
)
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.content_rows import plain_size
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.statements import Conn
from playhead_collector.store.postgres.uses import uses_of

# So many can be read in a few milliseconds, and the mean of so many messages is accurate to a few per cent.
_CONTENTS, _PACKS = 1_000, 32
# Reading a run takes a few milliseconds. Longer runs would take seconds; the runs that are read represent them.
_RUNS, _MOST_EVENTS = 30, 3_000
_REFS = 1_000
_LARGEST = 2**31 - 1
_CONTENT_TABLES = ("content", "media_type", "dictionary", "thread_node", "thread_orphan", "content_pack")


class PostgresStorage:
    """Implements `ports.storage.StorageReader`."""

    def __init__(self, db: Database, packs: Packs) -> None:
        self._db = db
        self._packs = packs

    async def table_sizes(self, project_id: int) -> Sequence[TableSize]:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "table_sizes", project_id=project_id)
        return [TableSize(**row) for row in rows]

    async def counts(self) -> Mapping[str, Any]:
        """Returns `{"content_bytes", "database_bytes", "tables": {name: {"rows", "bytes"}}}` for all projects together,
        for metrics and the demo.  Rows are estimates.  Raises StoreUnavailable."""
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "sizes")
        tables = {row["name"]: {"rows": row["rows"], "bytes": row["bytes"]} for row in rows}
        return {
            "content_bytes": sum(tables[name]["bytes"] for name in _CONTENT_TABLES),
            "database_bytes": sum(table["bytes"] for table in tables.values()),
            "tables": tables,
        }

    async def sample_contents(self, project_id: int) -> ContentSample:
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "first_content_sizes", project_id=project_id, how_many=_CONTENTS + 1)
            packs = await sql.column(conn, "first_packs", project_id=project_id, how_many=_PACKS + 1)
            if not (are_all := len(packs) <= _PACKS):
                last = await sql.value(conn, "last_pack", project_id=project_id)
                probes = _spread(packs[0], last, _PACKS)
                packs = await sql.column(conn, "packs_from", project_id=project_id, probes=probes)
            opened = await self._packs.open(conn, project_id, packs)
        sampled = [_sampled_row(row) for row in rows[:_CONTENTS]]
        packed = [_sampled_pack(pack) for pack in opened.values()]
        return ContentSample(sampled, len(rows) <= _CONTENTS, packed, are_all)

    async def large_contents(
        self,
        project_id: int,
        kinds: Sequence[ContentKind | None],
        *,
        larger: int,
        limit: int,
        after: tuple[int, ContentRef] | None = None,
    ) -> Sequence[LargeContent]:
        after_size, after_ref = (_LARGEST, b"") if after is None else (after[0], after[1].digest)
        numbers = [NOT_KNOWN if kind is None else kind_number(kind) for kind in kinds]
        parameters = {"kinds": numbers, "larger": larger, "after_size": after_size, "after_ref": after_ref}
        async with self._db.reading() as conn:
            rows = await sql.rows(conn, "large_contents", project_id=project_id, how_many=limit, **parameters)
        return [
            LargeContent(
                ContentRef.from_digest(row["ref"]),
                kind_named(row["kind"]),
                row["size"],
                row["stored"],
                row["tokens"],
                row["first_stored"],
                row["last_seen"],
                content_tier(is_moved=row["moved"]),
            )
            for row in rows
        ]

    async def sample_inline(self, project_id: int) -> InlineSample:
        async with self._db.reading() as conn:
            runs = await sql.rows(conn, "first_runs", project_id=project_id, how_many=_RUNS + 1)
            if not (is_all := len(runs) <= _RUNS):
                last = await sql.value(conn, "last_run", project_id=project_id)
                ids = [UUID(int=number) for number in _spread(runs[0]["run_id"].int, last.int, _RUNS)]
                runs = await sql.rows(conn, "runs_from", project_id=project_id, probes=ids)
        short = [(row["run_id"].hex, row["llm_calls"]) for row in runs if row["events"] <= _MOST_EVENTS]
        uses = {run: await uses_of(self._db, self._packs, project_id, run) for run, _ in short}
        refs = {ref for used in uses.values() for ref in used}
        async with self._db.reading() as conn:
            sizes = await self._sizes(conn, project_id, refs)
        sampled = [InlineRun(run, calls, _inline_bytes(uses[run], sizes)) for run, calls in short]
        return InlineSample(sampled, is_all and len(short) == len(runs))

    async def _sizes(self, conn: Conn, project_id: int, refs: Iterable[ContentRef]) -> dict[ContentRef, int]:
        """Returns the sizes of the given contents that are stored. Reads only the beginning of contents that are
        rows."""
        sizes: dict[ContentRef, int] = {}
        ordered = sorted(refs)
        for portion in (ordered[start : start + _REFS] for start in range(0, len(ordered), _REFS)):
            rows = await sql.rows(
                conn, "plain_content_sizes", project_id=project_id, refs=[ref.digest for ref in portion]
            )
            sizes |= {ContentRef.from_digest(row["ref"]): _size_of(row) for row in rows}
            packed = await self._packs.facts_of_many(conn, project_id, [ref for ref in portion if ref not in sizes])
            sizes |= {ref: facts.size for ref, facts in packed.items()}
        return sizes


def _inline_bytes(uses: Mapping[ContentRef, int], sizes: Mapping[ContentRef, int]) -> int:
    return sum(max(calls, 1) * sizes.get(ref, 0) for ref, calls in uses.items())


def _size_of(row: Record) -> int:
    size: int | None = row["size"]
    return plain_size(row["encoding"], row["stored"], row["head"]) if size is None else size


def _sampled_row(row: Record) -> SampledContent:
    return SampledContent(
        kind_of_stored(row["kind"], row["role"]),
        _size_of(row),
        row["stored"],
        row["tokens"],
        row["first_stored"],
        row["first_stored"] or row["last_seen"],
        content_tier(is_moved=row["moved"]),
    )


def _sampled_pack(pack: OpenPack) -> list[SampledContent]:
    every = pack.facts
    share = pack.stored_bytes / (sum(facts.size for facts in every) or 1)
    return [
        SampledContent(
            kind_of_stored(facts.kind, facts.role),
            facts.size,
            facts.size * share,
            facts.tokens,
            facts.first_stored,
            facts.first_stored or pack.packed,
            content_tier(is_moved=pack.is_outline),
        )
        for facts in every
    ]


def _spread(first: int, last: int, count: int) -> list[int]:
    """Returns `count` numbers at equal distances, from `first` to `last`."""
    return [first + (last - first) * n // (count - 1) for n in range(count)]

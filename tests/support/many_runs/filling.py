"""Fills a collector's database with copies of runs that it has stored, with COPY."""

import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, TypeVar
from uuid import uuid4

import asyncpg

from playhead_collector.store.packing import content_packs, seen_contents
from playhead_collector.store.packing.search_blocks import OpenBlock
from playhead_collector.store.packing.seen_contents import SeenContent, prefix_of
from playhead_collector.store.packing.zstd import Zstd, decompress_json
from playhead_collector.store.postgres import search_blocks
from playhead_collector.store.postgres.dictionaries import Dictionaries
from playhead_collector.store.postgres.statements import Conn
from tests.support.many_runs.copied import CopiedRun, Copier, StoredRun, decompressed
from tests.support.many_runs.varied import VariedRun, code_of

T = TypeVar("T")
_PROJECT = 1
# Runs in one transaction, and of these in packs together, as the packer has them.
_AT_A_TIME, _PACKED_TOGETHER = 512, 16
_MINUTE_NS = 60_000_000_000
# Columns that the database fills in.
_GENERATED = ("attention",)
# GIN indexes are built again afterwards, which takes a tenth of the time.
_INDEXES = """
    select indexname as name, indexdef as definition from pg_indexes
    where schemaname = 'public' and indexdef like '%using gin%' or indexdef like '%USING gin%'
"""


async def fill_with_copies(database: str, made: Sequence[VariedRun], copies: int) -> None:
    """Writes so many copies of runs that are sealed, packed and indexed there."""
    conn = await asyncpg.connect(database)
    try:
        stored = await read_stored(conn, made)
        indexes = await conn.fetch(_INDEXES)
        await conn.execute("".join(f"drop index {each['name']};" for each in indexes))
        made_copies = _copies([Copier(each) for each in stored], copies, await _pages(conn, copies))
        dictionaries = Dictionaries()
        encoding = await dictionaries.newest(conn, _PROJECT)
        zstd = await dictionaries.zstd(conn, _PROJECT, encoding)
        blocks = await _indexed(conn)
        for some in _parts(made_copies, _AT_A_TIME):
            async with conn.transaction():
                await _write(conn, some, encoding, zstd, blocks)
        await conn.execute("set maintenance_work_mem = '512MB'")
        for each in indexes:
            await conn.execute(each["definition"])
        await conn.execute("vacuum analyze")
    finally:
        await conn.close()


async def read_stored(conn: Conn, made: Sequence[VariedRun]) -> list[StoredRun]:
    """The rows of runs that are sealed and were short."""
    tables: defaultdict[str, dict[str, list[Mapping[str, Any]]]] = defaultdict(dict)
    for name in (
        "run", "run_outcome", "span_page", "event_page", "tool_call", "decision", "error", "llm_call", "search_run",
    ):  # fmt: skip
        for row in await conn.fetch(f"select * from {name}"):
            stored = {column: value for column, value in row.items() if column not in _GENERATED}
            tables[row["run_id"].hex].setdefault(name, []).append(stored)
    found: list[StoredRun] = []
    for each in made:
        rows = tables[each.run]
        (spans,), (events,) = rows["span_page"], rows["event_page"]
        plain = decompress_json(spans["body"])
        bodies = {"span_page": [decompressed(spans)], "event_page": [decompressed(events, plain)]}
        found.append(StoredRun(each, defaultdict(list, {**rows, **bodies})))
    return found


async def _pages(conn: Conn, how_many: int) -> Iterator[int]:
    first = await conn.fetchval("select nextval('span_page_number')")
    await conn.execute("select setval('span_page_number', $1)", first + how_many)
    return iter(range(first, first + how_many))


def _copies(copiers: Sequence[Copier], how_many: int, pages: Iterator[int]) -> Iterator[CopiedRun]:
    now_ns = time.time_ns()
    for number, page in enumerate(islice(pages, how_many)):
        started_ns = now_ns - (how_many - number) * _MINUTE_NS
        code = code_of(len(copiers) + number)
        yield copiers[number % len(copiers)].copy(uuid4(), code, started_ns, page)


async def _indexed(conn: Conn) -> dict[bytes, int]:
    """The blocks of all contents that are in the index, by the prefixes of their refs."""
    return {
        content.prefix: row["block"]
        for row in await conn.fetch("select block, cardinality(terms) as terms, body from search_block")
        for content in OpenBlock(row["body"], row["terms"]).having(())
    }


async def _write(conn: Conn, some: Sequence[CopiedRun], encoding: int, zstd: Zstd, blocks: dict[bytes, int]) -> None:
    rows: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
    new = {text.prefix: text for each in some for text in each.texts if text.prefix not in blocks}
    blocks |= await search_blocks.add(conn, _PROJECT, list(new.values()))
    for each in some:
        (searched,) = each.tables["search_run"]
        seen = {ref: SeenContent(seq, blocks[prefix_of(ref)]) for ref, seq in each.seen.items()}
        searched["seen"] = seen_contents.encode(seen)
        for table, more in each.tables.items():
            rows[table] += more
    for together in _parts(some, _PACKED_TOGETHER):
        rows["content_pack"] += await _packs(conn, together, encoding, zstd)
    for table, more in rows.items():
        if more:
            await copy_rows(conn, table, more)


async def _packs(conn: Conn, some: Sequence[CopiedRun], encoding: int, zstd: Zstd) -> list[Mapping[str, Any]]:
    packs = content_packs.split([item for each in some for item in each.items])
    today = await conn.fetchval("select current_date")
    numbers = await conn.fetch("select nextval('content_pack_number') from generate_series(1, $1)", len(packs))
    common = {"project_id": _PROJECT, "version": 0, "packed": today, "encoding": encoding}
    common["runs"] = [each.run for each in some]
    return [
        {**common, "pack": number, "keys": pack.keys, "body": zstd.compress(content_packs.encode(pack))}
        for (number,), pack in zip(numbers, packs, strict=True)
    ]


async def copy_rows(conn: Conn, table: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Rows that have the same columns."""
    columns = list(rows[0])
    await conn.copy_records_to_table(table, columns=columns, records=[[row[name] for name in columns] for row in rows])


def _parts(items: Iterable[T], size: int) -> Iterator[list[T]]:
    left = iter(items)
    while part := list(islice(left, size)):
        yield part

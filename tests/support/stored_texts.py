"""All that a database holds, as the product reads it: every column of every table, with what is compressed in it."""

from collections.abc import Iterator
from typing import Any

import asyncpg

from playhead_collector.store.packing import packed_runs
from playhead_collector.store.packing.zstd import Zstd, builtin, decompress_json

# Columns whose bytes are numbers and hashes, beside keys and digests.
_WITH_ENCODING = ("content", "content_pack", "conversation_record")


async def stored_in(dsn: str) -> dict[str, bytes]:
    """Returns the bytes of each column, as `table.column`, decompressed where they are compressed. Columns whose rows
    say nothing are left out. Fails for a body that cannot be read."""
    connection = await asyncpg.connect(dsn)
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):  # rows name each other
            return await _stored(connection)
    finally:
        await connection.close()


async def _stored(connection: asyncpg.Connection) -> dict[str, bytes]:
    found: dict[str, bytearray] = {}
    dictionaries = {
        (row["project_id"], row["dictionary"]): bytes(row["body"])
        for row in await connection.fetch("select project_id, dictionary, body from dictionary")
    }
    spans = {row["page"]: bytes(row["body"]) for row in await connection.fetch("select page, body from span_page")}
    tables = await connection.fetch(
        "select relname from pg_class where relkind = 'r' and relnamespace = current_schema()::regnamespace"
    )
    for (table,) in tables:
        for row in await connection.fetch(f"select * from {table}"):
            for column, value in row.items():
                for data in _texts(table, column, value, row, dictionaries, spans):
                    found.setdefault(f"{table}.{column}", bytearray()).extend(data + b"\n")
    return {name: bytes(data) for name, data in found.items()}


def _texts(
    table: str, column: str, value: Any, row: Any, dictionaries: dict[tuple[int, int], bytes], spans: dict[int, bytes]
) -> Iterator[bytes]:
    if isinstance(value, str):
        yield value.encode()
    elif isinstance(value, list):
        yield from (item.encode() for item in value if isinstance(item, str))
    elif isinstance(value, bytes):
        yield value
        if column != "body":
            return
        if table in _WITH_ENCODING:
            yield _decoded(value, row["encoding"], dictionaries, row["project_id"])
        elif table == "event_page" and row["beside"] is not None:
            yield decompress_json(value, decompress_json(spans[row["beside"]]))
        elif table in ("span_page", "event_page", "run_snapshot", "search_run"):
            yield decompress_json(value)
        elif table == "packed_run":
            yield from packed_runs.decode(value).texts()


def _decoded(body: bytes, encoding: int, dictionaries: dict[tuple[int, int], bytes], project: int) -> bytes:
    if encoding == 0:
        return body
    zstd = builtin(-encoding) if encoding < 0 else Zstd(dictionaries[project, encoding], trained=True)
    return zstd.read(body)

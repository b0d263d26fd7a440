"""Runs the SQL statements of `sql/*.sql` by name, with named parameters. Python files contain no SQL.

All functions raise KeyError for an unknown statement or a missing parameter.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import aiosql
from aiosql.adapters.asyncpg import AsyncPGAdapter
from asyncpg import Connection, Record

Conn: TypeAlias = "Connection[Record]"
"""A connection, or the proxy that the pool returns in place of one."""


def _load() -> dict[str, tuple[str, list[str]]]:
    """Returns the text and the ordered parameter names of each statement, by its name.

    aiosql only parses the files. Its functions are not used to run statements: they inspect the connection's attributes
    on every call, and return rows one by one.
    """
    adapter: Any = AsyncPGAdapter()
    library: Any = aiosql
    queries = library.from_path(Path(__file__).with_name("sql"), lambda: adapter, mandatory_parameters=False)
    names = [name for name in queries.available_queries if not name.endswith("_cursor")]
    return {name: (getattr(queries, name).sql, adapter.var_sorted[name]) for name in names}


_STATEMENTS = _load()


def _prepared(name: str, parameters: dict[str, Any]) -> tuple[str, list[Any]]:
    text, order = _STATEMENTS[name]
    return text, [parameters[parameter] for parameter in order]


async def rows(conn: Conn, name: str, /, **parameters: Any) -> Sequence[Record]:
    """Runs a statement and returns all rows."""
    text, arguments = _prepared(name, parameters)
    return await conn.fetch(text, *arguments)


async def row(conn: Conn, name: str, /, **parameters: Any) -> Record | None:
    """Runs a statement and returns its first row, None if there is none."""
    text, arguments = _prepared(name, parameters)
    return await conn.fetchrow(text, *arguments)


async def value(conn: Conn, name: str, /, **parameters: Any) -> Any:
    """Runs a statement and returns the first column of its first row, None if there is none."""
    text, arguments = _prepared(name, parameters)
    return await conn.fetchval(text, *arguments)


async def column(conn: Conn, name: str, /, **parameters: Any) -> list[Any]:
    """Runs a statement and returns the first column of all rows."""
    text, arguments = _prepared(name, parameters)
    return [record[0] for record in await conn.fetch(text, *arguments)]


async def run(conn: Conn, name: str, /, **parameters: Any) -> int:
    """Runs a statement and returns the number of rows that it changed."""
    text, arguments = _prepared(name, parameters)
    status = await conn.execute(text, *arguments)
    return int(status.rpartition(" ")[2] or 0)

"""Runs the SQL statements of `sql/*.sql` by name, with named parameters. Python files contain no SQL.

A statement begins with `-- name: add_span(run, body)!`: its name and its parameters, which it uses as `:run`. The sign
at the end is for readers: `!` changes rows, `^` returns one row, `$` one value.

All functions that run statements raise KeyError for an unknown statement or a missing parameter.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from asyncpg import Connection, Record

Conn: TypeAlias = "Connection[Record]"
"""A connection, or the proxy that the pool returns in place of one."""

_HEAD = re.compile(r"^-- name: (\w+)\(([\w, ]*)\)[\^$!]?\n", re.MULTILINE)
_COMMENT_LINE = re.compile(r"^[ \t]*--.*\n?", re.MULTILINE)
# A name after a colon that is in no quotes and no comment, and does not follow another colon (`now()::date`).
_PARAMETER = re.compile(r"""'(?:''|[^'])*'|"[^"]*"|--.*|::|:(\w+)""")


class Statement(NamedTuple):
    """A statement with `$1`, `$2`, ... as Postgres takes it, and the names of these parameters in order."""

    text: str
    parameters: tuple[str, ...]


def statements_in(text: str) -> dict[str, Statement]:
    """Returns the statements of a file by their names. Raises ValueError if a name occurs twice, or if the parameters
    that a statement names in its head are not those that it uses."""
    _, *parts = _HEAD.split(text)
    statements: dict[str, Statement] = {}
    for name, declared, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        statement = _numbered(_COMMENT_LINE.sub("", body).strip())
        if name in statements:
            raise ValueError(f"two statements are named {name}: name one of them otherwise")
        if {*declared.replace(",", " ").split()} != {*statement.parameters}:
            raise ValueError(f"{name} names the parameters ({declared}), and uses {', '.join(statement.parameters)}")
        statements[name] = statement
    return statements


def _numbered(text: str) -> Statement:
    numbers: dict[str, int] = {}

    def replaced(found: re.Match[str]) -> str:
        name = found.group(1)
        return found.group() if name is None else f"${numbers.setdefault(name, len(numbers) + 1)}"

    return Statement(_PARAMETER.sub(replaced, text), tuple(numbers))


_STATEMENTS = statements_in(
    "\n".join(path.read_text("utf-8") for path in Path(__file__).with_name("sql").glob("*.sql"))
)


def _prepared(name: str, parameters: dict[str, Any]) -> tuple[str, list[Any]]:
    text, order = _STATEMENTS[name]
    return text, [parameters[parameter] for parameter in order]


async def rows(conn: Conn, name: str, /, **parameters: object) -> Sequence[Record]:
    """Runs a statement and returns all rows."""
    text, arguments = _prepared(name, parameters)
    return await conn.fetch(text, *arguments)


async def row(conn: Conn, name: str, /, **parameters: object) -> Record | None:
    """Runs a statement and returns its first row, None if there is none."""
    text, arguments = _prepared(name, parameters)
    return await conn.fetchrow(text, *arguments)


async def value(conn: Conn, name: str, /, **parameters: object) -> Any:
    """Runs a statement and returns the first column of its first row, None if there is none."""
    text, arguments = _prepared(name, parameters)
    return await conn.fetchval(text, *arguments)


async def column(conn: Conn, name: str, /, **parameters: object) -> list[Any]:
    """Runs a statement and returns the first column of all rows."""
    text, arguments = _prepared(name, parameters)
    return [record[0] for record in await conn.fetch(text, *arguments)]


async def run(conn: Conn, name: str, /, **parameters: object) -> int:
    """Runs a statement and returns the number of rows that it changed."""
    text, arguments = _prepared(name, parameters)
    status = await conn.execute(text, *arguments)
    return int(status.rpartition(" ")[2] or 0)

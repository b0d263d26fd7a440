"""Runs the SQL statements of `sql/*.sql` by name, with named parameters. Python files contain no SQL.

A statement begins with `-- name: add_span(run, body)!`: its name and its parameters, which it uses as `:run`. The sign
at the end is for readers: `!` changes rows, `^` returns one row, `$` one value. Comments below it say what is encrypted
in projects that are (`encrypted_fields.py`): it is encrypted and decrypted here, so that nobody else has to know.

All functions that run statements raise KeyError for an unknown statement or a missing parameter.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, TypeAlias, cast

from asyncpg import Connection, Record

from playhead_collector.errors import EncryptionMissing, KeyDestroyed, WrongEncryptionKey
from playhead_collector.store.packing.cipher import Cipher
from playhead_collector.store.postgres.encrypted_fields import EncryptedFields, decrypted, encrypted, encrypting

Conn: TypeAlias = "Connection[Record]"
"""A connection, or the proxy that the pool returns in place of one. Those of a `Database` have `ciphers`."""


class CipherSource(Protocol):
    """Knows the ciphers of projects."""

    async def of(self, conn: Conn, project_id: int) -> Cipher | None:
        """Returns the cipher of a project; None: it is not encrypted. Raises KeyDestroyed, WrongEncryptionKey."""
        ...


_HEAD = re.compile(r"^-- name: (\w+)\(([\w, ]*)\)[\^$!]?\n", re.MULTILINE)
_COMMENT_LINE = re.compile(r"^[ \t]*--.*\n?", re.MULTILINE)
# A name after a colon that is in no quotes and no comment, and does not follow another colon (`now()::date`).
_PARAMETER = re.compile(r"""'(?:''|[^'])*'|"[^"]*"|--.*|::|:(\w+)""")


class Statement(NamedTuple):
    """A statement with `$1`, `$2`, ... as Postgres takes it, the names of these parameters in order, and what of it is
    encrypted; None: nothing."""

    text: str
    parameters: tuple[str, ...]
    fields: EncryptedFields | None = None


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
        statements[name] = statement._replace(fields=EncryptedFields.of(body))
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


async def _prepared(conn: Conn, name: str, parameters: dict[str, Any]) -> tuple[str, list[Any]]:
    text, order, fields = _STATEMENTS[name]
    if fields is not None and fields.changes_parameters:
        parameters = await _encrypted(conn, fields, parameters)
    return text, [parameters[parameter] for parameter in order]


async def rows(conn: Conn, name: str, /, **parameters: object) -> Sequence[Record]:
    """Runs a statement and returns all rows."""
    text, arguments = await _prepared(conn, name, parameters)
    return await _plain(conn, name, parameters, await conn.fetch(text, *arguments))


async def row(conn: Conn, name: str, /, **parameters: object) -> Record | None:
    """Runs a statement and returns its first row, None if there is none."""
    text, arguments = await _prepared(conn, name, parameters)
    found = await conn.fetchrow(text, *arguments)
    return None if found is None else next(iter(await _plain(conn, name, parameters, [found])), None)


async def value(conn: Conn, name: str, /, **parameters: object) -> Any:
    """Runs a statement and returns the first column of its first row, None if there is none."""
    text, arguments = await _prepared(conn, name, parameters)
    return await conn.fetchval(text, *arguments)


async def column(conn: Conn, name: str, /, **parameters: object) -> list[Any]:
    """Runs a statement and returns the first column of all rows."""
    text, arguments = await _prepared(conn, name, parameters)
    return [record[0] for record in await conn.fetch(text, *arguments)]


async def run(conn: Conn, name: str, /, **parameters: object) -> int:
    """Runs a statement and returns the number of rows that it changed."""
    text, arguments = await _prepared(conn, name, parameters)
    status = await conn.execute(text, *arguments)
    return int(status.rpartition(" ")[2] or 0)


# --- encrypted projects ----------------------------------------------------------------------------------------------
# A statement with encrypted fields has the parameter `project_id`, or it returns a column of this name. One that writes
# rows of several projects has the parameter `projects`: the project of each value.


async def cipher_of(conn: Conn, project_id: int) -> Cipher | None:
    """Returns the cipher of a project; None: it is not encrypted. Raises KeyDestroyed, WrongEncryptionKey."""
    ciphers: CipherSource | None = getattr(conn, "ciphers", None)
    return None if ciphers is None else await ciphers.of(conn, project_id)


async def _encrypted(conn: Conn, fields: EncryptedFields, parameters: dict[str, Any]) -> dict[str, Any]:
    if "projects" in parameters:
        ciphers = {number: await cipher_of(conn, number) for number in set(parameters["projects"])}
        sent = dict(parameters)
        for field in fields.encrypts:
            pairs = zip(parameters["projects"], parameters[field.name], strict=True)
            sent[field.name] = [
                value if value is None or (cipher := ciphers[number]) is None else encrypting(field, cipher)(value)
                for number, value in pairs
            ]
        return sent
    cipher = await cipher_of(conn, parameters["project_id"])
    return parameters if cipher is None else encrypted(fields, cipher, parameters)


async def _plain(conn: Conn, name: str, parameters: dict[str, Any], found: Sequence[Record]) -> Sequence[Record]:
    """Returns the rows with decrypted columns. Of several projects, without rows of those that cannot be read."""
    fields = _STATEMENTS[name].fields
    if fields is None or not fields.decrypts or not found:
        return found
    if "project_id" in parameters:
        cipher = await cipher_of(conn, cast("int", parameters["project_id"]))
        if cipher is None:
            return found
        return cast("Sequence[Record]", [decrypted(fields, cipher, dict(row)) for row in found])
    plain: list[Any] = []
    for row in found:
        try:
            cipher = await cipher_of(conn, row["project_id"])
        except (KeyDestroyed, WrongEncryptionKey, EncryptionMissing):
            continue
        plain.append(row if cipher is None else decrypted(fields, cipher, dict(row)))
    return plain

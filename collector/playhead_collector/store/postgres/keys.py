"""serve → [store]: API keys, by the SHA-256 of each."""

from collections.abc import Sequence

from asyncpg import Record

from playhead_collector.store.ports.keys import ApiKey, MayRemove
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.statements import Conn


class PostgresKeys:
    """Implements `ports.keys.KeyStore`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def all(self, project_id: int) -> Sequence[ApiKey]:
        async with self._db.reading() as conn:
            return await _read(conn, project_id)

    async def of_all_projects(self) -> Sequence[ApiKey]:
        async with self._db.reading() as conn:
            return await _read(conn, None)

    async def add(
        self, project_id: int, name: str, prefix: str, digest: bytes, scopes: Sequence[str], seconds: float | None
    ) -> ApiKey:
        columns = {"name": name, "prefix": prefix, "digest": digest, "scopes": list(scopes), "seconds": seconds}
        async with self._db.transaction() as conn:
            row = await sql.row(conn, "insert_key", project_id=project_id, **columns)
        if row is None:
            raise LookupError("an insert gave back no row")
        return _key(row)

    async def remove(self, project_id: int, number: int, may_remove: MayRemove) -> bool:
        async with self._db.transaction() as conn:
            await sql.run(conn, "lock_keys", project_id=project_id)
            there = await _read(conn, project_id)
            key = next((candidate for candidate in there if candidate.number == number), None)
            if key is None:
                return False
            may_remove(key, [candidate for candidate in there if candidate is not key])
            return await sql.run(conn, "delete_key", project_id=project_id, key=number) > 0

    async def note_used(self, project_id: int, numbers: Sequence[int]) -> None:
        async with self._db.transaction() as conn:
            await sql.run(conn, "use_keys", project_id=project_id, keys=list(numbers))


async def _read(conn: Conn, project_id: int | None) -> list[ApiKey]:
    return [_key(row) for row in await sql.rows(conn, "keys", project_id=project_id)]


def _key(row: Record) -> ApiKey:
    return ApiKey(
        row["project_id"], row["key_id"], row["name"], row["prefix"], tuple(row["scopes"]), row["digest"],
        row["created_ns"],
        row["expires_ns"], row["last_used_ns"],
    )  # fmt: skip

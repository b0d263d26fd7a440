"""serve → [store]: API keys, by the SHA-256 of each."""

from collections.abc import Sequence

from asyncpg import Record

from playhead_collector.store.ports.keys import ApiKey, MayRemove
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.statements import Conn


async def read(conn: Conn, project_id: int) -> list[ApiKey]:
    """See `ports.keys.KeyStore.keys`."""
    return [_key(row) for row in await sql.rows(conn, "keys", project_id=project_id)]


async def add(
    conn: Conn, project_id: int, name: str, prefix: str, digest: bytes, scopes: Sequence[str], seconds: float | None
) -> ApiKey:
    """See `ports.keys.KeyStore.add_key`."""
    columns = {"name": name, "prefix": prefix, "digest": digest, "scopes": list(scopes), "seconds": seconds}
    row = await sql.row(conn, "insert_key", project_id=project_id, **columns)
    if row is None:
        raise LookupError("an insert gave back no row")
    return _key(row)


async def remove(conn: Conn, project_id: int, number: int, may_remove: MayRemove) -> bool:
    """See `ports.keys.KeyStore.remove_key`.  Call it in a transaction."""
    await sql.run(conn, "lock_keys", project_id=project_id)
    there = await read(conn, project_id)
    key = next((candidate for candidate in there if candidate.number == number), None)
    if key is None:
        return False
    may_remove(key, [candidate for candidate in there if candidate is not key])
    return await sql.run(conn, "delete_key", project_id=project_id, key=number) > 0


def _key(row: Record) -> ApiKey:
    return ApiKey(
        row["key_id"], row["name"], row["prefix"], tuple(row["scopes"]), row["digest"], row["created_ns"],
        row["expires_ns"], row["last_used_ns"],
    )  # fmt: skip

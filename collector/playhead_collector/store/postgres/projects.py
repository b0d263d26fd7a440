"""serve → [store]: projects, and what arrived of them by day."""

from collections.abc import Collection, Mapping, Sequence

from asyncpg import Record

from playhead_collector.redaction.rules import RedactionRules
from playhead_collector.store.operator_key import OperatorKey
from playhead_collector.store.ports.projects import Arrived, ProjectRow, StoredLimits
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.ciphers import rewrap
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.statements import Conn


class PostgresProjects:
    """Implements `ports.projects.ProjectStore`."""

    def __init__(self, db: Database) -> None:
        self._db = db

    async def all(self) -> Sequence[ProjectRow]:
        async with self._db.reading() as conn:
            return [_project(row) for row in await sql.rows(conn, "projects")]

    async def create(self, name: str, *, encrypted: bool = False) -> ProjectRow | None:
        wrapped = await self._db.ciphers.new_key() if encrypted else None
        async with self._db.transaction() as conn:
            row = await sql.row(conn, "create_project", name=name, encrypted=encrypted)
            if row is not None and wrapped is not None:
                await sql.run(conn, "write_project_key", project_id=row["project_id"], wrapped_key=wrapped)
        return None if row is None else _project(row)

    async def check_keys(self) -> None:
        async with self._db.reading() as conn:
            await self._db.ciphers.check(conn)

    async def destroy_key(self, project_id: int) -> bool:
        async with self._db.transaction() as conn:
            destroyed = await sql.run(conn, "destroy_project_key", project_id=project_id) > 0
            if destroyed:
                await sql.run(conn, "drop_project_work", project_id=project_id)
        self._db.ciphers.forget([project_id])
        async with self._db.reading() as conn:  # also when it is asked for again: the first time may have ended here
            await _rewrite_keys(conn)
        return destroyed

    async def rewrap(self, old: OperatorKey, new: OperatorKey) -> int:
        """Wraps the keys of all projects with another operator's key, all or none; returns how many. Raises
        WrongEncryptionKey."""
        async with self._db.transaction() as conn:
            count = await rewrap(conn, old, new)
        async with self._db.reading() as conn:
            await _rewrite_keys(conn)
        return count

    def forget_keys(self, readable: Collection[int]) -> None:
        self._db.ciphers.keep_only(readable)

    async def limit(self, project_id: int, limits: StoredLimits) -> bool:
        columns = {
            "spans_per_second": limits.spans_per_second,
            "bytes_per_day": limits.bytes_per_day,
            "stored_bytes": limits.stored_bytes,
        }
        async with self._db.transaction() as conn:
            return await sql.run(conn, "limit_project", project_id=project_id, **columns) > 0

    async def set_redaction(self, project_id: int, rules: RedactionRules) -> bool:
        async with self._db.transaction() as conn:
            text = rules.text() if rules else None
            return await sql.run(conn, "set_redaction", project_id=project_id, redaction=text) > 0

    async def delete(self, project_id: int) -> bool:
        async with self._db.transaction() as conn:
            if not await sql.run(conn, "retire_project", project_id=project_id):
                return False
            await sql.run(conn, "delete_project_keys", project_id=project_id)
            return True

    async def remove_deleted(self, rows: int) -> int:
        async with self._db.transaction() as conn:
            return await sql.value(conn, "remove_deleted", how_many=rows) or 0

    async def add_arrived(self, arrived: Mapping[int, Arrived]) -> Mapping[int, Arrived]:
        columns = {
            "projects": list(arrived),
            "spans": [each.spans for each in arrived.values()],
            "bytes": [each.bytes for each in arrived.values()],
        }
        async with self._db.transaction() as conn:
            await sql.run(conn, "add_arrived", **columns)
            rows = await sql.rows(conn, "arrived_today")
        return {row["project_id"]: Arrived(row["spans"], row["bytes"]) for row in rows}


async def _rewrite_keys(conn: Conn) -> None:
    """Removes earlier versions of rows from the file of the table."""
    await conn.execute("vacuum (full) project_key")


def _project(row: Record) -> ProjectRow:
    limits = StoredLimits(
        spans_per_second=row["spans_per_second"],
        bytes_per_day=row["bytes_per_day"],
        stored_bytes=row["stored_bytes"],
    )
    redaction = RedactionRules.read(row["redaction"])
    return ProjectRow(
        row["project_id"],
        row["name"],
        row["created_ns"],
        limits,
        row["encrypted"],
        row["key_destroyed"],
        redaction,
    )

"""[store] → upkeep: takes what was deleted out of Postgres' files: of dictionaries, tables, statistics and log.

No collector may use the database meanwhile: it would compress with a dictionary that is deleted here.
"""

import asyncio

from playhead_collector.errors import DatabaseError
from playhead_collector.store.packing.zstd import NEWEST, builtin
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.dictionaries import Dictionaries
from playhead_collector.store.postgres.statements import Conn

_CONTENTS_AT_A_TIME, _PACKS_AT_A_TIME = 500, 20


async def scrub(conn: Conn) -> None:
    """Rewrites all tables of the database without what was deleted, and begins a new file of the write-ahead log.

    A dictionary that was trained on contents may have phrases of erased ones: contents of projects in which something
    was erased are compressed again without it. Raises DatabaseError while a collector uses the database.
    """
    others = await sql.value(conn, "other_collectors")
    if others:
        raise DatabaseError(f"a collector uses this database ({others} connections): stop all of them, and try again")
    for project_id in await sql.column(conn, "projects_with_dictionaries"):
        await _without_dictionaries(conn, project_id)
    await sql.rows(conn, "vacuum_all")
    await sql.rows(conn, "vacuum_statistics")
    # The first checkpoint writes the tables; after the second one, no earlier file of the log is needed.
    await sql.rows(conn, "checkpoint")
    await sql.rows(conn, "switch_wal")
    await sql.rows(conn, "checkpoint")


async def begin_epochs(conn: Conn) -> None:
    """Makes senders forget what they believe to be stored: they ask again."""
    await sql.run(conn, "new_epochs")


async def _without_dictionaries(conn: Conn, project_id: int) -> None:
    """Compresses contents and packs of a project with the built-in dictionary, and deletes the trained ones."""
    dictionaries, plain = Dictionaries(), builtin(NEWEST)
    ref = b""
    while rows := await sql.rows(
        conn, "trained_contents", project_id=project_id, after=ref, how_many=_CONTENTS_AT_A_TIME
    ):
        texts = [await dictionaries.plain(conn, project_id, row["encoding"], row["body"]) for row in rows]
        bodies = await asyncio.to_thread(plain.compress_many, texts)
        refs = [row["ref"] for row in rows]
        await sql.run(conn, "encode_contents", project_id=project_id, refs=refs, encoding=-NEWEST, bodies=bodies)
        ref = refs[-1]
    pack = -1
    while rows := await sql.rows(conn, "trained_packs", project_id=project_id, after=pack, how_many=_PACKS_AT_A_TIME):
        for row in rows:
            text = await dictionaries.plain(conn, project_id, row["encoding"], row["body"])
            body = await asyncio.to_thread(plain.compress_pack, text)
            await sql.run(conn, "encode_pack", project_id=project_id, pack=row["pack"], encoding=-NEWEST, body=body)
        pack = rows[-1]["pack"]
    await sql.run(conn, "delete_dictionaries", project_id=project_id)

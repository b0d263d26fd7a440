"""projection → [store]: what contents that stay rows are: kind, estimated tokens and size.  Works in the background.

A content that is packed gets them with its pack. A large one stays a row, and its row is written once more.
"""

import asyncio
from collections.abc import Mapping

from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.token_estimates import estimate_content
from playhead_collector.errors import ContentCorrupt
from playhead_collector.store.packing.kinds import NOT_KNOWN, OTHER_NUMBER, kind_in
from playhead_collector.store.packing.roles import role_in
from playhead_collector.store.postgres import content_rows
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Database
from playhead_collector.store.postgres.packs import Packs

_MEASURED_AT_A_TIME = 1_000


async def describe_rows(db: Database, packs: Packs, project_id: int, kinds: Mapping[ContentRef, int]) -> None:
    """Notes kind and tokens of those of these contents that are rows and do not have them. `kinds`: the number of the
    kind that the names of each ref tell."""
    async with db.reading() as conn:
        refs = [ref.digest for ref in kinds]
        rows = await sql.column(conn, "undescribed", project_id=project_id, refs=refs) if refs else []
    for ref in map(ContentRef.from_digest, rows):
        # One at a time: each may have some MiB.
        try:
            async with db.reading() as conn:
                contents = await content_rows.read(conn, packs, project_id, [ref])
        except ContentCorrupt:
            continue  # reading it says so
        if ref not in contents:
            continue
        kind, tokens = await asyncio.to_thread(_description, contents[ref], kinds[ref])
        async with db.transaction() as conn:
            await sql.run(
                conn, "describe_contents", project_id=project_id, refs=[ref.digest], kinds=[kind], tokens=[tokens]
            )


def _description(content: Content, named: int) -> tuple[int, int]:
    kind = named
    if kind == NOT_KNOWN:
        kind = kind_in(content.data, role_in(content.data)) or OTHER_NUMBER
    return kind, estimate_content(content.data)


async def measure_older(db: Database) -> int:
    """Fills in size and kind of some rows of an older version. Returns how many; 0: there are none left."""
    async with db.reading() as conn:
        rows = await sql.rows(conn, "unmeasured", how_many=_MEASURED_AT_A_TIME)
    if rows:
        # In one order, so that two collectors do not wait for each other in a circle.
        rows = sorted(rows, key=lambda row: (row["project_id"], row["ref"]))
        async with db.transaction() as conn:
            await sql.run(
                conn,
                "measure",
                projects=[row["project_id"] for row in rows],
                refs=[row["ref"] for row in rows],
                kinds=[kind_in(b"", row["role"]) for row in rows],
                sizes=[content_rows.plain_size(row["encoding"], row["stored"], row["head"]) for row in rows],
            )
    return len(rows)

"""[store]: the blocks of the search index: contents are added when runs are indexed, and taken out when no indexed run
has them any more.

A row of `search_run` names the block of each of its contents, so blocks keep their numbers.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from playhead.model.ref import ContentRef
from playhead_collector.store.packing import seen_contents
from playhead_collector.store.packing.content_packs import key_of
from playhead_collector.store.packing.search_blocks import (
    MOST_CONTENTS,
    IndexedContent,
    OpenBlock,
    SearchBlock,
    encode,
    split,
)
from playhead_collector.store.packing.seen_contents import SeenContent, prefix_of
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.statements import Conn

# More contents than this get blocks of their own, fewer go into one that has as few: so each is written few times.
_FEW = MOST_CONTENTS // 2 - 1
# Runs that are looked at for a content: almost always, the first one has it. Others have something else with its key.
_FIRST, _OTHERS = 1, 1_000


async def blocks_of(conn: Conn, project_id: int, refs: Collection[ContentRef]) -> dict[bytes, int]:
    """Returns the blocks of those of these contents that are in the index, by their prefixes."""
    found: dict[bytes, int] = {}
    left = {key_of(ref) for ref in refs}
    for how_many in (_FIRST, _OTHERS):
        rows = await sql.rows(conn, "runs_with_keys", project_id=project_id, keys=list(left), how_many=how_many)
        runs = list({row["run_id"] for row in rows})
        seen: dict[bytes, SeenContent] = {}
        for body in await sql.column(conn, "seen_by", project_id=project_id, runs=runs):
            seen |= seen_contents.decode(body)
        found |= {prefix: seen[prefix].block for ref in refs if (prefix := prefix_of(ref)) in seen}
        left = {row["key"] for row in rows} - set(map(_key, found))
        if not left:
            break
    return found


async def add(conn: Conn, project_id: int, contents: Sequence[IndexedContent]) -> dict[bytes, int]:
    """Adds contents that are in no block. Returns the block of each, by its prefix. Call it after `lock`."""
    if not contents:
        return {}
    if len(contents) <= _FEW:
        row = await sql.row(conn, "small_block", project_id=project_id)
        if row is not None:
            old = OpenBlock(row["body"], len(row["terms"])).contents(row["terms"])
            await _replace(conn, project_id, row["block"], [*old, *contents])
            return {content.prefix: row["block"] for content in contents}
    placed: dict[bytes, int] = {}
    for together in split(contents):
        number: int = await sql.value(conn, "insert_block", project_id=project_id, **_columns(encode(together)))
        placed |= {content.prefix: number for content in together}
    return placed


async def lock(conn: Conn, project_id: int) -> None:
    """Waits until nobody else indexes runs of the project, and keeps others from it until the transaction ends."""
    await sql.value(conn, "lock_blocks", project_id=project_id)


async def forget_runs(conn: Conn, project_id: int, runs: Sequence[UUID]) -> None:
    """Takes runs out of the index, with the texts that no other run has."""
    rows = await sql.rows(conn, "forget_searched_runs", project_id=project_id, runs=runs)
    await forget(conn, project_id, [seen_contents.decode(row["seen"]) for row in rows])


async def forget(conn: Conn, project_id: int, seen: Iterable[Mapping[bytes, SeenContent]]) -> None:
    """Takes those of these contents out of the index that no indexed run has."""
    blocks = {prefix: content.block for contents in seen for prefix, content in contents.items()}
    keys = list({_key(prefix) for prefix in blocks})
    named = {
        row["key"] for row in await sql.rows(conn, "runs_with_keys", project_id=project_id, keys=keys, how_many=_FIRST)
    }
    gone: defaultdict[int, set[bytes]] = defaultdict(set)
    for prefix, block in blocks.items():
        if _key(prefix) not in named:
            gone[block].add(prefix)
    for row in await sql.rows(conn, "blocks", project_id=project_id, blocks=list(gone)):
        contents = OpenBlock(row["body"], len(row["terms"])).contents(row["terms"])
        left = [content for content in contents if content.prefix not in gone[row["block"]]]
        await _replace(conn, project_id, row["block"], left)


async def _replace(conn: Conn, project_id: int, block: int, contents: Sequence[IndexedContent]) -> None:
    if contents:
        await sql.run(conn, "update_block", project_id=project_id, block=block, **_columns(encode(contents)))
    else:
        await sql.run(conn, "delete_block", project_id=project_id, block=block)


def _columns(block: SearchBlock) -> dict[str, Any]:
    return {
        "oldest": block.oldest_ns,
        "newest": block.newest_ns,
        "contents": block.contents,
        "terms": block.terms,
        "body": block.body,
    }


def _key(prefix: bytes) -> int:
    return int.from_bytes(prefix[:4], signed=True)

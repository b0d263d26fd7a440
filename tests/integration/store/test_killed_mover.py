"""A mover that is killed anywhere: nothing that is named is lost, and the next mover leaves no object behind."""

import asyncio
import random
import sys
from pathlib import Path

import asyncpg
import pytest

from playhead.model.canonical import Content
from playhead_collector.retain.object_mover import ObjectMover
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import connect
from tests.integration.store.making import P, span
from tests.support.database_sessions import sessions_of_stores, wait_for_end_of_sessions
from tests.support.killed_mover import LEAST

KILLED = -9


@pytest.mark.parametrize(
    ("call", "when"),
    [
        ("put", "before"), ("put", "after"), ("get", "before"), ("get", "after"), ("size", "before"),
        ("delete", "before"), ("delete", "after"),
    ],
)  # fmt: skip
async def test_the_next_mover_goes_on_where_a_killed_one_was(
    module_database_url: str, sql: asyncpg.Connection, tmp_path: Path, call: str, when: str
):
    contents = [Content(random.Random(n).randbytes(80_000), "application/octet-stream") for n in range(4)]
    runs = [f"{n + 1:032x}" for n in range(4)]
    objects = open_object_store(f"file://{tmp_path}/objects", 10)
    store = await connect(module_database_url, pool_size=2, objects=objects)
    for run, content in zip(runs, contents, strict=True):
        await store.contents.put(P, [content])
        spans = [span(1, run=run, INPUT_REF=content.ref)]
        await store.spans.ingest(P, Batch(spans=spans))
    # An object that nobody names, so that there is something to delete.
    await store.objects.put_parts(P, {"nobody's": b"x" * 100})
    await sql.execute("update stored_object set state = 3")
    ours = await sessions_of_stores(sql)
    program = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.support.killed_mover", module_database_url, f"{tmp_path}/objects", call, when
    )
    assert await program.wait() == KILLED
    await wait_for_end_of_sessions(sql, but=ours)
    refs = [content.ref for content in contents]
    assert set(await store.contents.get_many(P, refs)) == set(refs)

    await sql.execute("update stored_object set changed = changed - interval '2 hours'")
    times = iter(range(0, 10**9, 10_000))
    mover = ObjectMover(
        store.moves, store.objects, least_bytes=LEAST, grace_s=0, wait_s=0, clock=lambda: float(next(times))
    )
    for _ in range(20):
        await mover.run_once()
    assert mover.problem is None
    assert await sql.fetchval("select count(*) from content where body is null and object is not null") == 4
    assert set(await store.contents.get_many(P, refs)) == set(refs)
    assert await store.objects.unknown_keys() == []
    assert len(await objects.keys()) == 4
    assert await sql.fetchval("select count(*) from stored_object where state <> 2") == 0
    await store.close()

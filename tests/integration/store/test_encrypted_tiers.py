"""Of an encrypted project, records of thinned runs are encrypted in their rows and in the object store."""

import base64
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import orjson
import pytest
from zstandard import ZstdError

from playhead_collector.projection import ProjectionRunner
from playhead_collector.retain.object_mover import ObjectMover
from playhead_collector.retain.packer import Packer
from playhead_collector.retain.retainer import Retainer
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.operator_key import KeySource
from playhead_collector.store.packing import packed_runs
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.ports.tiers import Tier
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.store.making import Clock
from tests.support.many_runs.varied import VariedRun

KEY = base64.b64encode(bytes(range(32))).decode()
# Encrypted bytes are random: most are no frame of zstd, some are one of a size that no memory has, few another text.
NOT_A_RECORD = (ZstdError, MemoryError, struct.error, ValueError)


@pytest.fixture
def clock() -> Clock:
    clock = Clock()
    clock.now_ns = VariedRun(1).spans[0].start_ns + 3_600 * 10**9
    return clock


@pytest.fixture
async def store(
    module_database_url: str, clock: Clock, sql: asyncpg.Connection, tmp_path: Path
) -> AsyncIterator[PostgresStore]:
    store = await connect(
        module_database_url,
        pool_size=4,
        clock=clock,
        objects=open_object_store(f"file://{tmp_path}/objects", 10),
        operator_key=KeySource(KEY).open(),
    )
    yield store
    await store.close()


async def test_a_cold_run_of_an_encrypted_project(
    store: PostgresStore, sql: asyncpg.Connection, clock: Clock, tmp_path: Path
):
    created = await store.projects.create("secret", encrypted=True)
    assert created is not None
    project, run = created.number, VariedRun(3, number=11)  # a run that fails with a text
    await store.contents.put(project, run.contents.values(), run.threads)
    await store.spans.ingest(project, Batch(run.spans))
    runner = ProjectionRunner(store.projections, clock=clock, seal_after_s=1)
    for _ in range(4):
        await runner.run_once()
        clock.now_ns += 10**10
    packer = Packer(store.projections, clock=clock, rest=lambda: 0)
    while await store.projections.runs_to_pack(1):
        await packer.run_once()
        clock.now_ns += 10**9
    before, spans = await store.events.read(project, run.run), await store.spans.read(project, run.run)
    tag = run.spans[0].attributes["playhead.run.tags"][0]
    rule = {"name": "by tag", "tag": tag, "hot": "1d", "cold": "10d", "archive": "forever"}
    await store.tiers.set_policy(project, orjson.dumps({"rules": [rule]}).decode())
    await store.tiers.pin(project, run.run, f"about {run.code}", None)
    pin = await store.tiers.pin_of(project, run.run)
    assert pin is not None
    assert pin.reason == f"about {run.code}"
    assert run.code not in await sql.fetchval("select reason from pin")
    await store.tiers.unpin(project, run.run)

    clock.days_pass(2)
    retainer = Retainer(store.tiers, wall_ns=clock)  # first without the object store
    await retainer.run_once()
    body = await sql.fetchval("select body from packed_run")
    await check_plain(store, project, run, before, spans)
    retainer = Retainer(store.tiers, wall_ns=clock, objects=store.moves)
    await retainer.run_once()
    times = iter(range(0, 10**9, 10_000))
    mover = ObjectMover(
        store.moves, store.objects, least_bytes=10**9, grace_s=0, wait_s=0, clock=lambda: float(next(times))
    )
    for _ in range(5):
        await mover.run_once()
    assert await sql.fetchval("select body from packed_run") is None
    await check_plain(store, project, run, before, spans)
    moved = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert body in moved  # as it was in the row
    with pytest.raises(NOT_A_RECORD):
        packed_runs.decode(body)
    clock.days_pass(10)
    await retainer.run_once()
    row = await store.runs.get(project, run.run)
    assert row is not None
    assert row.tier == Tier.ARCHIVE
    assert [event.kind for event in await store.events.read(project, run.run)] == [event.kind for event in before]


async def check_plain(store: PostgresStore, project: int, run: VariedRun, before: object, spans: object) -> None:
    row = await store.runs.get(project, run.run)
    assert row is not None
    assert (row.tier, row.thinned_rule) == (Tier.COLD, "by tag")
    assert await store.events.read(project, run.run) == before
    assert await store.spans.read(project, run.run) == spans

"""A collector whose contents are in S3: answers are equal, and an object store that fails hurts what needs it alone."""

import asyncio
import random
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import httpx
import pytest
from fastapi import FastAPI

from playhead.model import names
from playhead.model.canonical import Content
from playhead.outbound.otlp import traces_request
from playhead.wire.pack import PACK, Pack, encode_pack
from playhead_collector.app import create_app
from playhead_collector.retain.object_mover import ObjectMover
from playhead_collector.serve import health
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.objects.obstore_store import open_object_store
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.objects.conftest import BUCKET
from tests.support.made_up_runs import MadeUpRun
from tests.support.object_proxy import ObjectProxy, proxied

LEAST = 64 * 1024
# As long as a machine may stand still, but where the object store never answers.
SECONDS, SLOW_SECONDS = 60.0, 2.0
P = 1
PROTOBUF = "application/x-protobuf"


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch, s3_url: str) -> Iterator[ObjectProxy]:
    with proxied(s3_url) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT_URL", proxy.url)
        yield proxy


@asynccontextmanager
async def opened(database_url: str, seconds: float = SECONDS) -> AsyncGenerator[PostgresStore]:
    """A store that waits so many seconds for the object store."""
    store = await connect(database_url, pool_size=6, objects=open_object_store(f"s3://{BUCKET}/here", seconds, seconds))
    try:
        yield store
    finally:
        await store.close()


@asynccontextmanager
async def asking(database_url: str, seconds: float = SECONDS) -> AsyncGenerator[httpx.AsyncClient]:
    """Asks a collector of its own on the database, which has read nothing yet."""
    settings = CollectorSettings(object_store="s3://set", search=False)
    async with (
        opened(database_url, seconds) as store,
        httpx.AsyncClient(
            transport=httpx.ASGITransport(create_app(settings, store)), base_url="http://localhost", timeout=60
        ) as http,
    ):
        yield http


def patience(fault: str) -> float:
    return SLOW_SECONDS if fault == "slow" else SECONDS


@pytest.fixture
async def store(database_url: str, proxy: ObjectProxy) -> AsyncGenerator[PostgresStore]:
    async with opened(database_url) as store:
        yield store


@pytest.fixture
async def http(database_url: str, proxy: ObjectProxy) -> AsyncGenerator[httpx.AsyncClient]:
    async with asking(database_url) as http:
        yield http


def mover(store: PostgresStore) -> ObjectMover:
    times = iter(range(0, 10**9, 1_000))
    return ObjectMover(
        store.moves, store.objects, least_bytes=LEAST, grace_s=0, wait_s=0, clock=lambda: float(next(times))
    )


async def settle(store: PostgresStore) -> None:
    """Moves all that can move: large contents, and packs."""
    working = mover(store)
    while await store.moves.large_waiting(LEAST):
        await working.run_once()
        assert working.problem is None
    await store.moves.move_packs(P, list(range(1, 1_000)))
    while await store.objects.check_and_settle(0, 100):
        pass


def large_run(number: int) -> MadeUpRun:
    """A run that names a content of 200 KiB, which cannot be compressed."""
    run = MadeUpRun(4)
    content = Content(random.Random(number).randbytes(200 * 1024), "application/octet-stream")
    run.contents[content.ref] = content
    run.spans[1].attributes[names.INPUT_REF] = str(content.ref)
    return run


async def send(http: httpx.AsyncClient, run: MadeUpRun) -> None:
    pack = encode_pack(Pack(tuple(run.contents.values()), tuple(run.threads)))
    for path, body, media_type in (
        ("/v1/content", pack, PACK),
        ("/v1/traces", traces_request(run.spans), PROTOBUF),
    ):
        answer = await http.post(path, content=body, headers={"Content-Type": media_type})
        assert answer.status_code == 200, answer.text


async def answers(http: httpx.AsyncClient, run: MadeUpRun) -> list[Any]:
    """Of questions that need contents, and of some that need none."""
    base = f"/api/v1/runs/{run.run}"
    paths = [base, f"{base}/events", f"{base}/state?hydrate=true", f"{base}/context?at=6"]
    paths += [f"/api/v1/content/{ref}" for ref in run.contents]
    found: list[Any] = []
    for path in paths:
        answer = await http.get(path)
        assert answer.status_code == 200, (path, answer.text)
        found.append((path, answer.status_code, answer.content))
    return found


async def test_answers_are_equal_before_and_after_and_postgres_is_smaller(
    http: httpx.AsyncClient, store: PostgresStore, database_url: str, proxy: ObjectProxy
):
    runs = [large_run(n) for n in range(6)]
    for run in runs:
        await send(http, run)
    before = [await answers(http, run) for run in runs]
    await store.projections.pack([UnpackedRun(P, run.run, 1) for run in runs])
    sql = await asyncpg.connect(database_url)
    held = "select (select sum(octet_length(body)) from content) + (select sum(octet_length(body)) from content_pack)"
    had = await sql.fetchval(held)
    await settle(store)
    assert await sql.fetchval("select count(*) from content_pack where body is not null") == 0
    assert (await sql.fetchval("select coalesce(sum(octet_length(body)), 0) from content")) < had / 100
    sizes = await store.objects.sizes()
    assert sizes.named_bytes == sizes.bytes > 6 * 200 * 1024
    async with asking(database_url) as other:
        assert [await answers(other, run) for run in runs] == before
    await sql.close()


@pytest.mark.parametrize(
    ("fault", "status", "code"),
    [
        ("slow", 503, "object_store_unavailable"),
        ("503", 503, "object_store_unavailable"),
        ("cut", 503, "object_store_unavailable"),
        ("other", 500, "content_corrupt"),
        ("short", 500, "content_corrupt"),
    ],
)
async def test_what_needs_a_failing_object_store_is_told_and_all_else_goes_on(
    database_url: str, store: PostgresStore, proxy: ObjectProxy, fault: str, status: int, code: str
):
    run = large_run(1)
    large = max(run.contents.values(), key=lambda content: len(content.data))
    async with asking(database_url, patience(fault)) as http:
        await send(http, run)
        assert (await http.get(f"/api/v1/runs/{run.run}/events")).status_code == 200
        await settle(store)
        proxy.fault = fault
        refused = await http.get(f"/api/v1/content/{large.ref}")
        assert (refused.status_code, refused.json()["error"]["code"]) == (status, code)
        assert ("retry-after" in refused.headers) == (status == 503)
        other = large_run(2)
        await send(http, other)
        for path in ("/api/v1/runs", f"/api/v1/runs/{other.run}/events", f"/api/v1/runs/{run.run}/events"):
            assert (await http.get(path)).status_code == 200, path
        async with asyncio.timeout(60):  # while this machine stands still, it says that Postgres is silent
            while (await http.get("/readyz")).status_code != 200:
                pass
    proxy.end_fault()
    assert (await store.contents.get(P, large.ref)).data == large.data


@pytest.mark.parametrize("fault", ["507", "503", "other", "cut", "slow"])
async def test_nothing_is_lost_when_writing_fails_and_the_mover_goes_on_later(
    database_url: str, http: httpx.AsyncClient, proxy: ObjectProxy, fault: str
):
    run = large_run(1)
    await send(http, run)
    large = max(run.contents.values(), key=lambda content: len(content.data))
    async with opened(database_url, patience(fault)) as store:
        proxy.fault, working = fault, mover(store)
        assert await working.run_once() >= 5
        assert working.problem
        app = FastAPI()
        app.include_router(health.router(store, lambda: working.problem))
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as probe:
            async with asyncio.timeout(60):  # as above
                while (ready := await probe.get("/readyz")).status_code != 200:
                    pass
        assert ready.json() == {"status": "ready", "object_store": working.problem}
        assert working.counts["failures"] == 1
        assert await store.moves.large_waiting(LEAST) == 1
        assert (await http.get(f"/api/v1/content/{large.ref}")).content == large.data
        proxy.end_fault()
        for _ in range(4):
            await working.run_once()
        assert working.problem is None
        assert await store.moves.large_waiting(LEAST) == 0
        assert await store.objects.unknown_keys() == []
        assert (await store.objects.sizes()).objects == 1
        assert (await store.objects.sizes()).doomed_bytes == 0

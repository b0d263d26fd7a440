"""Far more questions than can be answered at a time: who waits, who is refused, and who does not notice."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import asyncpg
import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.postgres.store import connect

TRACE, OTHER = "5b" * 16, "5c" * 16
POOL, WAITING = 4, 10
AT_A_TIME = POOL // 2
QUESTIONS = 40


def batch(trace: str) -> bytes:
    request = ExportTraceServiceRequest()
    span = request.resource_spans.add().scope_spans.add().spans.add(name="x", start_time_unix_nano=1)
    span.trace_id, span.span_id, span.end_time_unix_nano = bytes.fromhex(trace), bytes(7) + b"\1", 2
    return request.SerializeToString()


async def send(client: httpx.AsyncClient, trace: str) -> int:
    headers = {"content-type": "application/x-protobuf"}
    return (await client.post("/v1/traces", content=batch(trace), headers=headers)).status_code


@pytest.fixture
async def client(database_url: str) -> AsyncIterator[httpx.AsyncClient]:
    store = await connect(database_url, pool_size=POOL)
    settings = CollectorSettings(pool_size=POOL, reads_waiting=WAITING, analysis_processes=0)
    transport = httpx.ASGITransport(create_app(settings, store))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", timeout=30) as client:
        yield client
    await store.close()


@asynccontextmanager
async def slow_events(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    """Whoever reads events waits until the block ends. Gives a connection that does not."""
    other = await asyncpg.connect(database_url)
    try:
        async with other.transaction():
            await other.execute("lock table event_page in access exclusive mode")
            yield other
    finally:
        await other.close()


@pytest.mark.parametrize("question", ["events", "state", "llm-calls", "decisions", "diff"])
async def test_questions_leave_connections_to_ingest_and_probes(
    client: httpx.AsyncClient, database_url: str, question: str
):
    assert await send(client, TRACE) == 200
    path = f"/api/v1/runs/{TRACE}/{question}"
    assert (await client.get(path)).status_code == 200
    async with slow_events(database_url) as other:
        asked = [asyncio.create_task(client.get(path)) for _ in range(QUESTIONS)]
        while sum(task.done() for task in asked) < QUESTIONS - AT_A_TIME - WAITING:
            await asyncio.wait([task for task in asked if not task.done()], return_when=asyncio.FIRST_COMPLETED)
        refused = [task.result() for task in asked if task.done()]
        assert {answer.status_code for answer in refused} == {503}
        assert {answer.json()["error"]["code"] for answer in refused} == {"too_many_questions"}
        assert all(int(answer.headers["retry-after"]) > 0 for answer in refused)
        held_up = "select count(*) from pg_locks where not granted and relation = 'event_page'::regclass"
        async with asyncio.timeout(60):
            while await other.fetchval(held_up) < AT_A_TIME:
                pass
            assert await send(client, OTHER) == 200
            while (await client.get("/readyz")).status_code != 200:
                pass  # it may be late on a busy machine, but not held up until the questions are answered
            assert (await client.get("/api/v1/keys")).status_code == 200  # an operator can still revoke one
        assert await other.fetchval(held_up) == AT_A_TIME
    answers = await asyncio.gather(*asked)
    assert sum(answer.status_code == 200 for answer in answers) == AT_A_TIME + WAITING
    figures = (await client.get("/metrics")).text
    assert "playhead_reads_running 0.0" in figures
    assert "playhead_reads_waiting 0.0" in figures

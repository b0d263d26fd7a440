"""The real application on a real database: what is sent is stored, once, and can be asked for."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import asyncpg
import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from playhead.model.canonical import content_of
from playhead.wire.pack import PACK, Pack, ThreadExtension, encode_pack
from playhead_collector import embedded
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store import migrate
from playhead_collector.store.postgres.store import PostgresStore, connect

PROTOBUF = {"content-type": "application/x-protobuf"}
TRACE = "5b8efff798038103d269b633813fc60c"


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    store = await connect(database_url, pool_size=4)
    yield store
    await store.close()


@pytest.fixture
async def client(store: PostgresStore) -> AsyncIterator[httpx.AsyncClient]:
    app = create_app(CollectorSettings(), store)
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as client:
        yield client


def batch(numbers: range, **refs: str) -> bytes:
    request = ExportTraceServiceRequest()
    scope_spans = request.resource_spans.add().scope_spans.add()
    for number in numbers:
        span = scope_spans.spans.add(name=f"step {number}", start_time_unix_nano=number, end_time_unix_nano=number + 1)
        span.trace_id, span.span_id = bytes.fromhex(TRACE), number.to_bytes(8, "big")
        for name, ref in refs.items():
            span.attributes.add(key=f"playhead.{name}").value.string_value = ref
    return request.SerializeToString()


async def test_spans_sent_again_and_at_the_same_time_are_stored_once(client: httpx.AsyncClient, store: PostgresStore):
    bodies = [batch(range(1, 50)), batch(range(25, 75)), batch(range(50, 100))] * 3
    answers = await asyncio.gather(*(client.post("/v1/traces", content=body, headers=PROTOBUF) for body in bodies))
    assert {answer.status_code for answer in answers} == {200}
    spans = await store.spans.read(PROJECT, TRACE)
    assert sorted(int(span.span_id, 16) for span in spans) == list(range(1, 100))


async def test_content_is_asked_for_uploaded_and_no_longer_pending(client: httpx.AsyncClient):
    hello, message = content_of("hello"), content_of({"role": "user", "parts": []})
    thread = ThreadExtension(None, (message.ref,))
    refs = [hello.ref, message.ref, thread.ref]
    before = (await client.post("/v1/content/missing", json={"refs": refs})).json()
    assert before["missing"] == refs
    warned = await client.post("/v1/traces", content=batch(range(1, 2), input_ref=hello.ref), headers=PROTOBUF)
    assert b"content pending: 1 refs" in warned.content
    stored = await client.post(
        "/v1/content", content=encode_pack(Pack((hello, message), (thread,))), headers={"content-type": PACK}
    )
    assert stored.json() == {"stored": 2, "refused": [], "unknown_parents": [], "epoch": before["epoch"]}
    assert (await client.post("/v1/content/missing", json={"refs": refs})).json()["missing"] == []
    assert (
        await client.post("/v1/traces", content=batch(range(2, 3), input_ref=hello.ref), headers=PROTOBUF)
    ).content == b""


async def test_a_run_can_be_asked_for_as_soon_as_its_spans_are_acknowledged(client: httpx.AsyncClient):
    await client.post("/v1/traces", content=batch(range(1, 4)), headers=PROTOBUF)
    assert (await client.get(f"/api/v1/runs/{TRACE}")).status_code == 200
    async with asyncio.timeout(60):
        while (await client.get("/readyz")).status_code != 200:
            pass  # on a busy machine, Postgres may not have answered just now
    metrics = (await client.get("/metrics")).text
    assert "playhead_spans_total 3.0" in metrics
    assert "playhead_runs_waiting 0.0" in metrics


async def test_texts_that_postgres_cannot_hold_do_not_cost_the_batch(client: httpx.AsyncClient, store: PostgresStore):
    attributes = [
        {"key": "k\0", "value": {"stringValue": "v\0"}},
        {"key": "not a number", "value": {"doubleValue": "NaN"}},
        {"key": "bytes", "value": {"bytesValue": "AAE="}},
    ]
    span = {"traceId": TRACE, "spanId": "ab" * 8, "name": "a\0b", "attributes": attributes}
    answer = await client.post("/v1/traces", json={"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]})
    assert answer.status_code == 200, answer.text
    assert len(await store.spans.read(PROJECT, TRACE)) == 1


async def test_the_api_describes_itself(client: httpx.AsyncClient):
    described = (await client.get("/api/v1/openapi.json")).json()
    assert {"/v1/traces", "/v1/logs", "/v1/metrics", "/v1/content", "/v1/content/missing", "/healthz"} <= set(
        described["paths"]
    )
    page = await client.get("/api/v1/docs")
    assert page.status_code == 200
    policy = page.headers["content-security-policy"]
    assert {"default-src 'none'", "connect-src 'self'", "frame-ancestors 'none'"} <= set(policy.split("; "))


async def test_while_the_database_is_away_everything_is_a_503(data_dir: Path):
    postgres = await asyncio.to_thread(embedded.start, data_dir)
    await migrate.upgrade(postgres.dsn)
    store = await connect(postgres.dsn, pool_size=2)
    transport = httpx.ASGITransport(create_app(CollectorSettings(), store))
    try:
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            assert (await client.get("/metrics")).status_code == 200  # from here on it is known that there are no keys
            await asyncio.to_thread(postgres.stop)
            answers = [
                await client.post("/v1/traces", content=batch(range(1, 2)), headers=PROTOBUF),
                await client.post("/v1/content/missing", json={"refs": []}),
                await client.get("/readyz"),
            ]
            assert [(answer.status_code, answer.headers["retry-after"]) for answer in answers] == [(503, "1")] * 3
            assert (await client.get("/healthz")).status_code == 200
            assert "playhead_runs_waiting NaN" in (await client.get("/metrics")).text
            postgres = await asyncio.to_thread(embedded.start, data_dir)
            again, body = answers[0], batch(range(1, 2))
            async with asyncio.timeout(60):
                while again.status_code != 200:  # it may not have been noticed yet that Postgres answers again
                    again = await client.post("/v1/traces", content=body, headers=PROTOBUF)
    finally:
        await store.close()
        await asyncio.to_thread(postgres.stop)


async def test_connections_that_break_amid_statements_are_503s_and_nothing_worse(
    client: httpx.AsyncClient, database_url: str
):
    statuses: set[int] = set()

    async def send(sender: int) -> None:
        for number in range(2_000):
            if number >= 15 and 503 in statuses:
                break
            first = (sender * 2_000 + number) * 20 + 1
            answer = await client.post("/v1/traces", content=batch(range(first, first + 20)), headers=PROTOBUF)
            statuses.add(answer.status_code)

    admin = await asyncpg.connect(database_url)
    try:
        senders = asyncio.gather(*map(send, range(4)))
        while not senders.done():  # they go on until a connection has been broken amid a statement
            await admin.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity "
                "where application_name = 'playhead' and datname = current_database()"
            )
            await asyncio.wait([senders], timeout=0.02)
        await senders
    finally:
        await admin.close()
    assert 503 in statuses
    assert statuses <= {200, 503}

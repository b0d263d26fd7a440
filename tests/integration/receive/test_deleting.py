"""Deletion over HTTP and from the command line: who may, what is refused, what a late sender is told."""

import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from typer.testing import CliRunner, Result

from playhead.cli import app
from playhead.client import AsyncClient
from playhead.errors import BadRequest, Conflict, NotAuthorized, NotFound
from playhead.model import names
from playhead.model.canonical import content_of
from playhead_collector.app import create_app
from playhead_collector.process import CollectorProcess
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.store.making import RUN, START_NS, Clock, P, run_number, span

MASTER = "the operator's"
FORK = run_number(7)
PROTOBUF = {"content-type": "application/x-protobuf", "authorization": f"Bearer {MASTER}"}


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(database_url: str, clock: Clock) -> AsyncIterator[PostgresStore]:
    store = await connect(database_url, pool_size=4, clock=clock)
    spans = [span(1, INPUT_REF=content_of("hello").ref), span(1, run=FORK, FORK_OF=RUN, RUN_ROOT=True)]
    await store.spans.ingest(P, Batch(spans=spans, contents=[content_of("hello")]))
    yield store
    await store.close()


def asking(store: PostgresStore, key: str | None = MASTER) -> AsyncClient:
    transport = httpx.ASGITransport(create_app(CollectorSettings(admin_key=MASTER), store))
    return AsyncClient("http://localhost", key, transport=transport)


async def test_forks_are_named_and_go_when_they_are_to(store: PostgresStore):
    async with asking(store) as client:
        with pytest.raises(Conflict, match=f"{FORK}.*forks=true"):
            await client.delete_run(RUN)
        assert (await client.run(RUN))["run"] == RUN
        with pytest.raises(BadRequest, match="name the one to delete by its id"):
            await client.delete_run("last")
        with pytest.raises(NotFound):
            await client.delete_run(run_number(99))
        answer = await client.delete_run(RUN[:6], forks=True)
        assert answer == {"deleted": [RUN, FORK], "content_after_seconds": 86_400}
        for run in (RUN, FORK):
            with pytest.raises(NotFound):
                await client.run(run)
        assert [run async for run in client.runs()] == []


async def test_only_a_key_with_the_scope_admin_may_delete(store: PostgresStore):
    async with asking(store) as admin:
        reader = await admin.create_key("reader", ["read", "ingest"])
        boss = await admin.create_key("boss", ["admin"])
    async with asking(store, reader["key"]) as client:
        for ask in (client.delete_run(FORK), client.collect_garbage()):
            with pytest.raises(NotAuthorized, match="scope admin"):
                await ask
    async with asking(store, boss["key"]) as client:
        assert (await client.delete_run(FORK))["deleted"] == [FORK]


async def test_content_is_collected_by_hand_after_the_grace_period(store: PostgresStore, clock: Clock):
    async with asking(store) as client:
        await client.delete_run(RUN, forks=True)
        assert await swept(client) == {"phase": None, "contents": 0, "thread_nodes": 0}
        clock.days_pass(2.1)
        assert await swept(client) == {"phase": None, "contents": 1, "thread_nodes": 0}
        with pytest.raises(NotFound):
            await client.content(content_of("hello").ref)


async def swept(client: AsyncClient) -> Any:
    answer = await client.collect_garbage()
    while answer["phase"] is not None:
        answer = await client.collect_garbage()
    return answer


def one_span(run: str) -> bytes:
    """A request of OTLP."""
    request = ExportTraceServiceRequest()
    made = request.resource_spans.add().scope_spans.add().spans.add()
    made.trace_id, made.span_id, made.name = bytes(15) + b"\1", bytes(7) + b"\2", "late"
    made.start_time_unix_nano, made.end_time_unix_nano = START_NS, START_NS + 1
    attribute = made.attributes.add()
    attribute.key, attribute.value.string_value = names.RUN_ID, run
    return request.SerializeToString()


async def test_a_late_sender_is_told_and_counted(store: PostgresStore):
    transport = httpx.ASGITransport(create_app(CollectorSettings(admin_key=MASTER), store))
    async with asking(store) as client:
        await client.delete_run(RUN, forks=True)
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost", headers=PROTOBUF) as http:
        reply = await http.post("/v1/traces", content=one_span(RUN))
        metrics = (await http.get("/metrics")).text
    said = ExportTraceServiceResponse.FromString(reply.content).partial_success
    assert (said.rejected_spans, said.error_message) == (
        0,
        "1 spans and log events are of runs that were deleted, and were not kept",
    )
    assert "playhead_dropped_late_total 1.0" in metrics
    assert await store.runs.get(P, RUN) is None


def test_the_command_asks_first_and_deletes(database_url: str):
    with CollectorProcess(database_url=database_url) as collector:
        for run in (RUN, FORK):
            httpx.post(
                f"{collector.url}/v1/traces", content=one_span(run), headers=PROTOBUF, timeout=60
            ).raise_for_status()

        def playhead(*args: str, said: str = "") -> Result:
            return CliRunner().invoke(app, ["--url", collector.url, *args], input=said)

        kept = playhead("delete", RUN[:8], said="n\n")
        assert kept.exit_code == 1
        assert f"Delete run {RUN}" in kept.stderr
        assert playhead("show", RUN).exit_code == 0
        assert playhead("delete", RUN[:8], said="y\n").stdout.endswith(f"deleted {RUN}\n")
        assert playhead("show", RUN).exit_code == 1
        answer = playhead("delete", "last", "--yes", "--json").stdout
        assert json.loads(answer) == {"deleted": [FORK], "content_after_seconds": 86_400}
        assert playhead("delete", FORK, "--yes").exit_code == 1
        assert "contents deleted" in playhead("gc").stdout

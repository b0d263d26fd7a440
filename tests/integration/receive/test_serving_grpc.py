"""The gRPC port of a whole collector: its settings, keys, health, and how it stops."""

import asyncio
import os
import socket
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import grpc
import grpc.aio
import httpx
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from playhead import Client
from playhead.errors import CollectorUnreachable
from playhead.export.counters import ShipCounters
from playhead.export.http import CollectorEndpoint
from playhead.settings import sdk
from playhead.wire.retries import Unavailable
from playhead_collector import cli
from playhead_collector.network.grpc_server import bind
from playhead_collector.network.guard import Limits
from playhead_collector.process import CollectorProcess
from playhead_collector.receive.otlp_grpc import SERVICES
from playhead_collector.settings import load
from playhead_collector.store.postgres.store import connect
from tests.integration.receive.test_serving import batch
from tests.support.readiness import until_ready
from tests.support.slow_grpc import (
    CONTINUATION,
    END_HEADERS,
    HEADERS,
    PREFACE,
    SETTINGS,
    call_head,
    cancelling_senders,
    frame,
)

EXPORT = f"/{SERVICES['traces']}/Export"
Health: Any = cast(Any, health_pb2)
SERVING, NOT_SERVING = Health.HealthCheckResponse.SERVING, Health.HealthCheckResponse.NOT_SERVING


def channel(collector: CollectorProcess) -> Any:
    assert collector.grpc_url is not None
    return grpc.insecure_channel(collector.grpc_url.removeprefix("http://"))


def health(opened: Any, service: str = "") -> Any:
    """The status, once Postgres has answered in time, which on a busy machine it may not do for a moment."""
    stub, until = cast(Any, health_pb2_grpc).HealthStub(opened), time.monotonic() + 60
    while True:
        status = stub.Check(Health.HealthCheckRequest(service=service), timeout=30).status
        if status != NOT_SERVING or time.monotonic() > until:
            return status


def test_a_taken_port_is_named_before_anything_is_started(data_dir: Path, capsys: pytest.CaptureFixture[str]):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        assert cli.serve(port=0, grpc_port=port, data_dir=data_dir) == cli.FAILED
    assert capsys.readouterr().err.endswith(
        f"playhead: port {port} on 127.0.0.1 is taken: stop what listens there (another collector?), or set "
        "PLAYHEAD_GRPC_PORT (off: none)\n"
    )
    assert list(data_dir.iterdir()) == []


def test_it_can_be_switched_off():
    with cli.hold_grpc_port(load({"PLAYHEAD_GRPC_PORT": "off"})) as held:
        assert held is None
    assert asyncio.run(cli.start_grpc(load({}), None, [])) is None


def test_keys_and_health(database_url: str):
    with CollectorProcess(database_url=database_url, env={"PLAYHEAD_ADMIN_KEY": "master"}) as collector:
        made = httpx.post(
            f"{collector.url}/api/v1/keys",
            json={"name": "reader", "scopes": ["read"]},
            headers={"authorization": "Bearer master"},
            timeout=60,
        )
        assert made.status_code < 300, made.text
        with channel(collector) as opened:
            export = opened.unary_unary(EXPORT)

            def code(*metadata: tuple[str, str]) -> Any:
                try:
                    export(batch("5c" * 16, range(1, 2)), metadata=metadata, timeout=30)
                except grpc.RpcError as error:
                    return cast(Any, error).code()
                return grpc.StatusCode.OK

            assert code() is grpc.StatusCode.UNAUTHENTICATED
            assert code(("authorization", "Bearer wrong")) is grpc.StatusCode.UNAUTHENTICATED
            assert code(("authorization", f"Bearer {made.json()['key']}")) is grpc.StatusCode.PERMISSION_DENIED
            assert code(("authorization", "Bearer master")) is grpc.StatusCode.OK
            assert code(("x-api-key", "master")) is grpc.StatusCode.OK
            assert code(("api_key", "master")) is grpc.StatusCode.OK
            assert health(opened) == health(opened, SERVICES["logs"]) == SERVING
            with pytest.raises(grpc.RpcError) as refused:
                health(opened, "other")
            assert cast(Any, refused.value).code() is grpc.StatusCode.NOT_FOUND
        metrics = httpx.get(f"{collector.url}/metrics", headers={"x-api-key": "master"}, timeout=60).text
        assert 'playhead_requests_total{route="grpc traces",status="200"} 3.0' in metrics
        assert 'playhead_requests_total{route="grpc traces",status="401"} 2.0' in metrics


def test_who_sends_grpc_to_the_port_of_http_is_told_the_right_one(database_url: str):
    with CollectorProcess(database_url=database_url) as collector, socket.socket() as client:
        assert collector.grpc_url is not None
        host, _, port = collector.url.removeprefix("http://").partition(":")
        client.connect((host, int(port)))
        client.sendall(PREFACE + frame(SETTINGS, 0, 0, b""))
        answer = b""
        while piece := client.recv(4_096):
            answer += piece
        assert b"send gRPC to port " + collector.grpc_url.rpartition(":")[2].encode() in answer


async def test_who_names_this_port_for_the_one_of_http_is_told():
    server = bind("127.0.0.1", 0, Limits(), 1_000)
    await server.start([])
    url = f"http://127.0.0.1:{server.port}"
    endpoint = CollectorEndpoint(sdk.load({"PLAYHEAD_ENDPOINT": url}), ShipCounters())
    try:
        with pytest.raises(CollectorUnreachable, match="if that is the port for gRPC"), Client(url) as client:
            await asyncio.to_thread(client.run, "last")
        with pytest.raises(Unavailable, match="if that is the port for gRPC"):
            await asyncio.to_thread(endpoint.post, "/v1/traces", b"", "application/x-protobuf")
    finally:
        endpoint.close()
        await server.stop(0)


def test_what_is_under_way_is_finished_before_it_ends(database_url: str):
    """What it acknowledges while it stops is stored."""
    trace, numbers = "5d" * 16, range(1, 500)

    async def stopped_meanwhile(collector: CollectorProcess) -> None:
        reading, ending = asyncio.Event(), asyncio.Event()

        async def message() -> AsyncIterator[bytes]:
            reading.set()
            await ending.wait()
            yield batch(trace, numbers)

        assert collector.grpc_url is not None
        async with grpc.aio.insecure_channel(collector.grpc_url.removeprefix("http://")) as opened:
            call: Any = opened.stream_unary(EXPORT)(message())
            await call.wait_for_connection()
            while "playhead_grpc_messages_reading 1.0" not in httpx.get(f"{collector.url}/metrics", timeout=60).text:
                await asyncio.sleep(0.01)
            stopping = asyncio.create_task(asyncio.to_thread(collector.stop))
            while "stopping: what is under way" not in collector.log():
                await asyncio.sleep(0.01)
            ending.set()
            assert await call == b""
            assert await stopping == 0

    with CollectorProcess(database_url=database_url) as collector:
        asyncio.run(stopped_meanwhile(collector))
        assert "Traceback" not in collector.log()
    assert len(asyncio.run(stored(database_url, trace))) == len(numbers)


async def stored(database_url: str, trace: str) -> list[Any]:
    store = await connect(database_url, pool_size=1)
    try:
        return list(await store.spans.read(1, trace))
    finally:
        await store.close()


def test_it_lives_on_under_a_thousand_connections_and_garbage(database_url: str):
    with CollectorProcess(database_url=database_url, env={"PLAYHEAD_MAX_CONNECTIONS": "200"}) as collector:
        assert collector.grpc_url is not None
        host, _, port = collector.grpc_url.removeprefix("http://").partition(":")
        opened: list[socket.socket] = []
        for number in range(1_000):
            try:
                each = socket.create_connection((host, int(port)), timeout=20)
                opened.append(each)
                each.sendall(b"" if number % 3 else os.urandom(200))
            except OSError:
                pass
        assert until_ready(collector.url).status_code == 200
        for each in opened:
            each.close()
        until = time.monotonic() + 60
        while not answered_after(endless_head(), host, int(port)):  # it has not noticed yet that the others have gone
            assert time.monotonic() < until
        with channel(collector) as again:
            again.unary_unary(EXPORT)(batch("5e" * 16, range(1, 2)), timeout=60, wait_for_ready=True)
            assert health(again) == SERVING
        assert "Traceback" not in collector.log()
        assert ".cc:" not in collector.log()  # a line of gRPC's library for each broken connection would fill the log


async def test_an_honest_client_gets_through_among_calls_that_are_cancelled_at_its_address(database_url: str):
    with CollectorProcess(database_url=database_url) as collector:
        assert collector.grpc_url is not None
        address = collector.grpc_url.removeprefix("http://")
        async with (
            cancelling_senders(int(address.rpartition(":")[2]), 200, hold_seconds=0.3, at_a_time=16) as cancelled,
            grpc.aio.insecure_channel(address) as opened,
        ):
            before, number = sum(cancelled), 0
            while number < 8 or sum(cancelled) == before:  # all of them hold their calls for the same time
                number += 1
                await cast(Any, opened.unary_unary(EXPORT))(batch("5f" * 16, range(number, number + 1)), timeout=60)
    assert len(await stored(database_url, "5f" * 16)) == number


def endless_head() -> bytes:
    """A call with 30 MB of headers."""
    header = b"\0\x01x\x64" + b"y" * 100
    more = [frame(CONTINUATION, 0, 1, header * 150)] * 2_000
    settings, end = frame(SETTINGS, 0, 0, b""), frame(CONTINUATION, END_HEADERS, 1, b"")
    return PREFACE + settings + frame(HEADERS, 0, 1, call_head()) + b"".join(more) + end


def answered_after(data: bytes, host: str, port: int) -> bool:
    """Whether a call that these bytes make is answered."""
    got = b""
    with suppress(ConnectionError), socket.create_connection((host, port), timeout=30) as opened:
        opened.sendall(data)
        while b"grpc-status" not in got and (piece := opened.recv(65_536)):
            got += piece
    return b"grpc-status" in got

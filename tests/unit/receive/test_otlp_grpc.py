"""OTLP over gRPC, with gRPC's own client and server over loopback, and something in memory that takes the spans."""

import asyncio
import gc
import gzip
import socket
import tracemalloc
import zlib
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import grpc
import grpc.aio
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from playhead_collector.access import FIRST_PROJECT, Access
from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.network.grpc_server import CannotBind, bind
from playhead_collector.network.guard import Limits
from playhead_collector.receive.grpc_turns import MessageTurns
from playhead_collector.receive.otlp.decoded import DecodeLimits
from playhead_collector.receive.otlp_grpc import SERVICES, OtlpGrpc, encoding_in
from playhead_collector.receive.otlp_intake import OtlpIntake
from playhead_collector.receive.request_limiter import RequestLimiter
from playhead_collector.serve.metrics import Metrics
from tests.support.slow_grpc import slow_senders
from tests.unit.receive.http_app import Memory

LIMIT = 1 << 20
Code = grpc.StatusCode
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"


class Services:
    """A server, and what it was given."""

    def __init__(self, turns: MessageTurns | None = None, limits: DecodeLimits | None = None) -> None:
        self.memory, self.metrics = Memory(), Metrics()
        self.flow = RequestLimiter(max_requests=10, max_bytes=LIMIT)
        self.turns = turns or MessageTurns(body_seconds=20, max_waiting=10)
        self.refusal: Refused | None = None
        self.keys: list[str | None] = []
        self.statuses: list[tuple[str, int]] = []
        intake = OtlpIntake(lambda _: self.memory, self.metrics, self.flow, LIMIT, limits or DecodeLimits())
        self.otlp = OtlpGrpc(intake, self.turns, self._authorize, self._answered)
        self.port = 0

    async def _authorize(self, headers: Mapping[str, str]) -> Access:
        self.keys.append(headers.get("authorization"))
        if self.refusal:
            raise self.refusal
        return Access()

    def _answered(self, route: str, status: int, seconds: float) -> None:
        assert seconds >= 0
        self.statuses.append((route, status))


@asynccontextmanager
async def serving(services: Services, *, age_seconds: float = 300) -> AsyncGenerator[Services]:
    server = bind("127.0.0.1", 0, Limits(send_seconds=age_seconds), LIMIT, age_seconds=age_seconds)
    await server.start([services.otlp])
    services.port = server.port
    try:
        yield services
    finally:
        await server.stop(0)


@pytest.fixture
async def services() -> AsyncGenerator[Services]:
    async with serving(Services()) as running:
        yield running


@dataclass
class Answer:
    code: Any
    details: str
    body: bytes
    trailers: dict[str, Any]


def channel_to(services: Services, compression: Any = None) -> Any:
    options = [("grpc.max_send_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
    return grpc.aio.insecure_channel(f"127.0.0.1:{services.port}", options=options, compression=compression)


async def export(services: Services, body: bytes, signal: Any = "traces", compression: Any = None) -> Answer:
    async def one() -> AsyncIterator[bytes]:
        yield body

    return await call(services, one(), signal, compression)


async def call(services: Services, messages: AsyncIterator[bytes], signal: Any, compression: Any = None) -> Answer:
    async with channel_to(services, compression) as channel:
        method = channel.stream_unary(f"/{SERVICES[signal]}/Export")
        try:
            answer = await method(messages, metadata=(("authorization", "Bearer k"),), timeout=60)
        except grpc.aio.AioRpcError as error:
            return Answer(error.code(), error.details() or "", b"", {**dict(error.trailing_metadata() or ())})
    return Answer(Code.OK, "", answer, {})


def a_trace(*numbers: int, padding: int = 0) -> bytes:
    request = ExportTraceServiceRequest()
    spans = request.resource_spans.add().scope_spans.add().spans
    for number in numbers:
        span = spans.add(name="x" * padding or "x", start_time_unix_nano=1, end_time_unix_nano=2)
        span.trace_id, span.span_id = b"\x5a" * 16, number.to_bytes(8, "big")
    return request.SerializeToString()


# --- what is taken ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("compression", list(grpc.Compression), ids=lambda each: each.name)
async def test_spans_are_stored_however_they_are_compressed(services: Services, compression: Any):
    answer = await export(services, a_trace(1, 2, padding=10_000), compression=compression)
    assert (answer.code, answer.body) == (Code.OK, b"")
    assert [span.span_id for span in services.memory.spans] == ["0000000000000001", "0000000000000002"]
    assert services.statuses == [("grpc traces", 200)]
    sent = services.metrics.registry.get_sample_value("playhead_received_bytes_total", {"form": "sent"})
    assert (sent or 0) < 5_000 if compression is not grpc.Compression.NoCompression else (sent or 0) > 10_000


async def test_log_events_are_stored_and_metrics_are_counted(services: Services):
    logs = ExportLogsServiceRequest()
    logs.resource_logs.add().scope_logs.add().log_records.add(event_name="e", trace_id=b"\1" * 16, time_unix_nano=3)
    assert (await export(services, logs.SerializeToString(), "logs")).code is Code.OK
    assert [event.name for event in services.memory.logs] == ["e"]
    metrics = ExportMetricsServiceRequest()
    metrics.resource_metrics.add().scope_metrics.add().metrics.add(name="m")
    answer = await export(services, metrics.SerializeToString(), "metrics")
    assert ExportMetricsServiceResponse.FromString(answer.body) == ExportMetricsServiceResponse()
    assert services.metrics.registry.get_sample_value("playhead_ignored_total", {"signal": "metrics"}) == 1


async def test_an_empty_request_is_a_success(services: Services):
    assert (await export(services, b"")).code is Code.OK


async def test_what_is_left_out_is_said_in_partial_success(services: Services):
    answer = await export(services, a_trace(0, 7))
    partial = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert partial.rejected_spans == 1
    assert "has span id '0000000000000000'" in partial.error_message
    assert [span.span_id for span in services.memory.spans] == ["0000000000000007"]


def test_what_gzip_and_zlib_begin_with_is_no_request():
    assert encoding_in(gzip.compress(b"x")) == "gzip"
    assert {encoding_in(zlib.compress(b"x", level)) for level in range(10)} == {"deflate"}
    assert {encoding_in(body) for body in (b"", a_trace(1), b"\x78", b"\x78\x00")} == {"identity"}
    for first in (b"\x1f", b"\x78"):
        with pytest.raises(Exception, match=r".*"):
            ExportTraceServiceRequest.FromString(first)


# --- what is refused --------------------------------------------------------------------------------------------------


async def test_garbage_is_an_invalid_argument(services: Services):
    answer = await export(services, b"\xff" * 100)
    assert answer.code is Code.INVALID_ARGUMENT
    assert "not OTLP in protobuf" in answer.details
    assert services.statuses == [("grpc traces", 400)]


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate], ids=lambda each: each.name)
async def test_a_decompression_bomb_is_refused_at_the_limit(services: Services, compression: Any):
    answer = await export(services, bytes(100 * LIMIT), compression=compression)
    assert answer.code is Code.RESOURCE_EXHAUSTED
    assert "once decompressed" in answer.details
    assert answer.trailers.keys() & {"grpc-status-details-bin", "google.rpc.retryinfo-bin"} == set()  # not again
    assert services.flow.bytes == 0


async def test_damaged_compression_is_an_invalid_argument(services: Services):
    body = gzip.compress(a_trace(1))
    assert (await export(services, body[:-9])).code is Code.INVALID_ARGUMENT


async def test_a_message_that_is_too_large_is_refused(services: Services):
    answer = await export(services, a_trace(1, padding=2 * LIMIT))
    assert answer.code is Code.RESOURCE_EXHAUSTED
    assert "larger than max" in answer.details
    assert services.memory.spans == []
    async with asyncio.timeout(60):  # the library has refused it, and our side of the call may end after its client's
        while services.turns.reading:
            await asyncio.sleep(0.01)
    assert services.flow.bytes == 0


async def test_too_many_spans_are_refused():
    async with serving(Services(limits=DecodeLimits(items=3))) as services:
        answer = await export(services, a_trace(*range(1, 9)))
    assert answer.code is Code.RESOURCE_EXHAUSTED
    assert "PLAYHEAD_MAX_SPANS_PER_REQUEST" in answer.details


async def test_while_the_database_does_not_answer_a_sender_is_told_when_to_send_again(services: Services):
    services.memory.failure = StoreUnavailable("the database does not answer: öffne 💥 it")
    answer = await export(services, a_trace(1))
    assert answer.code is Code.UNAVAILABLE
    assert "the database does not answer" in answer.details
    status = Status.FromString(answer.trailers["grpc-status-details-bin"])
    told = RetryInfo()
    assert status.code == Code.UNAVAILABLE.value[0]
    assert status.details[0].Unpack(told)
    assert told.retry_delay.seconds == 1
    assert RetryInfo.FromString(answer.trailers["google.rpc.retryinfo-bin"]) == told
    assert services.statuses == [("grpc traces", 503)]


async def test_an_unexpected_error_is_logged_and_not_told(services: Services, caplog: pytest.LogCaptureFixture):
    services.memory.failure = ZeroDivisionError("secret")
    answer = await export(services, a_trace(1))
    assert answer.code is Code.INTERNAL
    assert "secret" not in answer.details
    assert "failed with ZeroDivisionError" in caplog.text


async def test_what_is_not_here_is_unimplemented(services: Services):
    async with channel_to(services) as channel:
        reflection = channel.stream_unary("/grpc.reflection.v1.ServerReflection/ServerReflectionInfo")
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await reflection(never())
    assert refused.value.code() is Code.UNIMPLEMENTED


# --- keys, turns, slow senders ----------------------------------------------------------------------------------------


async def never() -> AsyncIterator[bytes]:
    """A sender that never sends."""
    await asyncio.Event().wait()
    yield b""


async def nothing() -> AsyncIterator[bytes]:
    for message in ():
        yield message


@pytest.mark.parametrize(
    ("status", "code"), [(401, Code.UNAUTHENTICATED), (403, Code.PERMISSION_DENIED)], ids=["wrong key", "wrong scope"]
)
async def test_a_key_is_checked_before_the_message_is_read(services: Services, status: int, code: Any):
    services.refusal = Refused(status, "x", "no: ask")
    answer = await call(services, never(), "traces")
    assert (answer.code, answer.details) == (code, "no: ask")
    assert services.keys == ["Bearer k"]


async def test_one_request_too_many_is_refused_before_its_message_is_read(services: Services):
    services.flow.by_project[FIRST_PROJECT] = services.flow.max_requests
    answer = await call(services, never(), "traces")
    assert answer.code is Code.UNAVAILABLE
    assert "google.rpc.retryinfo-bin" in answer.trailers


async def test_a_refused_message_is_freed_at_once(services: Services):
    services.flow.max_bytes = services.flow.bytes = 1  # its message is read before it is refused
    body = a_trace(1, padding=LIMIT - 1_000)
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        for _ in range(8):
            assert (await export(services, body)).code is Code.UNAVAILABLE
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
        gc.enable()
    assert kept < 3 * LIMIT


async def test_a_call_without_a_message_is_refused(services: Services):
    assert (await call(services, nothing(), "traces")).code is Code.INVALID_ARGUMENT


async def test_a_message_that_does_not_arrive_in_time_is_given_up():
    async with serving(Services(MessageTurns(body_seconds=0.05, max_waiting=1))) as services:
        answer = await call(services, never(), "traces")
    assert answer.code is Code.DEADLINE_EXCEEDED
    assert "send the request again" in answer.details


async def test_slow_senders_do_not_keep_others_out():
    """Fifteen connections that send a byte now and then; they would need minutes, and begin again when refused."""
    async with (
        serving(Services(MessageTurns(body_seconds=600, max_waiting=10))) as services,
        slow_senders(services.port, 15, seconds_per_byte=0.1) as calls,
    ):
        while services.turns.reading < 4:
            await asyncio.sleep(0.01)
        for number in range(1, 7):
            async with asyncio.timeout(120):  # before the time of a slow one is over
                await export_in_few_attempts(services, a_trace(number))
            if number == 3:  # when they have been refused once, and come again
                while sum(calls) < 20:
                    await asyncio.sleep(0.01)
    assert len(services.memory.spans) == 6


async def export_in_few_attempts(services: Services, body: bytes) -> None:
    """As exporters send: again when they are asked to. A message is slow, too, where this process stood still for a
    quarter of a second while it came."""
    answers = [await export(services, body)]
    while answers[-1].code is Code.UNAVAILABLE and len(answers) < 3:
        answers.append(await export(services, body))
    assert answers[-1].code is Code.OK, answers


async def test_a_slow_message_gives_way_when_others_wait():
    turns = MessageTurns(body_seconds=60, max_waiting=4, long_turns=1, quick_seconds=0.01, slow_after_seconds=0)
    async with serving(Services(turns)) as services:
        slow = asyncio.create_task(call(services, never(), "traces"))
        while not turns.long.running:
            await asyncio.sleep(0)
        second = asyncio.create_task(call(services, never(), "traces"))
        answer = await slow
        second.cancel()
        await asyncio.wait([second])
    assert answer.code is Code.UNAVAILABLE
    assert "arrives slowly" in answer.details
    assert "google.rpc.retryinfo-bin" in answer.trailers


async def test_a_client_that_leaves_frees_its_turn(services: Services):
    task = asyncio.create_task(call(services, never(), "traces"))
    while not services.turns.reading:
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])
    async with asyncio.timeout(30):
        while services.turns.reading or not services.statuses:
            await asyncio.sleep(0.01)
    assert services.statuses == [("grpc traces", 400)]
    assert services.turns.reading == 0


# --- connections ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"\x16\x03\x01",
        b"\0" * 100,
        PREFACE + b"\xff" * 100,
        PREFACE + b"\0\0\1\1\0\0\0\0\1\x83",
    ],
    ids=["HTTP/1.1", "TLS", "zeros", "broken frames", "half a head"],
)
async def test_a_connection_that_never_makes_a_call_is_closed(data: bytes):
    async with serving(Services(), age_seconds=0.2) as services:
        reader, writer = await asyncio.open_connection("127.0.0.1", services.port)
        writer.write(data)
        async with asyncio.timeout(30):
            try:
                while await reader.read(1_000):
                    pass
            except ConnectionError:
                pass
        writer.close()
        async with asyncio.timeout(60):  # connections live so shortly here that a call may be cut off
            while (await export(services, a_trace(1))).code is not Code.OK:
                pass


async def test_a_port_is_not_shared():
    first = bind("127.0.0.1", 0, Limits(), LIMIT)
    with pytest.raises(CannotBind):
        bind("127.0.0.1", first.port, Limits(), LIMIT)
    await first.stop(0)
    with socket.create_server(("127.0.0.1", 0)) as other, pytest.raises(CannotBind):
        bind("127.0.0.1", other.getsockname()[1], Limits(), LIMIT)

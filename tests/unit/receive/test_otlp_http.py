"""OTLP over HTTP: what the specification asks of a server, asked of the application."""

import asyncio
import gzip
import zlib
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx
import pytest
import zstandard
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest, ExportLogsServiceResponse
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

from playhead.model.ref import ContentRef
from playhead_collector.errors import StoreUnavailable
from playhead_collector.receive.otlp_http import PATHS
from playhead_collector.receive.request_limiter import RequestLimiter
from tests.unit.receive.http_app import Memory, client_of, make_app
from tests.unit.receive.otlp import as_json, message_of

PROTOBUF = {"content-type": "application/x-protobuf"}
JSON = {"content-type": "application/json"}
TRACE = "5b8efff798038103d269b633813fc60c"


def spans(*ids: str) -> dict[str, Any]:
    found = [{"traceId": TRACE, "spanId": span_id, "name": "x"} for span_id in ids]
    return {"resourceSpans": [{"scopeSpans": [{"spans": found}]}]}


def as_protobuf(request: dict[str, Any]) -> bytes:
    return message_of(request, ExportTraceServiceRequest).SerializeToString()


PROJECT = "openinference.project.name"
ONE = spans("ab" * 8)
PARTLY = spans("ab" * 8, "00" * 8, "cd" * 8, "")


async def post(memory: Memory, path: str, body: Any, headers: dict[str, str], **app: Any) -> httpx.Response:
    async with client_of(make_app(memory, **app)) as client:
        return await client.post(path, content=body, headers=headers)


@pytest.mark.parametrize(
    ("own", "project"), [([], "shop"), ([{"key": PROJECT, "value": {"stringValue": "own"}}], "own")]
)
async def test_a_header_names_the_project_of_spans_whose_resource_names_none(own: list[Any], project: str):
    memory, request = Memory(), spans("ab" * 8)
    request["resourceSpans"][0]["resource"] = {"attributes": own}
    answer = await post(memory, "/v1/traces", as_json(request), {**JSON, "x-project-name": "shop"})
    assert answer.status_code == 200
    assert memory.spans[0].resource == {PROJECT: project}


def status_of(answer: httpx.Response) -> Status:
    assert answer.headers["content-type"] == "application/x-protobuf"
    return Status.FromString(answer.content)


# --- success ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("pack", "headers"), [(as_protobuf, PROTOBUF), (as_json, JSON)])
async def test_all_taken_is_an_empty_answer_in_the_type_of_the_request(
    pack: Callable[[dict[str, Any]], bytes], headers: dict[str, str]
):
    memory = Memory()
    answer = await post(memory, "/v1/traces", pack(ONE), headers)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == headers["content-type"]
    assert answer.content == (b"" if headers is PROTOBUF else b"{}")
    assert [span.span_id for span in memory.spans] == ["ab" * 8]


@pytest.mark.parametrize(
    ("encoding", "compress"),
    [
        ("gzip", gzip.compress),
        ("deflate", zlib.compress),
        ("zstd", zstandard.ZstdCompressor().compress),
        ("identity", bytes),
    ],
)
async def test_bodies_may_be_compressed(encoding: str, compress: Callable[[bytes], bytes]):
    memory = Memory()
    answer = await post(memory, "/v1/traces", compress(as_protobuf(ONE)), {**PROTOBUF, "content-encoding": encoding})
    assert answer.status_code == 200
    assert len(memory.spans) == 1


async def test_a_body_may_come_in_chunks_of_unknown_number():
    async def chunks() -> AsyncIterator[bytes]:
        for byte in as_json(ONE):
            yield bytes([byte])

    memory = Memory()
    assert (await post(memory, "/v1/traces", chunks(), JSON)).status_code == 200
    assert len(memory.spans) == 1


@pytest.mark.parametrize("path", sorted(PATHS))
@pytest.mark.parametrize("headers", [PROTOBUF, JSON])
async def test_an_empty_request_is_a_success(path: str, headers: dict[str, str]):
    memory = Memory(failure=AssertionError("nothing is to be stored"))
    assert (await post(memory, path, b"", headers)).status_code == 200


async def test_logs_bring_events():
    record = {"timeUnixNano": "5", "eventName": "playhead.started", "traceId": TRACE, "spanId": "ab" * 8}
    request = {"resourceLogs": [{"scopeLogs": [{"logRecords": [record]}]}]}
    memory = Memory()
    body = message_of(request, ExportLogsServiceRequest).SerializeToString()
    answer = await post(memory, "/v1/logs", body, PROTOBUF)
    assert (answer.status_code, answer.content) == (200, b"")
    assert [log.name for log in memory.logs] == ["playhead.started"]


async def test_metrics_are_taken_and_dropped_with_a_count():
    request = {"resourceMetrics": [{"scopeMetrics": [{"metrics": [{"name": "a"}, {"name": "b"}]}]}]}
    body = message_of(request, ExportMetricsServiceRequest).SerializeToString()
    app = make_app(Memory())
    async with client_of(app) as client:
        answer = await client.post("/v1/metrics", content=body, headers=PROTOBUF)
    assert (answer.status_code, answer.content) == (200, b"")
    assert app.state.metrics.registry.get_sample_value("playhead_ignored_total", {"signal": "metrics"}) == 2


async def test_what_is_ignored_in_json_stays_ignored():
    answer = await post(Memory(), "/v1/traces", b'{"resourceLogs": [], "more": 1}', JSON)
    assert answer.status_code == 200


# --- partial success -------------------------------------------------------------------------------------------------


async def test_spans_that_cannot_be_kept_are_counted_back_and_the_rest_is_kept():
    memory = Memory()
    answer = await post(memory, "/v1/traces", as_protobuf(PARTLY), PROTOBUF)
    assert answer.status_code == 200
    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert partial.rejected_spans == 2
    assert partial.error_message == (
        "2 left out: span 'x' has span id '0000000000000000': it takes 8 bytes that are not all 0"
    )
    assert [span.span_id for span in memory.spans] == ["ab" * 8, "cd" * 8]


async def test_partial_success_in_json_has_its_number_as_text():
    answer = await post(Memory(), "/v1/traces", as_json(PARTLY), JSON)
    assert answer.json()["partialSuccess"]["rejectedSpans"] == "2"


async def test_log_records_that_cannot_be_kept_are_counted_back():
    records = [{"eventName": "a", "traceId": TRACE}, {"eventName": "b", "traceId": "ff"}]
    request = {"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}
    body = message_of(request, ExportLogsServiceRequest).SerializeToString()
    answer = await post(Memory(), "/v1/logs", body, PROTOBUF)
    partial = ExportLogsServiceResponse.FromString(answer.content).partial_success
    assert (partial.rejected_log_records, partial.error_message) == (
        1,
        "1 left out: trace id 'ff' has 1 bytes: it takes 16",
    )


async def test_pending_content_is_a_warning_with_nothing_rejected():
    ref = ContentRef.of(b"x")
    answer = await post(Memory(pending=[ref]), "/v1/traces", as_protobuf(ONE), PROTOBUF)
    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert partial.rejected_spans == 0
    assert partial.error_message == f"content pending: 1 refs, such as {ref}, are not stored yet"


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "headers", "status", "code"),
    [
        (b"\xff\xff", PROTOBUF, 400, 3),
        (b"not gzip", {**PROTOBUF, "content-encoding": "gzip"}, 400, 3),
        (b"x", {**PROTOBUF, "content-encoding": "br"}, 415, 3),
        (bytes(2**20 + 1), PROTOBUF, 413, 8),
        (gzip.compress(bytes(2**20 + 1)), {**PROTOBUF, "content-encoding": "gzip"}, 413, 8),
    ],
)
async def test_errors_are_a_status_in_protobuf_for_protobuf(
    body: bytes, headers: dict[str, str], status: int, code: int
):
    answer = await post(Memory(), "/v1/traces", body, headers)
    assert answer.status_code == status
    assert status_of(answer).code == code
    assert status_of(answer).message
    assert "retry-after" not in answer.headers


@pytest.mark.parametrize("body", [b"{", b"[]", b'{"resourceSpans": 5}', b'{"resourceSpans": [{"scopeSpans": ["x"]}]}'])
async def test_errors_are_a_status_in_json_for_json(body: bytes):
    answer = await post(Memory(), "/v1/traces", body, JSON)
    assert answer.status_code == 400
    assert answer.json()["code"] == 3
    assert "the body is" in answer.json()["message"]


@pytest.mark.parametrize("content_type", ["text/plain", "application/grpc", None])
async def test_any_other_content_type_is_415(content_type: str | None):
    headers = {"content-type": content_type} if content_type else {}
    answer = await post(Memory(), "/v1/traces", b"x", headers)
    assert answer.status_code == 415
    assert "application/x-protobuf or application/json" in answer.json()["message"]


async def test_a_415_for_the_encoding_names_those_that_are_read():
    answer = await post(Memory(), "/v1/traces", b"x", {**PROTOBUF, "content-encoding": "snappy"})
    assert answer.headers["accept-encoding"] == "gzip, deflate, zstd"


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE"])
async def test_any_other_method_is_405(method: str):
    async with client_of(make_app(Memory())) as client:
        answer = await client.request(method, "/v1/traces", headers=PROTOBUF)
    assert answer.status_code == 405
    assert answer.headers["allow"] == "POST"
    assert status_of(answer).code == 12


@pytest.mark.parametrize("headers", [PROTOBUF, JSON])
async def test_a_store_that_is_down_is_a_503_to_be_retried(headers: dict[str, str]):
    body = as_protobuf(ONE) if headers is PROTOBUF else as_json(ONE)
    memory = Memory(failure=StoreUnavailable("Postgres does not answer"))
    answer = await post(memory, "/v1/traces", body, headers)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "1")
    assert answer.headers["content-type"] == headers["content-type"]
    assert b"Postgres does not answer" in answer.content


async def test_a_bug_is_a_500_that_tells_nothing_of_the_inside():
    answer = await post(Memory(failure=KeyError("secret")), "/v1/traces", as_protobuf(ONE), PROTOBUF)
    assert answer.status_code == 500
    assert status_of(answer).code == 13
    assert b"secret" not in answer.content
    assert b"Traceback" not in answer.content


# --- flow ------------------------------------------------------------------------------------------------------------


async def test_beyond_the_bound_requests_are_asked_to_come_back_and_none_is_lost():
    class Slow(Memory):
        released = asyncio.Event()
        waiting = 0

        async def ingest(self, *batch: Any) -> Any:
            self.waiting += 1
            await self.released.wait()
            return await super().ingest(*batch)

    memory = Slow()
    async with client_of(make_app(memory, flow=RequestLimiter(max_requests=3, max_bytes=2**20))) as client:
        bodies = [as_protobuf(spans(f"{n:016x}")) for n in range(1, 6)]
        requests = [asyncio.create_task(client.post("/v1/traces", content=body, headers=PROTOBUF)) for body in bodies]
        refused = [await one for one in requests[3:]]
        assert [(answer.status_code, answer.headers["retry-after"]) for answer in refused] == [(503, "1")] * 2
        assert memory.waiting == 3
        memory.released.set()
        assert [(await one).status_code for one in requests[:3]] == [200] * 3
        assert (await client.post("/v1/traces", content=bodies[3], headers=PROTOBUF)).status_code == 200
    assert len(memory.spans) == 4


async def test_a_large_body_is_read_off_the_event_loop():
    many = as_protobuf(spans(*(f"{n:016x}" for n in range(1, 20_000))))
    assert len(many) > 2**18
    memory = Memory()
    answer = await post(memory, "/v1/traces", gzip.compress(many), {**PROTOBUF, "content-encoding": "gzip"})
    assert answer.status_code == 200
    assert len(memory.spans) == 19_999


# --- content that nobody understood ----------------------------------------------------------------------------------


async def test_a_sender_is_told_once_which_scopes_were_not_understood():
    memory = Memory(not_understood={"openinference.instrumentation.crewai": 2, "made up": 1})
    answer = await post(memory, "/v1/traces", as_protobuf(ONE), PROTOBUF)
    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert answer.status_code == 200
    assert partial.rejected_spans == 0
    assert partial.error_message == (
        "taken without understanding its content, which is kept as it came: "
        "scope openinference.instrumentation.crewai, made up"
    )


async def test_scopes_without_end_fill_neither_the_answer_nor_the_counters():
    memory = Memory(not_understood={f"scope {number} {'x' * 80}": 1 for number in range(200)})
    app = make_app(memory)
    async with client_of(app) as client:
        for _ in range(2):
            answer = await client.post("/v1/traces", content=as_protobuf(ONE), headers=PROTOBUF)
    partial = ExportTraceServiceResponse.FromString(answer.content).partial_success
    assert partial.error_message.endswith(" and 40 more")
    assert len(partial.error_message) < 2_000
    counted = app.state.metrics.scopes[1]
    assert (len(counted), counted["other"], sum(counted.values())) == (51, 300, 400)

"""A collector as operators start it: settings in the environment, the command, metrics; and a destination over gRPC."""

import asyncio
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import grpc
import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from typer.testing import CliRunner

from playhead.cli import app
from playhead.outbound.answers import Verdict
from playhead.outbound.otlp import traces_request
from playhead_collector.destination_settings import OtlpSettings
from playhead_collector.forward.destination import destination
from playhead_collector.forward.senders.grpc import GrpcSender
from playhead_collector.process import CollectorProcess
from tests.integration.forward.backend import Backend, Reply
from tests.integration.store.making import RUN, span

SECRET = "bearer-of-nothing"
SENT = 'playhead_forward_sent_spans_total{destination="otlp-east"}'
PROTOBUF = {"content-type": "application/x-protobuf"}


@pytest.fixture(scope="module")
def backend() -> Iterator[Backend]:
    started = Backend().start()
    yield started
    started.stop()


@pytest.fixture(scope="module")
def collector(module_database_url: str, backend: Backend) -> Iterator[CollectorProcess]:
    env = {
        "PLAYHEAD_FORWARD_OTLP_EAST_URL": backend.url,
        "PLAYHEAD_FORWARD_OTLP_EAST_HEADERS": f"authorization={SECRET}",
        "PLAYHEAD_PUBLIC_URL": "https://playhead.example",
        "PLAYHEAD_ADMIN_KEY": "",
    }
    with CollectorProcess(database_url=module_database_url, env=env) as started:
        yield started


def playhead(collector: CollectorProcess, *words: str) -> str:
    done = CliRunner().invoke(app, ["--url", collector.url, *words], env={"PLAYHEAD_API_KEY": ""})
    assert done.exit_code == 0, done.output
    return done.output


def wait_for(backend: Backend, times: dict[str, int]) -> None:
    """A minute is longer than a loaded machine takes."""
    arrived = threading.Event()
    for _ in range(600):
        if backend.stored == times:
            return
        arrived.wait(0.1)
    raise AssertionError(backend.stored)


def until_said(ask: Callable[[], str], *words: str) -> str:
    """The answer that has these words: what a collector notes of a delivery, it notes a moment after that."""
    pause = threading.Event()
    for _ in range(600):
        said = ask()
        if all(each in said for each in words):
            return said
        pause.wait(0.1)
    raise AssertionError(said)


def metrics_of(collector: CollectorProcess) -> str:
    return httpx.get(f"{collector.url}/metrics", timeout=60).text


def test_what_is_sent_to_it_arrives_there(collector: CollectorProcess, backend: Backend):
    spans = [span(1), span(2), span(3)]
    backend.answer = lambda request: (
        Reply(400, body=b"bad") if request.names == ["span 2"] else Reply(400 if "span 2" in request.names else 200)
    )
    sent = httpx.post(f"{collector.url}/v1/traces", content=traces_request(spans), headers=PROTOBUF, timeout=60)
    assert sent.status_code == 200
    wait_for(backend, {"span 1": 1, "span 3": 1})
    assert all(request.headers["authorization"] == SECRET for request in backend.requests)
    assert "otlp-east" in playhead(collector, "forward", "status")
    until_said(lambda: playhead(collector, "forward", "status", "otlp-east"), "answered 400: bad", f"{2:016x}")

    backend.answer = lambda _: Reply()
    assert playhead(collector, "forward", "retry", "otlp-east") == "1 dead letters are sent again\n"
    wait_for(backend, {"span 1": 1, "span 2": 1, "span 3": 1})
    until_said(lambda: metrics_of(collector), f"{SENT} 3.0")
    assert playhead(collector, "forward", "backfill", "otlp-east", RUN) == "1 runs will be sent to otlp-east\n"
    wait_for(backend, {"span 1": 2, "span 2": 2, "span 3": 2})
    metrics = until_said(lambda: metrics_of(collector), f"{SENT} 6.0")
    assert playhead(collector, "forward", "drop", "otlp-east", "--waiting").endswith("entries are forgotten\n")

    assert 'playhead_forward_dead_total{destination="otlp-east"} 1.0' in metrics
    said = collector.log() + metrics + httpx.get(f"{collector.url}/api/v1/forward", timeout=60).text
    assert SECRET not in said


def test_a_destination_that_is_not_there_is_named(collector: CollectorProcess):
    done = CliRunner().invoke(app, ["--url", collector.url, "forward", "retry", "langfuse"])
    assert done.exit_code == 1
    assert "no destination 'langfuse': otlp-east" in done.output
    done = CliRunner().invoke(app, ["--url", collector.url, "forward", "backfill", "otlp-east"])
    assert done.exit_code == 2
    assert "give a run, or --since" in done.output


def test_doctor_knows_the_variables_of_destinations(collector: CollectorProcess, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PLAYHEAD_FORWARD_OTLP_EAST_URL", "http://east:4318")
    monkeypatch.setenv("PLAYHEAD_FORWARD_OTLP_EAST_HEADERS", f"authorization={SECRET}")
    done = CliRunner().invoke(app, ["--url", collector.url, "doctor"], env=dict(os.environ))
    assert "http://east:4318" in done.output
    assert "nothing reads the variable PLAYHEAD_FORWARD" not in done.output
    assert SECRET not in done.output


class _Service(grpc.GenericRpcHandler):
    """OTLP over gRPC that answers as a test says."""

    def __init__(self) -> None:
        self.code: Any = None
        self.metadata: list[Any] = []
        self.names: list[str] = []

    def service(self, handler_call_details: Any) -> Any:
        assert handler_call_details.method.endswith("TraceService/Export")

        def export(body: bytes, context: Any) -> bytes:
            self.metadata = list(context.invocation_metadata())
            if self.code is not None:
                context.abort(self.code, f"not so, {SECRET}")
            request = ExportTraceServiceRequest.FromString(body)
            self.names += [s.name for r in request.resource_spans for c in r.scope_spans for s in c.spans]
            return ExportTraceServiceResponse().SerializeToString()

        return grpc.unary_unary_rpc_method_handler(export)


@pytest.fixture
def service() -> Iterator[tuple[_Service, str]]:
    made = _Service()
    server = grpc.server(ThreadPoolExecutor(2), handlers=[made])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield made, f"http://127.0.0.1:{port}"
    server.stop(None).wait()


async def test_spans_go_over_grpc(service: tuple[_Service, str]):
    taking, url = service
    to = destination(OtlpSettings(name="otlp", url=url, protocol="grpc", headers={"authorization": SECRET}))
    sender = to.kind.sender(None)
    assert isinstance(sender, GrpcSender)
    body = traces_request([span(1)]) + traces_request([span(2)])
    assert (await sender.send("traces", body)).verdict is Verdict.ACCEPTED
    assert taking.names == ["span 1", "span 2"]
    assert ("authorization", SECRET) in [tuple(each) for each in taking.metadata]
    for code, verdict in (
        (grpc.StatusCode.UNAVAILABLE, Verdict.UNAVAILABLE),
        (grpc.StatusCode.RESOURCE_EXHAUSTED, Verdict.UNAVAILABLE),
        (grpc.StatusCode.INVALID_ARGUMENT, Verdict.REFUSED),
        (grpc.StatusCode.PERMISSION_DENIED, Verdict.MISCONFIGURED),
        (grpc.StatusCode.INTERNAL, Verdict.BROKEN),
    ):
        taking.code = code
        answer = await sender.send("traces", body)
        assert (answer.verdict, answer.reason) == (verdict, f"answered {code.name}: not so, [not shown]")
    await sender.close()


async def test_nobody_there_over_grpc_is_an_answer_too():
    settings = OtlpSettings(name="otlp", url="http://127.0.0.1:9", protocol="grpc", timeout_seconds=20.0)
    sender = destination(settings).kind.sender(None)
    answer = await asyncio.wait_for(sender.send("traces", traces_request([span(1)])), 60)
    assert answer.verdict is Verdict.UNAVAILABLE
    await sender.close()

"""`OTEL_TRACES_EXPORTER=otlp` without a tracer provider: spans with refs go by OpenTelemetry's exporter, too."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.model import names
from playhead_collector.process import CollectorProcess
from tests.integration.export.fake_collector import TRACES, FakeCollector, attributes_of, text_of
from tests.support.programs.processes import run_playhead

PROGRAM = """
import playhead

@playhead.observe(kind="tool")
def look_up(order):
    return f"{order} is delayed"

@playhead.observe
def agent(question):
    return look_up("A1")

agent("where is A1?")
"""
WITH_A_PROVIDER = """
from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
trace.set_tracer_provider(provider)
"""


def environ_of(journal: Path, environ: Mapping[str, str]) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "NO_PROXY": "127.0.0.1"}
    kept |= {
        "PLAYHEAD_JOURNAL_DIR": str(journal),
        "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "60",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_EXPORTER_OTLP_TIMEOUT": "60",
    }
    return kept | dict(environ)


def run(program: str, journal: Path, **environ: str) -> str:
    """Runs a program of its own; returns what it wrote to stderr."""
    done = subprocess.run(
        [sys.executable, "-c", program], env=environ_of(journal, environ), capture_output=True, text=True, timeout=300,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (0, "")
    return done.stderr


def ids(spans: list[Any]) -> list[tuple[bytes, bytes, str]]:
    return sorted((span.trace_id, span.span_id, span.name) for span in spans)


def test_a_plain_receiver_gets_the_same_spans_with_refs_and_no_payload(tmp_path: Path):
    with FakeCollector() as collector, FakeCollector(plain=True) as backend:
        environ = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{backend.url}/v1/traces", "OTEL_SERVICE_NAME": "shop"}
        assert run(PROGRAM, tmp_path / "journal", PLAYHEAD_ENDPOINT=collector.url, **environ) == ""
    assert ids(backend.spans) == ids(collector.spans)
    assert [name for *_, name in ids(backend.spans)] != []
    tool = next(attributes_of(span) for span in backend.spans if span.name == "execute_tool look_up")
    assert {names.TOOL_ARGUMENTS_REF, names.TOOL_RESULT_REF} <= set(tool)
    assert any(b"is delayed" in content for content in collector.contents.values())
    assert set(backend.paths()) == {TRACES}
    for request in backend.requests:
        assert "A1" not in text_of(request)
        assert "delayed" not in text_of(request)
        assert "shop" in text_of(request)


@pytest.mark.parametrize("protocol", ["http/protobuf", "grpc"])
def test_our_collector_that_gets_both_counts_nothing_twice(protocol: str, tmp_path: Path):
    with CollectorProcess() as collector:
        assert collector.grpc_url is not None
        grpc = f"http://{collector.grpc_url.removeprefix('http://')}"
        address = grpc if protocol == "grpc" else collector.url
        environ = {"OTEL_EXPORTER_OTLP_ENDPOINT": address, "OTEL_EXPORTER_OTLP_PROTOCOL": protocol}
        run(PROGRAM, tmp_path / "both", PLAYHEAD_ENDPOINT=collector.url, **environ)
        run(PROGRAM, tmp_path / "one", PLAYHEAD_ENDPOINT=collector.url, OTEL_TRACES_EXPORTER="none")
        with playhead.Client(collector.url) as client:
            until = time.monotonic() + 180
            while len(runs := list(client.runs())) < 2 or any(run["status"] == "running" for run in runs):
                assert time.monotonic() < until, runs
            shapes = [[event["kind"] for event in client.events(run["run"])] for run in runs]
    assert len(runs) == 2
    assert shapes == [["run_started", "tool_called", "tool_completed", "run_completed"]] * 2


def test_a_program_with_a_provider_exports_once(tmp_path: Path):
    with FakeCollector() as collector, FakeCollector(plain=True) as backend:
        environ = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": f"{backend.url}/v1/traces"}
        run(WITH_A_PROVIDER + PROGRAM, tmp_path / "journal", PLAYHEAD_ENDPOINT=collector.url, **environ)
    assert ids(backend.spans) == ids(collector.spans)


def test_a_backend_that_is_down_ends_no_program_late_and_costs_no_record(tmp_path: Path):
    with FakeCollector() as collector:
        environ = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9/v1/traces"}
        environ["OTEL_EXPORTER_OTLP_TRACES_TIMEOUT"] = "100"  # so long the exporter itself would try
        begun = time.monotonic()
        run(PROGRAM, tmp_path, PLAYHEAD_ENDPOINT=collector.url, **environ | {"PLAYHEAD_EXIT_TIMEOUT_SECONDS": "2"})
        took = time.monotonic() - begun
        # Where the machine has stood still for those two seconds, it is all in the journal.
        shipped = run_playhead("ship", environ=environ_of(tmp_path, {"PLAYHEAD_ENDPOINT": collector.url}))
        assert shipped.code == 0, shipped.errors
    assert len({span.span_id for span in collector.spans if span.end_time_unix_nano}) == 2
    assert took < 60


def test_an_exporter_that_is_not_installed_is_named_once_and_all_is_recorded(tmp_path: Path):
    hidden = "import sys\nsys.modules['opentelemetry.exporter.otlp.proto.http.trace_exporter'] = None\n"
    with FakeCollector() as collector:
        said = run(hidden + PROGRAM, tmp_path, PLAYHEAD_ENDPOINT=collector.url)
    assert said.count('pip install "playhead[otlp]"') == 1
    assert len(collector.spans) == 2


def test_a_protocol_that_does_not_exist_is_named_and_all_is_recorded(tmp_path: Path):
    with FakeCollector() as collector:
        said = run(PROGRAM, tmp_path, PLAYHEAD_ENDPOINT=collector.url, OTEL_EXPORTER_OTLP_PROTOCOL="smoke-signals")
    assert "smoke-signals" in said
    assert len(collector.spans) == 2

"""A server in a process of its own, over stdio and over HTTP: what it does is part of the client's run."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client
from mcp.server.mcpserver import MCPServer
from mcp.shared import _otel
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import playhead
from playhead.model import names
from playhead.model.span import Span
from tests.support.journal_reader import Recording, start_recording
from tests.support.projected import projected

SERVER = Path(__file__).with_name("weather_server.py")
in_this_process = MCPServer("echo", log_level="CRITICAL")


@in_this_process.tool()
async def echo(text: str) -> str:
    return text


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    playhead.instrument("mcp")
    yield from start_recording(tmp_path / "journal", monkeypatch)
    playhead.uninstrument("mcp")


def environ(folder: Path) -> dict[str, str]:
    """The server records into the same folder, so that the test reads both."""
    kept = {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(folder / "journal")}
    kept |= {"PLAYHEAD_ENDPOINT": "http://127.0.0.1:9", "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0.1"}
    return kept | {"EFFECTS": str(folder / "effects"), "INSTRUMENTED": "1", "NO_PROXY": "127.0.0.1"}


def over_stdio(folder: Path) -> AbstractAsyncContextManager[Any]:
    return stdio_client(StdioServerParameters(command=sys.executable, args=[str(SERVER), "stdio"], env=environ(folder)))


@pytest.fixture
def http_url(tmp_path: Path) -> Iterator[str]:
    command = [sys.executable, str(SERVER), "http"]
    with subprocess.Popen(command, env=os.environ | environ(tmp_path), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(process.stdout.readline())}/mcp"
        finally:
            process.terminate()


def assert_one_run(recording: Recording) -> None:
    seen = recording.read()
    assert len({span.attributes[names.RUN_ID] for span in seen.spans}) == 1
    assert len({span.trace_id for span in seen.spans}) == 1
    assert sorted(span.name for span in seen.spans) == ["execute_tool forecast", "invoke_agent agent", "look_outside"]
    assert seen.parent("look_outside") == "forecast"
    assert seen.output("forecast")["structured_content"] == {"city": "Rome", "sky": "sunny in Rome"}
    inner = seen.call("look_outside")
    assert names.RUN_ROOT not in inner.attributes
    handed_on_by = seen.call("forecast").attributes[names.CALL_ORDER]
    assert inner.attributes[names.PROCESS_AFTER] == f"#{handed_on_by}"  # the server counts for itself
    run = projected(seen, inner.attributes[names.RUN_ID]).row
    assert (run.status, run.tool_calls, run.errors, run.spans_missing) == ("completed", 1, 0, 0)
    [decision] = [log for log in seen.logs if log.name == names.ANNOTATION]
    assert decision.attributes[names.RUN_ID] == inner.attributes[names.RUN_ID]


@pytest.mark.covers("mcp", "spans", "tools")
async def test_over_stdio_the_servers_work_is_part_of_the_clients_run(recording: Recording, tmp_path: Path) -> None:
    with playhead.run("agent"):
        async with Client(over_stdio(tmp_path)) as client:
            result = await client.call_tool("forecast", {"city": "Rome"})
    assert result.structured_content == {"city": "Rome", "sky": "sunny in Rome"}
    assert_one_run(recording)


async def test_over_http_the_servers_work_is_part_of_the_clients_run(recording: Recording, http_url: str) -> None:
    with playhead.run("agent"):
        async with Client(streamable_http_client(http_url)) as client:
            await client.call_tool("forecast", {"city": "Rome"})
    assert_one_run(recording)


async def test_it_is_with_a_tracer_provider_whose_spans_stand_in_between(
    recording: Recording, http_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", TracerProvider())
    with playhead.run("agent"):
        async with Client(streamable_http_client(http_url)) as client:
            await client.call_tool("forecast", {"city": "Rome"})
    assert_one_run(recording)


async def test_a_call_that_is_not_recorded_says_nothing_of_a_run(recording: Recording, http_url: str) -> None:
    recording.configure(disabled=True)
    async with Client(streamable_http_client(http_url)) as client:
        await client.call_tool("forecast", {"city": "Rome"})
    recording.configure(disabled=False)
    seen = recording.read()
    assert [span.name for span in seen.spans] == ["invoke_agent look_outside"]  # a run of the server's own


async def test_a_timeout_of_a_server_elsewhere(recording: Recording, tmp_path: Path) -> None:
    seen: list[float] = []

    async def on_progress(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    with playhead.run("agent"):
        async with Client(over_stdio(tmp_path)) as client:
            patience = 0.3
            while not seen:  # a busy server may have said nothing yet
                with pytest.raises(Exception, match="timed out"):
                    await client.call_tool("slow", {}, read_timeout_seconds=patience, progress_callback=on_progress)
                patience *= 2
    assert set(seen) == {1}  # what the server says late of a call that was given up may be there, too
    assert recording.read().calls("slow")[-1].attributes[names.ERROR_TYPE].endswith("MCPError")


async def test_the_librarys_own_spans_of_the_same_call_are_of_the_run_and_no_second_call(
    recording: Recording, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another backend's provider, whose spans a Playhead collector gets, too; client and server in one process."""
    exporter, provider = InMemorySpanExporter(), TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    monkeypatch.setattr(_otel, "_tracer", provider.get_tracer("mcp-python-sdk"))
    with playhead.run("agent"):
        async with Client(in_this_process, mode="legacy") as client:
            await client.call_tool("echo", {"text": "x"})
    seen = recording.read()
    ours = {span.span_id for span in seen.spans}
    run = seen.call("echo").attributes[names.RUN_ID]
    finished: list[Any] = list(exporter.get_finished_spans())
    theirs = [span for span in finished if f"{span.context.span_id:016x}" not in ours]
    inside = [span for span in theirs if "tools/call" in span.name]
    assert [span.attributes[names.RUN_ID] for span in inside] == [run, run]  # of the server, and of the client
    for span in inside:
        parent = f"{span.parent.span_id:016x}"
        ids = (f"{span.context.trace_id:032x}", f"{span.context.span_id:016x}", parent)
        times = (span.start_time, span.end_time)
        seen.spans.append(Span(*ids, span.name, *times, dict(span.attributes), kind=span.kind.value + 1))
    assert projected(seen, run).row.tool_calls == 1

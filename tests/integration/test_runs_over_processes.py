"""A run of several processes, from the programs that record it to what the collector answers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner

import playhead
from playhead.cli import app
from playhead.model import names
from playhead_collector.process import CollectorProcess
from tests.wire.processes.documented import Programs

APART = """
import sys
from opentelemetry import context, trace
from opentelemetry.propagate import extract, inject
from playhead import observe
import playhead

@observe
def answer(name):
    return name

with playhead.run("first") as run:
    carrier = {}
    inject(carrier)
playhead.configure(join_seconds=0, incoming_runs=sys.argv[1])
token = context.attach(extract(carrier))
answer("second")
context.detach(token)
print(run.id)
"""


@pytest.fixture(scope="module")
def collector() -> Iterator[CollectorProcess]:
    with CollectorProcess() as running:
        yield running


def where(collector: CollectorProcess) -> dict[str, str]:
    return {"PLAYHEAD_ENDPOINT": collector.url, "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "60"}


def run_ids(programs: Programs) -> set[str]:
    return {str(span.attributes[names.RUN_ID]) for span in programs.read().spans}


def test_a_run_says_what_each_of_its_processes_has_recorded(collector: CollectorProcess, tmp_path: Path) -> None:
    programs = Programs(tmp_path)
    programs.write("parent", "child")
    programs.run("parent.py", **where(collector))
    [run_id] = run_ids(programs)
    with playhead.Client(collector.url) as client:
        run = client.run(run_id)
        assert (run["session"], run["status"], run["tool_calls"]) == ("conv-42", "completed", 1)
        assert run["completeness"]["complete"]
        [process] = run["processes"]
        assert (process["spans"], process["spans_missing"], run["process_count"]) == (1, 0, 1)
        assert process["ended"] is not None
        [trace] = run["traces"]
        assert [found["run"] for found in client.runs(trace=trace)] == [run_id]
        assert list(client.runs(trace="f" * 32)) == []
        assert run["links"]["same_trace"] == f"/api/v1/runs?trace={trace}"
        kinds = [event["kind"] for event in client.events(run_id)]
        assert kinds == ["run_started", "tool_called", "tool_completed", "run_completed"]
    listed = CliRunner().invoke(app, ("--url", collector.url, "runs", "--trace", trace))
    assert run_id in listed.stdout
    shown = CliRunner().invoke(app, ("--url", collector.url, "show", run_id))
    assert f"{process['process']}: 1 spans" in shown.stdout


@pytest.mark.parametrize(("incoming", "is_linked"), [("join", True), ("link", True), ("ignore", False)])
def test_what_only_shares_a_trace_is_another_run(
    collector: CollectorProcess, tmp_path: Path, incoming: str, is_linked: bool
) -> None:
    programs = Programs(tmp_path)
    first = programs.run("-c", APART, incoming, **where(collector)).strip()
    [second] = run_ids(programs) - {first}
    with playhead.Client(collector.url) as client:
        other, one = client.run(second), client.run(first)
        assert (one["process_count"], other["name"], other["traces"]) == (0, "answer", one["traces"])
        assert {found["run"] for found in client.runs(trace=one["traces"][0])} == {first, second}
        assert (one["linked"], other["linked"]) == (([second], [first]) if is_linked else ([], []))
        assert [found["run"] for found in client.runs(linked=first)] == ([second] if is_linked else [])

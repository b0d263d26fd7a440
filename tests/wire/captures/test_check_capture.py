"""The check of captures, with a framework that nobody knows: a right one passes all of it, each wrong one is found."""

import os
import sys
from pathlib import Path

import pytest

from playhead.testing.captures import CHECKS, AgentProgram, check_capture
from playhead.testing.captures.__main__ import main
from tests.support.brought_package import write_metadata

FRAMEWORK = Path(__file__).parents[2] / "support/plain_framework"
SCRIPT = FRAMEWORK / "order_agent.py"
RIGHT = "plain_agents_capture"


@pytest.fixture(autouse=True)
def import_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The framework, and the metadata of the package that brings its capture."""
    for folder in (str(FRAMEWORK), str(tmp_path / "brought")):
        monkeypatch.syspath_prepend(folder)
    (tmp_path / "brought").mkdir()


def bring(tmp_path: Path, capture: str) -> None:
    write_metadata(tmp_path / "brought", "plain-agents-playhead", {"plain_agents": capture})


@pytest.mark.slow
def test_a_right_capture_passes_every_check(tmp_path: Path):
    bring(tmp_path, RIGHT)
    report = check_capture(AgentProgram(SCRIPT, streamed=["stream"]))
    assert report.failures == [], f"\n{report}"
    assert {check.name: check.passed for check in report.checks} == dict.fromkeys(CHECKS, True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("capture", "check", "reason"),
    [
        ("no_tools", "tools", "no tool call is recorded under the model's id"),
        ("no_tools", "spans", "0 tool calls are recorded"),
        ("no_tools", "killed at request 3", "ended otherwise"),
        ("no_tools", "killed in a tool", "not named as in doubt"),
        ("no_agents", "spans", "0 tool calls are recorded"),
        ("other_ids", "tools", "no tool call is recorded under the model's id"),
        ("unreadable_tools", "spans", "0 tool calls are recorded"),
        ("not_rebuilt", "resume", "ended otherwise"),
        ("no_errors", "errors", "a tool that raises is not recorded as failed"),
        ("tools_run_again", "resume", "ended otherwise"),
        ("always_idempotent", "killed in a tool", "not named as in doubt"),
        ("changed_results", "output", "did not print 'A1 is refunded.'"),
    ],
)
def test_a_wrong_capture_is_found(tmp_path: Path, capture: str, check: str, reason: str):
    bring(tmp_path, f"wrong_captures:{capture}")
    [found] = check_capture(AgentProgram(SCRIPT), [check]).checks
    assert (found.passed, reason in found.reason) == (False, True), found


@pytest.mark.slow
@pytest.mark.parametrize("capture", ["no_such_module", f"{RIGHT}:no_such_name", "wrong_captures:no_capture"])
def test_a_broken_entry_point_does_nothing_to_the_program(tmp_path: Path, capture: str):
    bring(tmp_path, capture)
    found = check_capture(AgentProgram(SCRIPT), ["output", "tools"])
    assert found["output"].passed is True, found
    assert found["tools"].passed is False


@pytest.mark.slow
def test_the_command_prints_a_line_for_each_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    bring(tmp_path, RIGHT)
    assert main([str(SCRIPT), "--only", "usage", "--only", "streaming"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:2] for line in lines] == [["usage", "passed"], ["streaming", "not"]]
    assert main([str(tmp_path / "no_such_script.py")]) == 2


def test_another_name_of_a_check_is_an_error():
    with pytest.raises(ValueError, match="there is no check tool; there are: output, spans"):
        check_capture(AgentProgram(SCRIPT), ["tool"])


def test_what_a_checked_program_imports_is_light():
    """It must not load what records before the framework is imported."""
    import subprocess

    code = "import sys, playhead.testing.order_tools; print(*sys.modules)"
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run([sys.executable, "-c", code], env=environ, capture_output=True, text=True, check=True)
    heavy = ("playhead.recording", "playhead.journal", "playhead.testing.captures", "opentelemetry", "openai")
    assert [name for name in done.stdout.split() if name.startswith(heavy)] == []

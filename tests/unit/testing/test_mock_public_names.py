"""The public names of playhead.testing, and what importing it costs."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import playhead.testing


def test_the_public_names_are_these() -> None:
    assert playhead.testing.__all__ == [
        "ChatRequest",
        "MockModelServer",
        "RecordedAnswers",
        "Rule",
        "Trajectories",
        "Trajectory",
        "UnreadableTrajectories",
        "any_request",
        "complete",
        "contains",
        "context_exceeds",
        "context_too_long",
        "delay",
        "dropped_connection",
        "malformed_tool_call",
        "rate_limit",
        "regex",
        "run_program",
        "sequence",
        "server_error",
        "text",
        "thinking",
        "tool_call",
        "tool_calls",
        "tool_offered",
        "tool_requested",
        "tool_result_received",
    ]


@pytest.mark.parametrize("name", playhead.testing.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(playhead.testing, name).__module__.startswith("playhead.testing.")


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = playhead.testing.__getattr__("nothing")


def printed_by(program: str) -> list[str]:
    """The words that a fresh interpreter prints."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    return done.stdout.split()


def test_the_pytest_plugin_imports_nothing_of_the_server_until_it_is_used() -> None:
    program = "import sys, playhead.testing.pytest_plugin; print(*(m for m in sys.modules if 'playhead.testing.' in m))"
    assert printed_by(program) == ["playhead.testing.pytest_plugin"]


def test_the_server_imports_no_pytest() -> None:
    program = "import sys, playhead.testing as t; t.MockModelServer().start().close(); print('pytest' in sys.modules)"
    assert printed_by(program) == ["False"]

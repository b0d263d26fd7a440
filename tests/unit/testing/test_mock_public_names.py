"""The public names of playhead.testing, and what importing it costs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import playhead.testing


def test_the_public_names_are_these() -> None:
    assert playhead.testing.__all__ == [
        "ChatRequest",
        "MockModelServer",
        "RecordedAnswers",
        "Rule",
        "RunRecorder",
        "Script",
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
        "scenarios",
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


def test_a_user_who_asks_for_the_names_sees_them_before_they_are_loaded() -> None:
    program = "import playhead.testing as t; print(*(set(t.__all__) - set(dir(t))), len(dir(t)) > 25)"
    assert printed_by(program) == ["True"]


@pytest.mark.parametrize("name", playhead.testing.__all__)
def test_every_public_name_is_on_the_page_about_tests(name: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "testing.md").read_text(encoding="utf-8")
    assert re.search(rf"`[^`]*\b{name}\b[^`]*`", page)


@pytest.mark.parametrize("name", playhead.testing.__all__)
def test_every_public_name_is_there(name: str) -> None:
    value = getattr(playhead.testing, name)
    assert getattr(value, "__module__", value.__name__).startswith("playhead.testing.")


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

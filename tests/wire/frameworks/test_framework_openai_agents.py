"""An OpenAI Agents run, killed and resumed through its instrumented model client and its tools.

"Alone" nothing of it is under `@observe`; else tools and agent are.  Further ways to run it with PLAYHEAD_EVERY_STEP=1.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playhead.model import event as ev
from playhead.testing import MockModelServer, pytest_plugin, text, tool_call, tool_result_received
from tests.support.programs.framework_runs import (
    Agent,
    assert_is_in_doubt_and_goes_on_when_told_to,
    assert_is_killed_and_resumed,
)
from tests.support.projected import projected

server = pytest_plugin.mock_model_server
PROGRAM = Path(__file__).with_name("framework_openai_agents.py")
WAYS: list[Any] = [
    ("alone", assert_is_killed_and_resumed),
    ("streamed", assert_is_in_doubt_and_goes_on_when_told_to),
]
if os.environ.get("PLAYHEAD_EVERY_STEP"):
    WAYS += [
        ("plain", assert_is_killed_and_resumed),
        ("alone, streamed", assert_is_killed_and_resumed),
        ("kept by the server", assert_is_killed_and_resumed),
    ]


@pytest.mark.covers("agents", "messages", "tools", "streaming", "resume")
@pytest.mark.slow
@pytest.mark.parametrize(("variant", "check"), WAYS)
def test_it_goes_on_from_where_it_was_killed(
    server: MockModelServer, tmp_path: Path, variant: str, check: Callable[[Agent], None]
):
    check(Agent(PROGRAM, variant, tmp_path, server))


SWALLOWED = "An error occurred while running the tool. Please try again."


@pytest.mark.covers("agents", "errors")
@pytest.mark.slow
@pytest.mark.parametrize("variant", ["broken, alone", "broken, observed"])
def test_what_a_tool_raised_is_recorded_where_the_model_is_told_something_else(
    server: MockModelServer, tmp_path: Path, variant: str
):
    agent = Agent(PROGRAM, variant, tmp_path, server)
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("Sorry."))
    code, answer, errors = agent.run()
    assert (code, answer) == (0, "Sorry."), errors
    assert server.requests[-1].messages[-1]["content"] == SWALLOWED
    told = projected(agent.recorded(), agent.run_id())
    [failed] = [event for event in told.events if isinstance(event, ev.ToolFailed | ev.ToolCompleted)]
    assert isinstance(failed, ev.ToolFailed)
    assert (failed.error_type, failed.message) == ("LookupError", "no order A1")


@pytest.mark.slow
def test_a_resumed_run_gives_the_model_what_it_was_told_of_a_tool_that_raised(server: MockModelServer, tmp_path: Path):
    agent = Agent(PROGRAM, "broken, alone", tmp_path, server)
    agent.script = lambda: _look_up_and_answer(server)
    agent.run_until_asked(2)
    code, answer, errors = agent.resume()
    assert (code, answer) == (0, "Sorry."), errors
    assert server.requests[-1].messages[-1]["content"] == SWALLOWED
    assert agent.effects() == ["look_up A1"]


def _look_up_and_answer(server: MockModelServer) -> None:
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("Sorry."))

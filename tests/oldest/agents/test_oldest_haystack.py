"""The oldest supported Haystack, whose agents call tools through a `ToolInvoker`, and whose asynchronous pipelines have
a class of their own.  It has no `AgentTool`, and gives no `State` to functions that are tools."""

from pathlib import Path
from typing import Any

import pytest
from haystack.tools import tool

from playhead.testing import MockModelServer, text, tool_call, tool_result_received
from tests.agents import test_haystack as newest
from tests.agents import test_haystack_killed as killed
from tests.support.journal_reader import Recording
from tests.support.programs.three_tools import ThreeTools

server, recording, key = newest.server, newest.recording, newest.key
covers = pytest.mark.covers("haystack", "oldest")


@covers
def test_agent_tools_and_model_calls_are_recorded(recording: Recording, server: MockModelServer):
    newest.test_agent_tools_and_model_calls_are_recorded(recording, server)


@covers
@pytest.mark.parametrize("is_async", [False, True])
def test_tools_that_are_asked_for_together_have_their_own_ids(
    recording: Recording, server: MockModelServer, is_async: bool
):
    newest.test_tools_that_are_asked_for_together_have_their_own_ids(recording, server, is_async)


@covers
def test_a_stream_is_recorded_and_comes_back(recording: Recording, server: MockModelServer):
    newest.test_a_stream_is_recorded_and_comes_back(recording, server)


@covers
@pytest.mark.parametrize("is_async", [False, True])
def test_components_of_a_pipeline_are_steps_and_retrievers(
    recording: Recording, server: MockModelServer, is_async: bool
):
    newest.test_components_of_a_pipeline_are_steps_and_retrievers(recording, server, is_async)


@covers
def test_a_tool_that_fails_is_an_error_and_answers_again_as_it_did(recording: Recording, server: MockModelServer):
    newest.test_a_tool_that_fails_is_an_error_and_answers_again_as_it_did(recording, server)


@covers
def test_a_refused_model_call_is_an_error(recording: Recording, server: MockModelServer):
    newest.test_a_refused_model_call_is_an_error(recording, server)


@covers
def test_a_fork_gives_a_tool_another_result(server: MockModelServer):
    newest.test_a_fork_gives_a_tool_another_result(server)


@covers
def test_what_a_tool_returns_for_the_agents_state_is_there_again(server: MockModelServer):
    @tool(outputs_to_state={"order": {"source": "order"}})
    def note(order: str) -> dict[str, str]:
        """Note an order."""
        return {"order": order, "said": "noted"}

    server.when(~tool_result_received("note"), tool_call("note", {"order": "A1"}))
    server.otherwise(text("done"))

    def ask() -> Any:
        agent = newest.agent(server, [note], state_schema={"order": {"type": str}})
        return agent.run(messages=newest.QUESTION)["order"]

    newest.assert_comes_back(ask, server, "A1")


@pytest.mark.slow
@covers
@pytest.mark.parametrize("kill", [3, "weigh"])
def test_it_goes_on_from_where_it_was_killed(server: MockModelServer, tmp_path: Path, kill: int | str):
    ThreeTools(killed.PROGRAM, "plain", tmp_path, server).check(kill)

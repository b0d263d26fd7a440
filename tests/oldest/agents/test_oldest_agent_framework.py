"""The oldest supported Agent Framework, whose streams are no context managers and whose workflows have no steps."""

import pytest

from playhead.testing import MockModelServer
from tests.agents import test_agent_framework as newest
from tests.support.journal_reader import Recording

server, recording = newest.server, newest.recording
covers = pytest.mark.covers("agent-framework", "oldest")


@covers
async def test_agent_tools_and_model_calls_are_recorded(recording: Recording, server: MockModelServer):
    await newest.test_agent_tools_and_model_calls_are_recorded(recording, server, newest.OpenAIChatCompletionClient)


@covers
def test_a_stream_is_recorded_and_comes_back(recording: Recording, server: MockModelServer):
    newest.test_a_stream_is_recorded_and_comes_back(recording, server)


@covers
def test_what_a_tool_changes_in_the_sessions_state_is_changed_again(server: MockModelServer):
    newest.test_what_a_tool_changes_in_the_sessions_state_is_changed_again(server)


@covers
async def test_a_fork_gives_a_tool_another_result(server: MockModelServer):
    await newest.test_a_fork_gives_a_tool_another_result(server)


@covers
def test_an_agent_that_is_a_tool_is_inside_the_tools_call(recording: Recording, server: MockModelServer):
    newest.test_an_agent_that_is_a_tool_is_inside_the_tools_call(recording, server)


@covers
def test_the_executors_of_a_workflow_are_its_steps(recording: Recording, server: MockModelServer):
    newest.test_the_executors_of_a_workflow_are_its_steps(recording, server)

"""The oldest supported AG2, whose tools for sub-tasks have no class of their own."""

import pytest

from playhead.testing import MockModelServer
from tests.agents import test_ag2 as newest
from tests.support.journal_reader import Recording

server, recording = newest.server, newest.recording
covers = pytest.mark.covers("ag2", "oldest")


@covers
async def test_agent_tools_and_model_calls_are_recorded(recording: Recording, server: MockModelServer):
    await newest.test_agent_tools_and_model_calls_are_recorded(recording, server, newest.OpenAIConfig)


@covers
def test_a_stream_is_recorded_and_comes_back(recording: Recording, server: MockModelServer):
    newest.test_a_stream_is_recorded_and_comes_back(recording, server)


@covers
def test_a_tool_that_fails_is_an_error_and_fails_again(recording: Recording, server: MockModelServer):
    newest.test_a_tool_that_fails_is_an_error_and_fails_again(recording, server)


@covers
async def test_a_fork_gives_a_tool_another_result(server: MockModelServer):
    await newest.test_a_fork_gives_a_tool_another_result(server)


@covers
def test_an_agent_that_is_a_tool_is_inside_the_tools_call(recording: Recording, server: MockModelServer):
    newest.test_an_agent_that_is_a_tool_is_inside_the_tools_call(recording, server)

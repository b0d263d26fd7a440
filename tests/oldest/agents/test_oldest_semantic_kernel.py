"""The oldest supported Semantic Kernel."""

import pytest

from playhead.testing import MockModelServer
from tests.agents import test_semantic_kernel as newest
from tests.support.journal_reader import Recording

server, recording = newest.server, newest.recording
covers = pytest.mark.covers("semantic-kernel", "oldest")


@covers
def test_agent_functions_and_model_calls_are_recorded(recording: Recording, server: MockModelServer):
    newest.test_agent_functions_and_model_calls_are_recorded(recording, server)


@covers
def test_a_stream_is_recorded_and_comes_back(recording: Recording, server: MockModelServer):
    newest.test_a_stream_is_recorded_and_comes_back(recording, server, "invoke_stream")


@covers
async def test_a_fork_gives_a_function_another_result(server: MockModelServer):
    await newest.test_a_fork_gives_a_function_another_result(server)


@covers
def test_an_agent_that_is_a_function_is_inside_its_call(recording: Recording, server: MockModelServer):
    newest.test_an_agent_that_is_a_function_is_inside_its_call(recording, server)


@covers
def test_agents_that_hand_over_are_agents_of_the_run(recording: Recording, server: MockModelServer):
    newest.test_agents_that_hand_over_are_agents_of_the_run(recording, server)

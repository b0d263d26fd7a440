"""The oldest supported Agno, whose agents start the threads for memories in methods of their own.

Its asynchronous agents work in one event loop only, since all of them share one client.
"""

from pathlib import Path

import pytest

from playhead.testing import MockModelServer
from tests.agents import test_agno as newest
from tests.agents import test_agno_killed as killed
from tests.support.journal_reader import Recording
from tests.support.programs.three_tools import ThreeTools

server, recording = newest.server, newest.recording
covers = pytest.mark.covers("agno", "oldest")


@covers
def test_agent_tools_and_model_calls_are_recorded(recording: Recording, server: MockModelServer):
    newest.test_agent_tools_and_model_calls_are_recorded(recording, server)


@covers
def test_a_stream_is_recorded_and_comes_back(recording: Recording, server: MockModelServer):
    newest.test_a_stream_is_recorded_and_comes_back(recording, server)


@covers
def test_a_tool_that_fails_is_an_error_and_answers_again_as_it_did(recording: Recording, server: MockModelServer):
    newest.test_a_tool_that_fails_is_an_error_and_answers_again_as_it_did(recording, server)


@covers
def test_a_refused_model_call_is_an_error_of_the_agent(recording: Recording, server: MockModelServer):
    newest.test_a_refused_model_call_is_an_error_of_the_agent(recording, server)


@covers
def test_a_team_hands_tasks_to_its_members(recording: Recording, server: MockModelServer):
    newest.test_a_team_hands_tasks_to_its_members(recording, server)


@covers
def test_the_steps_of_a_workflow_are_agents_of_one_run(recording: Recording, server: MockModelServer):
    newest.test_the_steps_of_a_workflow_are_agents_of_one_run(recording, server)


@covers
def test_what_a_tool_changes_in_the_sessions_state_is_changed_again(recording: Recording, server: MockModelServer):
    newest.test_what_a_tool_changes_in_the_sessions_state_is_changed_again(recording, server)


@covers
def test_memories_that_are_made_in_the_background_are_of_the_same_run(recording: Recording, server: MockModelServer):
    newest.test_memories_that_are_made_in_the_background_are_of_the_same_run(recording, server)


@covers
def test_a_fork_gives_a_tool_another_result(server: MockModelServer):
    newest.test_a_fork_gives_a_tool_another_result(server)


@pytest.mark.slow
@covers
@pytest.mark.parametrize("kill", [3, "weigh"])
def test_it_goes_on_from_where_it_was_killed(server: MockModelServer, tmp_path: Path, kill: int | str):
    ThreeTools(killed.PROGRAM, "plain", tmp_path, server).check(kill)

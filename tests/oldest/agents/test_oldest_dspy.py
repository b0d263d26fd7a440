"""The oldest supported DSPy, which calls all models through LiteLLM, and has no `ReActV2`."""

from pathlib import Path

import pytest

from playhead.testing import MockModelServer
from tests.agents import test_dspy as newest
from tests.agents import test_dspy_killed as killed
from tests.support.journal_reader import Recording

server, recording = newest.server, newest.recording
covers = pytest.mark.covers("dspy", "oldest")


@covers
def test_modules_tools_and_model_calls_are_recorded(recording: Recording, server: MockModelServer):
    newest.test_modules_tools_and_model_calls_are_recorded(recording, server)


@covers
@pytest.mark.parametrize("cache", [False, True])
def test_it_comes_back_from_the_record(recording: Recording, server: MockModelServer, cache: bool):
    newest.test_it_comes_back_from_the_record(recording, server, cache)


@covers
def test_a_stream_is_recorded_and_comes_back(recording: Recording, server: MockModelServer):
    newest.test_a_stream_is_recorded_and_comes_back(recording, server)


@covers
def test_a_tool_that_fails_is_an_error_and_answers_again_as_it_did(recording: Recording, server: MockModelServer):
    newest.test_a_tool_that_fails_is_an_error_and_answers_again_as_it_did(recording, server)


@covers
def test_a_refused_model_call_is_an_error(recording: Recording, server: MockModelServer):
    newest.test_a_refused_model_call_is_an_error(recording, server)


@covers
def test_a_fork_gives_a_tool_another_result(recording: Recording, server: MockModelServer):
    newest.test_a_fork_gives_a_tool_another_result(recording, server)


@covers
def test_a_fork_gives_a_model_another_answer(recording: Recording, server: MockModelServer):
    newest.test_a_fork_gives_a_model_another_answer(recording, server, False)


@covers
def test_calls_in_threads_of_its_own_are_of_the_same_run(recording: Recording, server: MockModelServer):
    newest.test_calls_in_threads_of_its_own_are_of_the_same_run(recording, server)


@pytest.mark.slow
@covers
@pytest.mark.parametrize("kill", [3, "weigh"])
def test_it_goes_on_from_where_it_was_killed(server: MockModelServer, tmp_path: Path, kill: int | str):
    killed.ReAct(killed.PROGRAM, "oldest", tmp_path, server).check(kill)

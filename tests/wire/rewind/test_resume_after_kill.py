"""A real agent killed with SIGKILL at many of its steps, and resumed in a new process: bar R1.

All kills with PLAYHEAD_EVERY_STEP=1 (as `make bench` does); a sample of them otherwise.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.programs.killed_agent import MODELS, POINTS, TOOLS, Program, agent_program, check_kill

EVERY_STEP = bool(os.environ.get("PLAYHEAD_EVERY_STEP"))
# Before a model, after one, inside a tool, after a tool, inside the error, in the parallel branch, around the stream,
# near the end.
SAMPLED_POINTS = range(1, POINTS + 1) if EVERY_STEP else (1, 2, 3, 4, 43, 77, 82, 87, 91, 95)
# The first, one of four that are asked at a time, the stream, the last.
SAMPLED_REQUESTS = range(1, MODELS + 1) if EVERY_STEP else (1, 21, 24, 25)


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    with agent_program(tmp_path) as program:
        yield program


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the agent comes to when nobody kills it."""
    with agent_program(tmp_path_factory.mktemp("whole")) as program:
        done = program.run()
        assert done.code == 0, done.errors
        assert (len(program.server.requests), len(program.effects())) == (MODELS, TOOLS)
        return done.out.splitlines()[-1]


@pytest.mark.parametrize("point", SAMPLED_POINTS)
def test_a_killed_agent_goes_on_to_the_same_answer_and_does_nothing_twice_that_the_journal_has(
    program: Program, answer: str, point: int
) -> None:
    checked = check_kill(program, answer, point=point)
    assert checked.wrong == []


@pytest.mark.parametrize("request_number", SAMPLED_REQUESTS)
def test_an_agent_killed_while_a_model_thinks_asks_that_one_again_and_names_it(
    program: Program, answer: str, request_number: int
) -> None:
    checked = check_kill(program, answer, request=request_number)
    assert checked.wrong == []
    assert [place for place in checked.in_doubt if place.endswith(":llm")]


def test_a_run_that_was_resumed_and_killed_again_goes_on_once_more(program: Program, answer: str) -> None:
    run_id = program.run(DIE_AT="9").out.splitlines()[0]
    # In the second attempt only what is live passes its points and it dies at a later one.
    second = program.run(run_id, DIE_AT="60")
    assert second.code == -9, second.errors
    third = program.run(run_id, IN_DOUBT="rerun")
    assert third.code == 0, third.errors
    assert third.out.splitlines()[-1] == answer
    assert len(set(program.questions())) == len(program.questions())


def test_a_run_that_has_ended_gives_its_answer_again_without_a_live_call(program: Program, answer: str) -> None:
    run_id = program.run().out.splitlines()[0]
    requests, effects = len(program.server.requests), program.effects()
    again = program.run(run_id)
    assert again.code == 0, again.errors
    assert again.out.splitlines()[-1] == answer
    assert '"live": 0' in again.out
    assert len(program.server.requests) == requests
    assert program.effects() == effects

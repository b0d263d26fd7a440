"""The agent of `test_resume_after_kill.py` on other clients of models: bar R1, a sample of its kills.

All kills with PLAYHEAD_EVERY_STEP=1.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.programs.killed_agent import MODELS, POINTS, TOOLS, Program, agent_program, check_kill

EVERY_STEP = bool(os.environ.get("PLAYHEAD_EVERY_STEP"))
CLIENTS = ("google_genai", "anthropic")
# After a model, inside a tool, around the stream; more are tried with one client.
POINTS_TRIED = range(1, POINTS + 1) if EVERY_STEP else (2, 43, 91)
# One of four that are asked at a time, the stream.
REQUESTS_TRIED = range(1, MODELS + 1) if EVERY_STEP else (21, 24)

pytestmark = [pytest.mark.covers("google-genai", "resume"), pytest.mark.covers("anthropic", "resume")]


@pytest.fixture(params=CLIENTS, scope="module")
def client(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def program(client: str, tmp_path: Path) -> Iterator[Program]:
    with agent_program(tmp_path, client) as program:
        yield program


@pytest.fixture(scope="module")
def answer(client: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the agent comes to when nobody kills it."""
    with agent_program(tmp_path_factory.mktemp("whole"), client) as program:
        done = program.run()
        assert done.code == 0, done.errors
        assert (len(program.server.requests), len(program.effects())) == (MODELS, TOOLS)
        return done.out.splitlines()[-1]


@pytest.mark.parametrize("point", POINTS_TRIED)
def test_a_killed_agent_does_nothing_twice_that_the_journal_has(program: Program, answer: str, point: int) -> None:
    assert check_kill(program, answer, point=point).wrong == []


@pytest.mark.parametrize("request_number", REQUESTS_TRIED)
def test_what_a_model_was_thinking_about_is_asked_again(program: Program, answer: str, request_number: int) -> None:
    checked = check_kill(program, answer, request=request_number)
    assert checked.wrong == []
    assert [place for place in checked.in_doubt if place.endswith(":llm")]

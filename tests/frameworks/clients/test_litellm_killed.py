"""Agents on LiteLLM, killed and resumed: no completed call is repeated (bar R1).

All kills of the agent of fifty steps with PLAYHEAD_EVERY_STEP=1.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from playhead.testing import MockModelServer, pytest_plugin
from tests.support.programs.framework_runs import Agent, killed
from tests.support.programs.killed_agent import MODELS, POINTS, TOOLS, agent_program, check_kill

server = pytest_plugin.mock_model_server
PROGRAM = Path(__file__).parents[1] / "programs/litellm_agent.py"
EVERY_STEP = bool(os.environ.get("PLAYHEAD_EVERY_STEP"))
# LiteLLM takes seconds to load, in each process: the sample is one of four requests that are made at a time.
SAMPLED_POINTS = range(1, POINTS + 1) if EVERY_STEP else ()
SAMPLED_REQUESTS = range(1, MODELS + 1) if EVERY_STEP else (21,)
CASES = [*[("point", n) for n in SAMPLED_POINTS], *[("request", n) for n in SAMPLED_REQUESTS]]


@pytest.mark.slow
@pytest.mark.covers("litellm", "resume")
@killed("plain", "streamed", in_doubt="router")
def test_it_goes_on_from_where_it_was_killed(
    server: MockModelServer, tmp_path: Path, variant: str, check: Callable[[Agent], None]
):
    check(Agent(PROGRAM, variant, tmp_path, server))


@pytest.fixture(scope="module")
def answer(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What the agent of fifty steps comes to when nobody kills it."""
    with agent_program(tmp_path_factory.mktemp("whole"), "litellm") as program:
        done = program.run()
        assert done.code == 0, done.errors
        assert (len(program.server.requests), len(program.effects())) == (MODELS, TOOLS)
        return done.out.splitlines()[-1]


@pytest.mark.slow
@pytest.mark.covers("litellm", "resume")
@pytest.mark.parametrize(("of", "number"), CASES)
def test_nothing_that_the_journal_has_is_done_again(tmp_path: Path, answer: str, of: str, number: int):
    with agent_program(tmp_path, "litellm") as program:
        checked = check_kill(program, answer, **{of: number})
    assert checked.wrong == []
    assert of == "point" or [path for path in checked.in_doubt if path.endswith(":llm")]

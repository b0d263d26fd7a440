"""The oldest supported frameworks: an agent of each, killed and resumed; the programs are those of `tests/wire`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from playhead.testing import MockModelServer, pytest_plugin
from tests.support.programs.framework_runs import (
    Agent,
    assert_is_in_doubt_and_goes_on_when_told_to,
    assert_is_killed_and_resumed,
)

server = pytest_plugin.mock_model_server
PROGRAMS = Path(__file__).parents[2] / "wire" / "frameworks"
covers = pytest.mark.covers


@pytest.mark.slow
@covers("langchain", "oldest")
@covers("langgraph", "oldest")
@covers("agents", "oldest")
@covers("pydantic_ai", "oldest")
@pytest.mark.parametrize(
    ("variant", "check"),
    [("alone", assert_is_killed_and_resumed), ("streamed", assert_is_in_doubt_and_goes_on_when_told_to)],
)
@pytest.mark.parametrize("framework", ["langgraph", "openai_agents", "pydantic_ai"])
def test_it_goes_on_from_where_it_was_killed(
    server: MockModelServer, tmp_path: Path, framework: str, variant: str, check: Callable[[Agent], None]
):
    check(Agent(PROGRAMS / f"framework_{framework}.py", variant, tmp_path, server))

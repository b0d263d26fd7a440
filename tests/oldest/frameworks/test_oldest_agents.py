"""The oldest supported versions of what is tested in `tests/frameworks`: an agent of each, killed and resumed; the
programs are those that stand there."""

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
PROGRAMS = Path(__file__).parents[2] / "frameworks" / "programs"
covers = pytest.mark.covers


@pytest.mark.slow
@covers("autogen", "oldest")
@covers("google-adk", "oldest")
@covers("litellm", "oldest")
@covers("llama-index", "oldest")
@covers("strands", "oldest")
@pytest.mark.parametrize(
    ("variant", "check"),
    [("plain", assert_is_killed_and_resumed), ("streamed", assert_is_in_doubt_and_goes_on_when_told_to)],
)
@pytest.mark.parametrize("framework", ["autogen", "google_adk", "litellm", "llama_index", "strands"])
def test_it_goes_on_from_where_it_was_killed(
    server: MockModelServer, tmp_path: Path, framework: str, variant: str, check: Callable[[Agent], None]
):
    check(Agent(PROGRAMS / f"{framework}_agent.py", variant, tmp_path, server))

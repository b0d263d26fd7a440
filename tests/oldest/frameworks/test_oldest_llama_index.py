"""The oldest supported LlamaIndex: its agent, killed and resumed; the program is that of `tests/frameworks`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from playhead.testing import MockModelServer, pytest_plugin
from tests.support.forked.framework_runs import (
    Agent,
    assert_is_in_doubt_and_goes_on_when_told_to,
    assert_is_killed_and_resumed,
)

server = pytest_plugin.mock_model_server
PROGRAM = Path(__file__).parents[2] / "frameworks" / "programs" / "llama_index_agent.py"


@pytest.mark.slow
@pytest.mark.covers("llama-index", "oldest")
@pytest.mark.parametrize(
    ("variant", "check"),
    [("plain", assert_is_killed_and_resumed), ("streamed", assert_is_in_doubt_and_goes_on_when_told_to)],
)
def test_it_goes_on_from_where_it_was_killed(
    server: MockModelServer, tmp_path: Path, variant: str, check: Callable[[Agent], None]
):
    check(Agent(PROGRAM, variant, tmp_path, server))

"""The oldest supported smolagents: its agent, killed and resumed; the program is that of `tests/frameworks`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from playhead.testing import MockModelServer, pytest_plugin
from tests.frameworks import test_smolagents as newest
from tests.support.programs.framework_runs import (
    Agent,
    assert_is_in_doubt_and_goes_on_when_told_to,
    assert_is_killed_and_resumed,
)

server = pytest_plugin.mock_model_server


@pytest.mark.slow
@pytest.mark.covers("smolagents", "oldest")
@pytest.mark.parametrize(
    ("variant", "check"),
    [("plain", assert_is_killed_and_resumed), ("streamed", assert_is_in_doubt_and_goes_on_when_told_to)],
)
def test_it_goes_on_from_where_it_was_killed(
    server: MockModelServer, tmp_path: Path, variant: str, check: Callable[[Agent], None]
):
    check(newest.SmolAgent(newest.PROGRAM, variant, tmp_path, server))


@pytest.mark.slow
@pytest.mark.covers("smolagents", "oldest")
def test_tools_that_an_agents_code_calls_are_recorded(server: MockModelServer, tmp_path: Path):
    newest.test_tools_that_an_agents_code_calls_are_recorded(server, tmp_path)

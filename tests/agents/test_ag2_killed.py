"""An agent on AG2, killed and resumed: no completed call is repeated."""

from pathlib import Path

import pytest

from playhead.testing import MockModelServer, pytest_plugin
from tests.support.programs.three_tools import (
    ThreeTools,
    assert_is_recorded_without_a_line,
    killed_everywhere,
    killed_variants,
)

pytestmark = [pytest.mark.slow, pytest.mark.covers("ag2", "resume")]
server = pytest_plugin.mock_model_server
PROGRAM = Path(__file__).parent / "programs/ag2_agent.py"


@killed_everywhere(4)
def test_it_goes_on_from_where_it_was_killed(server: MockModelServer, tmp_path: Path, kill: int | str):
    ThreeTools(PROGRAM, "plain", tmp_path, server).check(kill)


@killed_variants("observed", "streamed", "responses")
def test_a_stream_and_an_observed_function_go_on_as_well(server: MockModelServer, tmp_path: Path, variant: str):
    ThreeTools(PROGRAM, variant, tmp_path, server).check(4)


def test_it_is_one_run_without_a_line_of_code(server: MockModelServer, tmp_path: Path):
    assert_is_recorded_without_a_line(ThreeTools(PROGRAM, "plain", tmp_path, server))

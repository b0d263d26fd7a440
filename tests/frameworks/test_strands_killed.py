"""An agent on Strands, killed and resumed: no completed call is repeated."""

from collections.abc import Callable
from pathlib import Path

import pytest

from playhead.testing import MockModelServer, pytest_plugin
from tests.support.programs.framework_runs import (
    Agent,
    killed,
)

server = pytest_plugin.mock_model_server
PROGRAM = Path(__file__).parent / "programs/strands_agent.py"


@pytest.mark.slow
@pytest.mark.covers("strands", "resume")
@killed("plain", "streamed", "anthropic")
def test_it_goes_on_from_where_it_was_killed(
    server: MockModelServer, tmp_path: Path, variant: str, check: Callable[[Agent], None]
):
    check(Agent(PROGRAM, variant, tmp_path, server))

"""A pydantic-ai agent, killed and resumed through its instrumented model client and its tools.

"Alone" nothing of it is under `@observe`; else tools and agent are.  Further ways to run it with PLAYHEAD_EVERY_STEP=1.
"""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from playhead.testing import MockModelServer, pytest_plugin
from tests.support.programs.framework_runs import (
    Agent,
    assert_is_in_doubt_and_goes_on_when_told_to,
    assert_is_killed_and_resumed,
)

server = pytest_plugin.mock_model_server
PROGRAM = Path(__file__).with_name("framework_pydantic_ai.py")
WAYS: list[Any] = [
    ("alone", assert_is_killed_and_resumed),
    ("streamed", assert_is_in_doubt_and_goes_on_when_told_to),
]
if os.environ.get("PLAYHEAD_EVERY_STEP"):
    WAYS += [
        ("responses", assert_is_killed_and_resumed),
        ("alone, anthropic", assert_is_killed_and_resumed),
        ("anthropic, streamed", assert_is_in_doubt_and_goes_on_when_told_to),
        ("alone, streamed", assert_is_killed_and_resumed),
        ("without a loop", assert_is_killed_and_resumed),
    ]


@pytest.mark.covers("pydantic_ai", "messages", "tools", "streaming", "resume")
@pytest.mark.slow
@pytest.mark.parametrize(("variant", "check"), WAYS)
def test_it_goes_on_from_where_it_was_killed(
    server: MockModelServer, tmp_path: Path, variant: str, check: Callable[[Agent], None]
):
    check(Agent(PROGRAM, variant, tmp_path, server))

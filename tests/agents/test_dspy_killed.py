"""A ReAct agent of DSPy, killed and resumed: no completed call is repeated."""

from pathlib import Path
from typing import Any

import pytest

from playhead.testing import MockModelServer, contains, pytest_plugin, text
from tests.support.programs.three_tools import (
    ANSWER,
    TOOLS,
    ThreeTools,
    assert_is_recorded_without_a_line,
    killed_everywhere,
    killed_variants,
)

pytestmark = [pytest.mark.slow, pytest.mark.covers("dspy", "resume")]
server = pytest_plugin.mock_model_server
PROGRAM = Path(__file__).parent / "programs/dspy_agent.py"


class ReAct(ThreeTools):
    """The model asks for tools in its texts, so they have no ids; a last call reads the answer from what was found."""

    models = 5

    def script(self) -> None:
        for number, name in enumerate((*TOOLS, "finish")):
            arguments = "{}" if name == "finish" else '{"order": "A1"}'
            turn = {"next_thought": "On.", "next_tool_name": name, "next_tool_args": arguments}
            self.server.when(~contains(f"observation_{number}"), text(fields(**turn)))
        self.server.otherwise(text(fields(reasoning="Done.", answer=ANSWER)))

    def requested_ids(self) -> set[Any]:
        return {None}


def fields(**values: str) -> str:
    """A model's answer in the form that DSPy asks for."""
    return "\n\n".join([f"[[ ## {name} ## ]]\n{value}" for name, value in values.items()] + ["[[ ## completed ## ]]"])


@killed_everywhere(5)
def test_it_goes_on_from_where_it_was_killed(server: MockModelServer, tmp_path: Path, kill: int | str):
    ReAct(PROGRAM, "native", tmp_path, server).check(kill)


@killed_variants("observed", "litellm", "async")
def test_other_clients_and_callers_go_on_as_well(server: MockModelServer, tmp_path: Path, variant: str):
    ReAct(PROGRAM, variant, tmp_path, server).check(4)


def test_it_is_one_run_without_a_line_of_code(server: MockModelServer, tmp_path: Path):
    assert_is_recorded_without_a_line(ReAct(PROGRAM, "native", tmp_path, server))

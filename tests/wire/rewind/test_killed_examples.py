"""Examples with an agent, killed with SIGKILL and resumed in a new process: nothing that is recorded is done again.

All kills with PLAYHEAD_EVERY_STEP=1 (as `make bench` does); three of each example otherwise.
"""

import os
from pathlib import Path

import pytest

from tests.support.programs.killed_examples import EXAMPLES, ExampleProcesses, Kill, Whole, check, check_killed, whole
from tests.support.programs.processes import Ended

pytestmark = pytest.mark.slow
EVERY_STEP = bool(os.environ.get("PLAYHEAD_EVERY_STEP"))


def kills(expected: Whole) -> list[Kill]:
    """In the middle of the journal, while the last model call is under way, and in the last tool."""
    if EVERY_STEP:
        return list(expected.kills())
    sample = [Kill(append=expected.appends // 2), Kill(request=expected.requests)]
    return [*sample, Kill(tool=expected.tools)] if expected.tools else sample


@pytest.mark.parametrize("name", EXAMPLES)
def test_a_killed_example_goes_on_to_the_same_answer_and_repeats_nothing(name: str, tmp_path: Path):
    expected = whole(name, tmp_path / "whole")
    recorded = 0
    for number, kill in enumerate(kills(expected)):
        checked = check_killed(name, expected, kill, tmp_path / str(number))
        assert checked.wrong == [], kill
        recorded += checked.completed + checked.in_doubt
    # Of all kills together: of calls side by side, the last request may arrive before one of them is in the journal.
    assert recorded > 0


class StartedAnew(ExampleProcesses):
    """Its later processes are not told which run they are to resume."""

    def run(self, *arguments: str, kill: Kill | None = None, in_doubt: str = "raise") -> Ended:
        return super().run(kill=kill, in_doubt=in_doubt)


def test_an_example_that_is_started_anew_instead_is_seen_to_repeat(tmp_path: Path):
    name = "agents/document_processing"
    expected = whole(name, tmp_path / "whole")
    processes = StartedAnew(name, tmp_path / "killed")
    with processes.server:
        checked = check(processes, expected, Kill(request=expected.requests))
    assert checked.models_again == 2  # those that were completed
    assert checked.wrong

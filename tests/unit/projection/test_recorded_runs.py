"""On 200 recorded runs, where nothing was compressed, nothing is found; and on shortened ones, every cut is."""

import os
from functools import cache
from pathlib import Path

import pytest

from playhead.dialect import openai_chat
from playhead.model.event import ContextCompressed
from playhead.model.message import Message, message_text, text_message
from playhead.projection.projector import ProjectSettings, project
from playhead.projection.summary_texts import restates
from playhead.testing import Trajectories, Trajectory
from tests.support.compressed_runs import Call, LabelledRun
from tests.support.recorded_runs import Recorded

FOLDER = Path(os.environ.get("PLAYHEAD_TRAJECTORIES", Path(__file__).parents[4] / "shared" / "data"))
pytestmark = pytest.mark.skipif(not FOLDER.is_dir(), reason="PLAYHEAD_TRAJECTORIES names a folder of recorded runs")
SUMMARY = text_message("user", "Summary of the conversation so far: the customer wants to change a booking.")


@cache
def trajectories() -> tuple[Trajectory, ...]:
    return tuple(Trajectories.load(FOLDER))


def calls_of(run: Trajectory) -> list[tuple[list[Message], Message]]:
    messages = [openai_chat.to_message(dict(message)) for message in run.messages]
    return [(messages[:turn], messages[turn]) for turn in run.turns]


def found(name: str, calls: list[tuple[list[Message], Message]]) -> list[ContextCompressed]:
    recorded = Recorded("01" * 16, LabelledRun(name, [Call(given, answer) for given, answer in calls]))
    events = project(recorded.work(), 0, ProjectSettings()).events
    return [event for event in events if isinstance(event, ContextCompressed)]


def test_no_recorded_run_was_compressed():
    assert [run.key for run in trajectories() if found(run.key, calls_of(run))] == []


def test_a_task_after_another_is_no_compression():
    runs = trajectories()
    pairs = [(one, other) for one, other in zip(runs, runs[7:], strict=False)]
    assert [(one.key, other.key) for one, other in pairs if found(one.key, calls_of(one) + calls_of(other))] == []


def test_the_first_message_of_another_task_restates_nothing():
    texts = [[*map(message_text, run_messages(run))] for run in trajectories()]
    for system, began, *said in texts:
        alike = [other[1] for other in texts if other[1] != began and restates(other[1], said, [system, began])]
        assert alike == []


def run_messages(run: Trajectory) -> list[Message]:
    return [openai_chat.to_message(dict(message)) for message in run.messages]


def test_windows_are_found_call_by_call():
    for run in trajectories()[::10]:
        calls = [([given[0], *given[1:][-9:]], answer) for given, answer in calls_of(run)]
        cuts = found(run.key, calls)
        shrunk = [given for given, _ in calls_of(run) if len(given) > 10]
        assert len(cuts) == len(shrunk)
        assert {cut.strategy for cut in cuts} <= {"sliding_window", "dropped_tool_results"}


def test_a_summary_in_the_middle_of_a_run_is_found():
    for run in trajectories()[::10]:
        whole = calls_of(run)
        middle = next(n for n, (given, _) in enumerate(whole) if len(given) >= 8 or n == len(whole) - 1)
        cut = len(whole[middle][0]) - 3
        calls = whole[:middle] + [([given[0], SUMMARY, *given[cut:]], answer) for given, answer in whole[middle:]]
        cuts = found(run.key, calls)
        assert [each.strategy for each in cuts] == ["summary"] * (cut > 1)
        for each in cuts:
            assert len(each.summarised) == cut - 1

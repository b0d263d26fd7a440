"""What functions that score runs may return, and how they are named."""

import math
from typing import Any

import pytest

from playhead.model.scored_run import GivenScore
from playhead_collector.errors import BadSetting, Refused
from playhead_collector.store.ports.scorers import is_sampled
from playhead_collector.workers.scorer_functions import named_functions
from playhead_collector.workers.scorer_process import scores_of


@pytest.mark.parametrize(
    ("answer", "scores"),
    [
        (None, []),
        (True, [GivenScore(True)]),
        (3, [GivenScore(3.0)]),
        ("good", [GivenScore("good")]),
        (GivenScore(0.5, "why", "mine", "middling"), [GivenScore(0.5, "why", "mine", "middling")]),
        ({"a": 1, "b": False}, [GivenScore(1.0, None, "a"), GivenScore(False, None, "b")]),
        ({"a": GivenScore(1, "why")}, [GivenScore(1.0, "why", "a")]),
        ([GivenScore(1, name="a"), GivenScore(2, name="b")], [GivenScore(1.0, None, "a"), GivenScore(2.0, None, "b")]),
        ([], []),
    ],
)
def test_a_function_gives_a_value_a_score_several_or_none(answer: Any, scores: list[GivenScore]):
    assert scores_of(answer) == scores


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (math.inf, "finite"),
        (b"good", "finite number, a boolean"),
        (object(), "finite number, a boolean"),
        ("", "0 characters"),
        ("x" * 1001, "1001 characters"),
        ([True, False], "several scores of one name"),
        ({str(n): n for n in range(21)}, "21 scores"),
        ({"": 1}, "a name of 0 characters"),
    ],
)
def test_what_is_no_score_is_refused(answer: Any, why: str):
    with pytest.raises(Refused, match=why):
        scores_of(answer)


def test_functions_are_named_by_module_and_function():
    assert named_functions(["lamps.scorers:helpful"])["lamps.scorers:helpful"] == "lamps.scorers:helpful"
    for name in ("helpful", "lamps:", "a b:c", "lamps:helpful()", ":x"):
        with pytest.raises(BadSetting, match="module:function"):
            named_functions([name])


def test_a_sample_is_the_same_each_time_and_grows_with_its_share():
    runs = [f"{number:032x}" for number in range(2_000)]
    tenth = {run for run in runs if is_sampled(run, "good", 0.1)}
    half = {run for run in runs if is_sampled(run, "good", 0.5)}
    assert 150 < len(tenth) < 250
    assert 900 < len(half) < 1_100
    assert tenth < half
    assert tenth != {run for run in runs if is_sampled(run, "other", 0.1)}
    assert not any(is_sampled(run, "good", 0.0) for run in runs)
    assert all(is_sampled(run, "good", 1.0) for run in runs)

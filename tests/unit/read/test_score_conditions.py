"""Conditions of scores as users write them."""

import pytest

from playhead_collector.errors import Refused
from playhead_collector.read.scores import read_condition
from playhead_collector.store.ports.scores import ScoreCondition


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("reward", ScoreCondition("reward")),
        ("reward>=1", ScoreCondition("reward", ">=", 1)),
        ("reward < 0.5", ScoreCondition("reward", "<", 0.5)),
        ("resolved=true", ScoreCondition("resolved", "=", 1)),
        ("verdict=a==b", ScoreCondition("verdict", "=", "a==b")),
    ],
)
def test_what_is_a_condition(text: str, expected: ScoreCondition):
    assert read_condition(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("reward=>1", "=> .*did you mean >=?"),
        ("reward =< 1", "=< .*did you mean <=?"),
        ("reward==1", "== .*did you mean =?"),
        ("reward!=1", "!= .* is no comparison: the comparisons are =, <, <=, > and >="),
        ("reward<>1", "<> .* is no comparison"),
        ("reward>=much", "compares with no number"),
        ("reward=", "compares with no number"),
    ],
)
def test_what_is_refused(text: str, message: str):
    with pytest.raises(Refused, match=message) as refused:
        read_condition(text)
    assert (refused.value.status, refused.value.code) == (400, "bad_score")

"""Which of the model's tool calls a tool answers, when frameworks stand between the two."""

from typing import Any

import pytest

from playhead.calls.requested_tools import add_requested_call, drop_requested_call, pop_requested_call
from playhead.calls.run import ActiveRun
from playhead.model.canonical import canonical_json


def asked(*calls: tuple[str, Any]) -> ActiveRun:
    run = ActiveRun()
    for number, (name, arguments) in enumerate(calls, 1):
        add_requested_call(run, name, canonical_json(arguments), f"c{number}")
    return run


def test_equal_arguments_come_first_and_each_request_is_answered_once():
    run = asked(("pay", {}), ("pay", {"to": "Bo"}), ("pay", {"to": "Bo"}), ("say", {"to": "Bo"}))
    assert [pop_requested_call(run, "pay", {"to": "Bo"}) for _ in range(4)] == ["c2", "c3", "c1", None]
    assert pop_requested_call(run, "say", {"to": "Bo"}) == "c4"


@pytest.mark.parametrize(
    ("wrote", "got"),
    [
        ({"amount": 5}, {"amount": 5.0}),
        ({"order": "A1"}, {"order": "A1", "verbose": False}),
        ({"who": {"name": "Bo"}}, {"who": {"name": "Bo", "age": None}}),
        ({"items": [{"n": 1}, {"n": 2}]}, {"items": [{"n": 1.0, "unit": "kg"}, {"n": 2.0, "unit": "kg"}]}),
    ],
)
def test_what_a_framework_adds_or_converts_does_not_matter(wrote: Any, got: Any):
    assert pop_requested_call(asked(("do", wrote)), "do", got) == "c1"


@pytest.mark.parametrize(
    ("wrote", "got"),
    [
        ({"amount": 5}, {"amount": 6}),
        ({"order": "A1"}, {"number": "A1"}),
        ({"items": [1, 2]}, {"items": [1]}),
        ({"sure": True}, {"sure": 1}),
        ("not JSON", {"order": "A1"}),
    ],
)
def test_another_value_is_another_request(wrote: Any, got: Any):
    assert pop_requested_call(asked(("do", wrote)), "do", got) is None


def test_a_request_whose_answer_is_known_by_its_id_is_not_open_any_more():
    run = asked(("pay", {"to": "Bo"}), ("pay", {"to": "Bo"}))
    drop_requested_call(run, "pay", "c1")
    assert pop_requested_call(run, "pay", {"to": "Bo"}) == "c2"


def test_requests_that_nobody_answers_do_not_pile_up_without_end():
    run = asked(*(("pay", {"n": n}) for n in range(1000)), *((f"tool {n}", {}) for n in range(1000)))
    assert sum(map(len, run.requested.values())) < 1000

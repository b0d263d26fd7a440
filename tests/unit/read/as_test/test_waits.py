"""What people answered in a run, as a test of it has to know."""

from typing import Any

from playhead.model import event as ev
from playhead.model.canonical import content_of
from playhead.model.ref import ContentRef
from playhead_collector.read.given_answers import GivenAnswer, RunWaits, answers_given, refs_of
from playhead_collector.read.values import ContentCache

CONTENTS: dict[ContentRef, Any] = {}


def kept(value: Any) -> ContentRef:
    content = content_of(value)
    CONTENTS[content.ref] = content
    return content.ref


def run_of(*events: tuple[type[ev.Event], dict[str, Any]]) -> RunWaits:
    found = RunWaits()
    found.add(
        [
            kind(id=f"{seq}", run="0a" * 16, seq=seq, time_ns=seq, span=None, actor=None, **values)  # type: ignore[misc]
            for seq, (kind, values) in enumerate(events, 1)
        ]
    )
    return found


def given(*runs: RunWaits) -> list[GivenAnswer]:
    assert set(filter(None, refs_of(runs))) <= CONTENTS.keys()
    return answers_given(runs, ContentCache(CONTENTS))


def test_details_tell_apart_only_what_was_answered_otherwise():
    asked = [
        (ev.ApprovalRequested, {"approval": f"{n}", "action": "run refund", "arguments": kept({"amount": n})})
        for n in (20, 500)
    ]
    granted, denied = (ev.ApprovalGranted, {"approval": "20", "by": "Ada"}), (ev.ApprovalDenied, {"approval": "500"})
    assert [(each.how, each.details) for each in given(run_of(*asked, granted, denied))] == [
        ("approve", {"amount": 20}),
        ("deny", {"amount": 500}),
    ]
    both = given(run_of(*asked, granted, (ev.ApprovalGranted, {"approval": "500"})))
    assert [(each.how, each.details) for each in both] == [("approve", None), ("approve", None)]


def test_questions_of_every_kind_are_answered_as_they_were():
    prompts = {
        "1": "Is this fine?",
        "2": {"action": "Which branch?", "schema": {"type": "string"}},
        "3": {"name": "payment", "key": "A1"},
        "4": {"action_requests": [{"name": "refund"}]},
    }
    asked = [(ev.InputRequested, {"wait": wait, "prompt": kept(prompt)}) for wait, prompt in prompts.items()]
    answers = [(ev.InputReceived, {"wait": wait, "value": kept(wait), "by": "Eve"}) for wait in prompts]
    assert [(each.question, each.key, each.value) for each in given(run_of(*asked, *answers))] == [
        ("Is this fine?", None, "1"),
        ("Which branch?", None, "2"),
        ("payment", "A1", "3"),
        (None, None, "4"),
    ]


def test_an_answer_may_be_in_a_later_run_and_the_program_s_own_is_none():
    waiting = run_of(
        (ev.InputRequested, {"wait": "1", "prompt": kept("a?")}),
        (ev.InputRequested, {"wait": "2", "prompt": kept("b?")}),
    )
    own = {"wait": "2", "value": kept("no"), "by": "the program"}
    going_on = run_of((ev.InputReceived, {"wait": "1", "value": kept("yes")}), (ev.InputReceived, own))
    assert (waiting.is_left("1"), waiting.is_left("2")) == (True, True)
    assert going_on.questions_of_earlier_runs == {"1", "2"}
    assert given(waiting, going_on) == [GivenAnswer("answer", "a?", "yes")]
    assert given(waiting) == []


def test_a_question_that_the_run_went_on_without_has_expired():
    run = run_of(
        (ev.ApprovalRequested, {"approval": "1", "action": "delete"}),
        (ev.ToolCalled, {"name": "keep"}),
    )
    assert given(run) == [GivenAnswer("expire", "delete")]

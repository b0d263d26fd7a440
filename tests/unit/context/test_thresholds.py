"""When a compression is due: numbers of tokens, of turns, of messages, several of them at once, or any of them."""

from math import inf, nan
from typing import Any, cast

import pytest

from playhead.context import AllOf, Compression, Context, Entry, Keep, LlmSummary, Messages, Turns
from playhead.models import MockModel, ModelRequest


def entries(turns: int) -> list[Entry]:
    context = Context()
    for turn in range(turns):
        context.add("user", f"question {turn}")
        context.add("assistant", f"answer {turn}")
    return context.messages


@pytest.mark.parametrize(
    ("threshold", "tokens", "turns", "expected"),
    [
        (0.5, 499, 1, None),
        (0.5, 500, 1, "tokens"),
        (300, 300, 1, "tokens"),
        (Messages(4), 0, 1, None),
        (Messages(4), 0, 2, "messages"),
        (AllOf(300, Messages(4)), 300, 1, None),
        (AllOf(300, Messages(4)), 299, 2, None),
        (AllOf(300, Messages(4)), 300, 2, "tokens"),
        (AllOf(Messages(4), Turns(3)), 0, 2, None),
        ([AllOf(300, Messages(40)), Turns(3)], 300, 3, "turns"),
        ([Turns(3), 300], 300, 3, "tokens"),
    ],
)
def test_a_threshold_is_reached(threshold: Any, tokens: int, turns: int, expected: str | None):
    assert Compression(threshold=threshold).reached(entries(turns), tokens, 1_000) == expected


def test_a_share_of_an_unknown_limit_is_never_reached():
    assert Compression(threshold=AllOf(0.5, Messages(2))).reached(entries(2), 10_000, None) is None


def test_tokens_that_need_messages_beside_them_make_nothing_due():
    assert Compression(threshold=[AllOf(300, Messages(4)), 0.9]).due_at(1_000) == 900


def test_thresholds_are_recorded_in_words():
    policy = Compression(threshold=[0.7, AllOf(300, Messages(4)), Turns(15)])
    assert policy.describe()["threshold"] == [0.7, "AllOf(300, Messages(most=4))", "Turns(most=15, share=1.0)"]


@pytest.mark.parametrize("wrong", [{"threshold": AllOf(0.5, cast(Any, "x"))}, {"limit": nan}, {"limit": inf}])
def test_what_would_fail_in_the_middle_of_the_program_is_refused(wrong: dict[str, Any]):
    with pytest.raises((TypeError, ValueError), match="expected a"):
        Compression(**wrong)


@pytest.mark.parametrize("wrong", [lambda: Messages(0), AllOf, lambda: Compression(threshold=AllOf(0, Messages(1)))])
def test_what_is_no_threshold_is_refused(wrong: Any):
    with pytest.raises(ValueError, match="at least one|share of the limit"):
        wrong()


def test_a_prompt_with_a_place_for_the_conversation_is_the_whole_question():
    asked: list[ModelRequest] = []

    def answer(request: ModelRequest) -> str:
        asked.append(request)
        return "Little."

    strategy = LlmSummary(model=MockModel(answer), prompt="<do>Extract.</do>\n{messages}\n<end/>")
    context = Context(compression=Compression(limit=1_000, strategy=strategy, keep=Keep(messages=1)))
    for turn in range(3):
        context.add("user", f"question {turn} " + "word " * 50)
        context.add("assistant", f"answer {turn} " + "word " * 50)
    assert context.compress().summary is not None
    [request] = asked
    [message] = request.messages
    assert message["role"] == "user"
    text = message["parts"][0]["content"]
    assert text.startswith("<do>Extract.</do>\nConversation:\nuser: question 0")
    assert text.endswith("\n<end/>")

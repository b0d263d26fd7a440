"""Which option a model took, why, and why none of the others, in answers in the form of REASONING_PROMPT."""

from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import playhead
from playhead_collector.analysis.reasoning.chosen_option import chosen_option
from playhead_collector.analysis.reasoning.reasoning import answer_reasoning
from playhead_collector.analysis.reasoning.structured_text import TextRange
from playhead_collector.analysis.reasoning.written_down import parse_block, read_structured
from tests.support.readers.chat import Chat
from tests.support.readers.fake import FakeStore

FORM = """<reasoning>
Goal: refund order A17
Observation: it is a day late, and the customer is a member
Options:
- refund the whole price
- refund half - rejected because members get all of it
- ask a person - rejected because nobody is there at night
Decision: refund the whole price because the rules say so for members
</reasoning>"""


def read(text: str) -> tuple[str | None, list[str], dict[str, list[str]]]:
    """What is selected, why, and why each other option is not."""
    block = (read_structured(text, "reasoning") or [parse_block(text)])[0]

    def quote(piece: TextRange) -> str:
        return text[piece.start : piece.end]

    choice = chosen_option(text, block)
    rejected = {quote(name): [*map(quote, why)] for name, why in choice.rejected}
    return choice.selected and quote(choice.selected), [*map(quote, choice.rationale)], rejected


def test_an_answer_in_the_form_of_the_prompt_says_what_was_taken_and_why_not_the_others():
    assert read(FORM) == (
        "refund the whole price",
        ["the rules say so for members"],
        {"refund half": ["members get all of it"], "ask a person": ["nobody is there at night"]},
    )


def test_the_form_is_the_one_that_the_prompt_asks_for():
    for word in ("Goal:", "Observation:", "Options:", "Decision:", "rejected because", " because ", "<reasoning>"):
        assert word in playhead.REASONING_PROMPT


@pytest.mark.parametrize(
    ("options", "decision", "expected"),
    [
        ("- A: quick\n- B, rejected because it is slow", "A since it is quick",
         ("A", ["it is quick"], {"B": ["it is slow"]})),
        ("- wait\n- call (ruled out: too late)", "I wait.", ("wait", [], {"call": ["too late)"]})),
        ("1. Refund\n   Pros: kind\n   Cons: dear\n2. Deny\n   Cons: rude", "Refund",
         ("Refund", ["kind"], {"Deny": ["rude"]})),
        ("- refund\n- refund half - not taken as it is unfair", "refund half", ("refund half", [], {})),
        ("- look in the log\n- ask", "look because it is cheap", ("look in the log", ["it is cheap"], {})),
        ("- a b\n- a c", "a because of both", ("a", ["of both"], {})),
        ("- x\n- y", "something else because it fits", ("something else", ["it fits"], {})),
        ("- x\n- y - dismissed: old", "", (None, [], {"y": ["old"]})),
    ],
)  # fmt: skip
def test_models_follow_the_form_roughly(options: str, decision: str, expected: Any):
    said = f"Decision: {decision}" if decision else ""
    assert read(f"<reasoning>\nOptions:\n{options}\n{said}\n</reasoning>") == expected


def test_without_options_the_decision_is_still_read():
    assert read("<reasoning>Decision: answer because nothing is open</reasoning>") == (
        "answer", ["nothing is open"], {},
    )  # fmt: skip
    assert read("<reasoning>Goal: help</reasoning>") == (None, [], {})


BITS = st.sampled_from(
    ["Options:\n", "- ", "A", "B ", " because ", " - rejected because ", "Decision: ", "\n", "x y", "(", ".", "since",
     "Cons: "]
)  # fmt: skip


@given(st.lists(st.one_of(BITS, st.text(max_size=4)), max_size=30).map("".join))
def test_any_text_gives_ranges_that_are_not_empty_and_lie_in_it(text: str):
    choice = chosen_option(text, parse_block(text))
    pieces = chain(choice.rationale, *(why for _, why in choice.rejected), filter(None, [choice.selected]))
    assert all(0 <= piece.start < piece.end <= len(text) for piece in pieces)


async def test_the_answer_of_the_api_quotes_them_where_they_stand():
    chat = Chat(FakeStore(), "You are of help.")
    chat.user("Please refund my order A17.")
    chat.says(FORM)
    answer = await answer_reasoning(chat.done(), "5")
    [written] = answer["structured"]
    selected = written["selected_option"]
    assert selected is not None
    assert FORM[selected["start"] : selected["end"]] == selected["text"] == "refund the whole price"
    assert [quote["text"] for quote in written["rationale"]] == ["the rules say so for members"]
    assert [(each["option"]["text"], each["because"][0]["text"]) for each in written["rejected_because"]] == [
        ("refund half", "members get all of it"),
        ("ask a person", "nobody is there at night"),
    ]

"""Statements that a compression may lose: by rules, each where it was said."""

import pytest

from playhead.model.ref import ContentRef
from playhead_collector.analysis.compression.facts import FactIndex
from playhead_collector.analysis.compression.statements import statements_in
from playhead_collector.analysis.texts.passages import ASSISTANT, RESULT, SYSTEM, USER, Passage, Source


def found(text: str, source: Source = USER) -> list[tuple[str, str]]:
    passage = Passage(ContentRef.of(b"x"), 0, source, text)
    facts = list(statements_in(passage))
    assert [text[fact.start : fact.end] for fact in facts] == [fact.text for fact in facts]
    return [(fact.kind, fact.text) for fact in facts]


@pytest.mark.parametrize(
    ("text", "source", "kind"),
    [
        ("I want to fly to Oslo on Friday.", USER, "goal"),
        ("Please help me with my refund.", USER, "goal"),
        ("Never book without asking me first.", USER, "instruction"),
        ("You must not tell prices to guests.", SYSTEM, "instruction"),
        ("I'd prefer an aisle seat.", USER, "preference"),
        ("We would rather leave in the morning.", USER, "preference"),
        ("KeyError: 'order' in line 7", RESULT, "error"),
        ("The request timed out after 30 s.", RESULT, "error"),
    ],
)
def test_a_statement_is_found(text: str, source: Source, kind: str):
    assert found(text, source) == [(kind, text)]


@pytest.mark.parametrize(
    ("text", "source"),
    [
        ("It is on its way.", USER),
        ("I want to help you.", ASSISTANT),
        ("I want to fly.", RESULT),
        ("An error.", RESULT),
        ("I want to " + "go on and on " * 40, USER),
    ],
)
def test_other_sentences_are_none(text: str, source: Source):
    assert found(text, source) == []


def test_each_sentence_is_looked_at():
    text = "Hello there, nice day. I need to see HAT-4711.\nDon't cancel it without asking. Thank you very much!"
    assert [kind for kind, _ in found(text)] == ["goal", "instruction"]


def test_a_title_ends_no_sentence():
    text = "I need a slot with Dr. Okafor, e.g. on Monday. Never call Mrs. Lee vs. Mr. Ito before noon!"
    assert found(text) == [
        ("goal", "I need a slot with Dr. Okafor, e.g. on Monday."),
        ("instruction", "Never call Mrs. Lee vs. Mr. Ito before noon!"),
    ]


def test_a_statement_said_in_other_words_is_still_there():
    [statement] = statements_in(Passage(ContentRef.of(b"x"), 0, USER, "I want to fly to Oslo on Friday morning."))
    index = FactIndex()
    index.add("The user goes to Bergen.")
    assert not index.has(statement)
    index.add("The user wants a flight to Oslo (Friday, in the morning).")
    assert index.has(statement)

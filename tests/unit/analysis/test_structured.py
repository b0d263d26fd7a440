"""Reasoning that models write down in a form is taken apart, whatever the form, and nothing of it is lost."""

import json
import re
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead_collector.analysis.reasoning.written_down import StructuredText, TextRange, parse_block, read_structured

LABELS = """
Goal: refund the order
**Observation**: it is late
Options:
1. Refund: the quick way
   Pros: fast; kind
   Cons:
   - costs 5 EUR
   - sets a precedent
2. Deny - Pros: cheap Cons: angry customer
Decision: refund
"""
TAGS = (
    "<goal>refund the order</goal><observation>it is late</observation><options>"
    '<option name="Refund">the quick way<pro>fast</pro><pro>kind</pro><con>costs 5 EUR</con><con>sets a precedent</con>'
    "</option><option>Deny<pros>- cheap</pros><cons>- angry customer</cons></option></options>"
    "<decision>refund</decision>"
)
JSON = """{"goal": "refund the order", "observation": "it is late", "options": [
  {"name": "Refund", "pros": ["fast", "kind"], "cons": ["costs 5 EUR", "sets a precedent"]},
  {"name": "Deny", "pros": ["cheap"], "cons": "angry customer"}], "decision": "refund"}"""
HEADINGS = """## Goal
refund the order
## Observations
it is late
## Options
### Option Refund
#### Pros
- fast
- kind
#### Cons
- costs 5 EUR
- sets a precedent
### Option Deny
#### Pros
- cheap
#### Cons
- angry customer
## Decision
refund
"""
OPTIONS = [("Refund", ["fast", "kind"], ["costs 5 EUR", "sets a precedent"]), ("Deny", ["cheap"], ["angry customer"])]

CURRENT = """Current goal: refund the order
Observation: it is late
Options considered:
- Refund: the quick way
  Pros: fast; kind
  Cons: costs 5 EUR; sets a precedent
- Deny
  Pros: cheap
  Cons: angry customer
Decision: refund"""
ARGUED: list[dict[str, Any]] = [
    {"option": "Refund", "pros": ["fast", "kind"], "cons": ["costs 5 EUR", "sets a precedent"]},
    {"option": "Deny", "pros": ["cheap"], "cons": "angry customer"},
]
FIELDS = {
    "current_goal": "refund the order",
    "observation": "it is late",
    "options_considered": ARGUED,
    "decision": "refund",
}
FORMS = {
    "bullets": CURRENT,
    "no bullets": CURRENT.replace("- ", "").replace("  ", ""),
    "an option in each line": "Current goal: refund the order\nObservation: it is late\nOptions considered:\n"
    "Refund: pros: fast; kind; cons: costs 5 EUR; sets a precedent\nDeny: pros: cheap; cons: angry customer\n"
    "Decision: refund",
    "bold": re.sub(r"(?m)^([A-Z][a-z ]+):", r"**\1:**", CURRENT).replace("- Refund", "- **Refund**").replace(
        "- Deny", "- **Deny**"
    ),
    "bold headings, no bullets": "**Current goal**\nrefund the order\n\n**Observation**\nit is late\n\n"
    "**Options considered**\n**Refund**\nPros: fast; kind\nCons: costs 5 EUR; sets a precedent\n**Deny**\nPros: cheap\n"
    "Cons: angry customer\n\n**Decision**\nrefund",
    "headings": "## Current goal\nrefund the order\n## Observation\nit is late\n## Options considered\n1. Refund\n"
    "   - Pros: fast; kind\n   - Cons: costs 5 EUR; sets a precedent\n2. Deny\n   - Pros: cheap\n"
    "   - Cons: angry customer\n## Decision\nrefund",
    "a table": "**Current goal:** refund the order\n**Observation:** it is late\n**Options considered:**\n\n"
    "| Option | Pros | Cons |\n|---|:---|---|\n| Refund | fast | costs 5 EUR |\n| **Deny** | cheap | "
    "angry customer |\n\n**Decision:** refund",
    "plus and minus": "Goal: refund the order\nObservation: it is late\nOptions:\n- Refund\n  + fast\n  + kind\n"
    "  - costs 5 EUR\n  - sets a precedent\n- Deny\n  + cheap\n  - angry customer\nDecision: refund",
    "lists in lists": "Current goal: refund the order\nObservation: it is late\nOptions considered:\n- Refund\n"
    "    - Pros:\n        - fast\n        - kind\n    - Cons:\n        - costs 5 EUR\n        - sets a precedent\n"
    "- Deny\n    - Pros:\n        - cheap\n    - Cons:\n        - angry customer\nSelected option: refund",
    "letters": "1. Current goal: refund the order\n2. Observation: it is late\n3. Options considered:\n"
    "   a) Refund - pros: fast; kind; cons: costs 5 EUR; sets a precedent\n"
    "   b) Deny - pros: cheap; cons: angry customer\n4. Decision: refund",
    "yaml": "current_goal: refund the order\nobservation: it is late\noptions_considered:\n  - name: Refund\n"
    "    pros: fast; kind\n    cons: costs 5 EUR; sets a precedent\n  - name: Deny\n    pros: cheap\n"
    "    cons: angry customer\ndecision: refund",
    "full width": CURRENT.replace(":", "\uff1a").replace(";", "\uff1b"),
    "pictures": re.sub(r"(?m)^([A-Z])", "\U0001f3af \\1", CURRENT),
    "underlined": re.sub(r"(?m)^([A-Z][a-z ]+):[ \n]", r"\1\n--------\n", CURRENT),
    "json in an object": json.dumps({"reasoning": FIELDS}),
    "json with a comma too many": json.dumps(FIELDS)[:-1] + ",}",
    "json": json.dumps(FIELDS),
    "json without spaces": json.dumps(FIELDS, separators=(",", ":")),
    "json in a block of code": f"```json\n{json.dumps(FIELDS, indent=2)}\n```",
    "json in camel case": json.dumps({"currentGoal": "refund the order", "observations": ["it is late"],
                                      "optionsConsidered": ARGUED, "decision": "refund"}),
    "json with options by name": json.dumps(
        {**FIELDS, "options_considered": {each["option"]: {**each, "option": ""} for each in ARGUED}}
    ),
}  # fmt: skip


def texts(text: str, pieces: list[TextRange]) -> list[str]:
    return [text[piece.start : piece.end] for piece in pieces]


def pieces_of(found: StructuredText) -> list[TextRange]:
    own = [*found.goal, *found.observation, *found.decision, *found.rest]
    return own + [piece for each in found.options for piece in (each.name, *each.about, *each.pros, *each.cons)]


@pytest.mark.parametrize("form", [LABELS, TAGS, JSON, HEADINGS], ids=["labels", "tags", "json", "headings"])
def test_the_same_is_read_from_each_form(form: str):
    text = f"Let me see. <reasoning>{form}</reasoning> I refund it."
    (found,) = read_structured(text, "reasoning")
    assert texts(text, found.goal) == ["refund the order"]
    assert texts(text, found.observation) == ["it is late"]
    assert texts(text, found.decision) == ["refund"]
    options: list[Any] = [
        (text[each.name.start : each.name.end].removeprefix("Option "), texts(text, each.pros), texts(text, each.cons))
        for each in found.options
    ]
    assert options == OPTIONS
    assert found.rest == []


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_current_goal_and_options_considered_are_read_whole_from_each_form(form: str):
    found = parse_block(form)
    assert texts(form, found.goal) == ["refund the order"]
    assert texts(form, found.observation) == ["it is late"]
    assert texts(form, found.decision) == ["refund"]
    options = [(form[o.name.start : o.name.end], texts(form, o.pros), texts(form, o.cons)) for o in found.options]
    few = [(name, pros[:1], cons[:1]) for name, pros, cons in OPTIONS]
    assert options == (few if form.count("|") else OPTIONS)
    assert found.rest == []


def test_json_is_read_where_words_stand_around_it():
    text = f"I thought about it:\n```json\n{json.dumps(FIELDS)}\n```\nThat is all."
    found = parse_block(text)
    assert (texts(text, found.goal), texts(text, found.decision)) == (["refund the order"], ["refund"])
    assert [text[each.name.start : each.name.end] for each in found.options] == ["Refund", "Deny"]
    assert texts(text, found.rest) == ["I thought about it:", "That is all."]


def test_json_of_something_else_in_a_text_with_fields_is_a_part_of_it():
    text = 'Goal: help\nDecision: call it with\n{"action": "refund"}'
    assert texts(text, parse_block(text).decision) == ['call it with\n{"action": "refund"}']


@pytest.mark.parametrize(
    "line", ["Refund; Deny", '"Refund", "Deny"', "\n* Refund\n  * soon\n* Deny", "\n・Refund\n・Deny"]
)
def test_options_without_arguments_are_told_apart(line: str):
    text = f"Goal: help\nOptions: {line}\nDecision: refund"
    assert [text[each.name.start : each.name.end] for each in parse_block(text).options] == ["Refund", "Deny"]


def test_lines_around_a_table_are_kept():
    text = "Options:\nThere is one:\n| Way | Pros |\n| :-- | --- |\n| Refund | fast |\nNo other.\nDecision: refund"
    found = parse_block(text)
    assert [text[each.name.start : each.name.end] for each in found.options] == ["Refund"]
    assert texts(text, found.rest) == ["There is one:", "No other."]


def test_other_columns_of_a_table_are_kept():
    text = "Options:\n| Way | Price | Pros |\n|---|---|---|\n| Refund | 5 EUR | fast |\nDecision: refund"
    found = parse_block(text)
    (option,) = found.options
    assert (texts(text, option.about), texts(text, option.pros)) == (["5 EUR"], ["fast"])
    assert texts(text, found.rest) == ["Price"]


def test_what_json_has_beside_the_fields_is_kept():
    text = 'x <reasoning>{"current_goal": "help", "facts": ["2 EUR", "SEK"], "sure": {"of": 0.9}}</reasoning>'
    (found,) = read_structured(text, "reasoning")
    assert (texts(text, found.goal), texts(text, found.observation)) == (["help"], ["2 EUR", "SEK"])
    assert texts(text, found.rest) == ['"sure": {"of": 0.9}']


def test_json_that_was_cut_is_read_as_far_as_it_goes():
    text = '{"current_goal": "help", "observation": "it is la'
    assert texts(text, parse_block(text).goal) == ["help"]


def test_what_is_said_about_an_option_is_kept_with_it():
    (found,) = read_structured(f"<reasoning>{LABELS}</reasoning>", "reasoning")
    assert texts(f"<reasoning>{LABELS}</reasoning>", found.options[0].about) == ["the quick way"]


def test_what_fits_no_field_is_kept():
    text = "<think>First a thought.\nGoal: help\n</think>"
    (found,) = read_structured(text, "think")
    assert (texts(text, found.rest), texts(text, found.goal)) == (["First a thought."], ["help"])
    assert found.is_structured


def test_a_block_that_is_not_closed_goes_to_the_end_and_others_stand_apart():
    text = "<reasoning>Goal: a</reasoning> x <REASONING>Goal: b"
    assert [texts(text, each.goal) for each in read_structured(text, "reasoning")] == [["a"], ["b"]]


def test_a_text_without_the_tag_has_no_block_and_plain_thinking_no_fields():
    assert read_structured("Goal: x", "reasoning") == []
    plain = parse_block("I think that I should look first.")
    assert not plain.is_structured
    assert plain.rest == [TextRange(0, 33)]


def test_arguments_before_any_option_are_kept():
    text = "Pros: fast"
    assert texts(text, parse_block(text).rest) == ["fast"]


# What texts in this form are made of, broken ones among them.
BITS = st.sampled_from(
    ["Goal:", "Options:\n", "1. ", "- ", "Pros:", "Cons: ", "Decision: ", "<goal>", "</goal>", "<option name='x'>", "{",
     '"goal": "', '", ', "<option>", "</options>", "\n", " ", ";", "## Option A", ": ",
     "\u2014 ", "é", '"', "]}", "```json\n"]
)  # fmt: skip
WORDS = st.from_regex(r"[b-y]{4}z", fullmatch=True)


@given(st.lists(st.one_of(BITS, WORDS, st.text(max_size=5)), max_size=40).map("".join))
def test_any_text_can_be_taken_apart_into_pieces_that_do_not_overlap(text: str):
    for found in (parse_block(text), *read_structured(f"<r>{text}", "r")):
        pieces = sorted(pieces_of(found), key=lambda piece: (piece.start, piece.end))
        assert all(found.start <= piece.start <= piece.end <= found.end for piece in pieces)
        assert all(one.end <= other.start for one, other in pairwise(pieces))


@given(st.lists(st.one_of(BITS, WORDS), max_size=30).map(" ".join))
def test_no_word_that_is_not_the_form_s_own_is_lost(text: str):
    covered = {place for piece in pieces_of(parse_block(text)) for place in range(piece.start, piece.end)}
    assert [word[0] for word in re.finditer(r"\b[b-y]{4}z\b", text) if not {*range(*word.span())} <= covered] == []

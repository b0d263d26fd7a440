"""Rules that score runs: what they hold of, and what is refused with which words."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from playhead.model.scored_run import ScoredRun, ScoredToolCall
from playhead_collector.analysis.scoring.rules import (
    CHECK_NAMES,
    BadRule,
    CheckedRun,
    FoundSuspect,
    NotKnown,
    read_rule,
)

RUN = ScoredRun(
    run="0a" * 16,
    name="support",
    status="completed",
    agents=("support",),
    tags=(),
    session=None,
    user=None,
    elapsed_s=12.5,
    input="Where is my lamp?",
    output='{"order": "R-1", "lamp": true}',
    output_text='{"order": "R-1", "lamp": true}',
    messages=(),
    tool_calls=(ScoredToolCall("find_order", {"order": "R-1"}, "on its way", "completed"),),
    error=None,
    llm_calls=3,
    errors=0,
    input_tokens=900,
    output_tokens=100,
    cost=0.02,
)
RAISED = ScoredToolCall("refund", {}, None, "failed", "ValueError: no")
REPORTED = ScoredToolCall("refund", {}, {"error": "no such order"}, "completed")
SCHEMA = {"type": "object", "required": ["order"], "properties": {"order": {"type": "string"}}}


def holds(check: dict[str, Any], run: ScoredRun = RUN, suspects: Any = ()) -> bool:
    return read_rule({"passes_if": [check]}).score(CheckedRun(run, suspects)).value is True


def said(text: str) -> ScoredRun:
    return replace(RUN, output=text, output_text=text)


@pytest.mark.parametrize(
    ("check", "yes", "no"),
    [
        ({"tool_error": "last"}, replace(RUN, tool_calls=(*RUN.tool_calls, RAISED)), RUN),
        (
            {"tool_error": "last"},
            replace(RUN, tool_calls=(REPORTED,)),
            replace(RUN, tool_calls=(RAISED, *RUN.tool_calls)),
        ),
        ({"tool_error": "any"}, replace(RUN, tool_calls=(RAISED, *RUN.tool_calls)), replace(RUN, tool_calls=())),
        ({"tool_called": "find_order"}, RUN, replace(RUN, tool_calls=())),
        ({"not": {"tool_called": "refund"}}, RUN, replace(RUN, tool_calls=(REPORTED,))),
        ({"not": {"not": {"tool_called": "refund"}}}, replace(RUN, tool_calls=(REPORTED,)), RUN),
        ({"status": "cancelled"}, replace(RUN, status="cancelled"), RUN),
        ({"output_empty": True}, said(" \n"), RUN),
        ({"output_empty": True}, said(""), replace(said(""), cut=("output is too long: 300000 bytes",))),
        ({"output_matches": r"R-\d"}, RUN, said("it is lost")),
        ({"output_schema": SCHEMA}, RUN, said("not JSON")),
        ({"output_schema": SCHEMA}, replace(RUN, output={"order": "R-1"}), replace(RUN, output={"order": 1})),
        ({"says_it_could_not": True}, said("I am sorry, I was unable to find it."), said("It is on its way.")),
        ({"errors_above": 1}, replace(RUN, errors=2), replace(RUN, errors=1)),
        ({"model_calls_above": 2}, RUN, replace(RUN, llm_calls=2)),
        ({"tool_calls_above": 0}, RUN, replace(RUN, tool_calls=())),
        ({"tokens_above": 999}, RUN, replace(RUN, output_tokens=99)),
        ({"cost_above": 0.01}, RUN, replace(RUN, cost=None)),
        ({"seconds_above": 12}, RUN, replace(RUN, elapsed_s=None)),
    ],
)
def test_a_check_holds_of_one_run_and_not_of_the_other(check: Any, yes: ScoredRun, no: ScoredRun):
    assert (holds(check, yes), holds(check, no)) == (True, False)


def test_suspects_are_checked_by_their_strength_or_by_a_rule_s_name_and_looked_for_only_if_a_rule_needs_them():
    found = [FoundSuspect(("call_failed", "not_done"), "likely")]
    assert holds({"suspect": "weak"}, suspects=found)
    assert holds({"suspect": "likely"}, suspects=found)
    assert not holds({"suspect": "strong"}, suspects=found)
    assert holds({"suspect": "not_done"}, suspects=found)
    assert not holds({"suspect": "error_ignored"}, suspects=found)
    assert not holds({"suspect": "weak"})
    assert read_rule({"fails_if": [{"not": {"suspect": "weak"}}]}).needs_suspects
    assert not read_rule({"fails_if": [{"tool_error": "last"}]}).needs_suspects


def test_every_check_has_a_test():
    tested = set(re.findall(r'\{"(\w+)":', Path(__file__).read_text("utf-8")))
    assert set(CHECK_NAMES) <= tested


def test_the_value_says_whether_all_is_as_it_should_be_or_what_share_of_it_and_the_comment_what_is_not():
    checks = {"fails_if": [{"tool_error": "last"}, {"output_empty": True}], "passes_if": [{"tool_called": "refund"}]}
    score = read_rule(checks).score(CheckedRun(RUN))
    assert (score.value, score.comment) == (False, 'tool_called "refund" does not hold')
    share = read_rule({**checks, "value": "share"}).score(CheckedRun(replace(RUN, tool_calls=(RAISED,))))
    assert share.value == pytest.approx(2 / 3, abs=1e-5)
    assert share.comment == 'tool_error "last" holds'
    good = read_rule({"fails_if": [{"output_empty": True}]}).score(CheckedRun(RUN))
    assert (good.value, good.comment) == (True, "all checks are as they should be")
    assert read_rule({"passes_if": [{"not": {"output_empty": True}}]}).score(CheckedRun(said(""))).comment == (
        "not output_empty true does not hold"
    )


@pytest.mark.parametrize(
    ("rule", "why"),
    [
        ({}, "from 1 to 50 checks"),
        ({"fails_if": [{"output_empty": True}] * 51}, "from 1 to 50 checks"),
        ({"failsif": []}, "'failsif' is no part of a rule"),
        ({"fails_if": {"output_empty": True}}, "fails_if: a list of checks"),
        ({"fails_if": [{"output_empty": True, "tool_error": "last"}]}, r"fails_if\[0\]: a check is an object with one"),
        ({"fails_if": ["output_empty"]}, "a check is an object"),
        ({"passes_if": [{"output_empty": True}, {"tool": "x"}]}, r"passes_if\[1\]: there is no check 'tool'"),
        ({"fails_if": [{"output_empty": False}]}, "the only argument is true"),
        ({"fails_if": [{"tool_error": "first"}]}, "one of last, any"),
        ({"fails_if": [{"not": {"cost_above": -1}}]}, r"fails_if\[0\].not.cost_above: a number of 0 or more"),
        ({"fails_if": [{"cost_above": True}]}, "a number"),
        ({"fails_if": [{"output_matches": "("}]}, "no regular expression"),
        ({"fails_if": [{"output_matches": "a" * 1001}]}, "up to 1000 characters"),
        ({"fails_if": [{"output_schema": {"type": "objekt"}}]}, "no JSON schema"),
        ({"fails_if": [{"output_schema": []}]}, "a JSON schema"),
        ({"fails_if": [{"tool_called": ""}]}, "a name is needed"),
        ({"fails_if": [{"output_empty": True}], "value": "number"}, "value: it is either"),
    ],
)
def test_what_is_no_rule_is_refused_with_its_place(rule: Any, why: str):
    with pytest.raises(BadRule, match=why):
        read_rule(rule)


def test_a_schema_that_names_an_address_is_not_fetched():
    rule = read_rule({"passes_if": [{"output_schema": {"$ref": "http://127.0.0.1:1/schema.json"}}]})
    with pytest.raises(Exception, match="127.0.0.1:1") as error:
        rule.score(CheckedRun(RUN))
    assert "Unresolvable" in type(error.value).__name__ or "Wrapped" in type(error.value).__name__


OUTPUT = ({"output_empty": True}, {"output_matches": "x"}, {"output_schema": SCHEMA}, {"says_it_could_not": True})


@pytest.mark.parametrize("check", [*OUTPUT, {"not": {"output_matches": "x"}}, {"tool_error": "last"}])
def test_what_is_not_stored_is_neither_good_nor_bad(check: dict[str, Any]):
    """A run that has lost its contents would be called failed, or good, for ever."""
    gone = replace(said(""), cut=("output is not stored", "the result of find_order is not stored"))
    with pytest.raises(NotKnown, match="is not stored"):
        holds(check, gone)
    assert holds({"tool_called": "find_order"}, gone)


@pytest.mark.parametrize("check", OUTPUT[1:])
def test_an_output_that_is_too_long_is_not_compared(check: dict[str, Any]):
    with pytest.raises(NotKnown, match="too long: 300000 bytes"):
        holds(check, replace(said(""), cut=("output is too long: 300000 bytes",)))

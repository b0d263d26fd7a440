"""Answers name the rule that gave them and its strength, never a number that could be read as a probability."""

import importlib
import pkgutil
import typing
from pathlib import Path

import pytest

import playhead.wire.operations
import playhead_collector.analysis
from playhead_collector.analysis.rules import StrengthRule, weaker

REFERENCE = Path(__file__).parents[3] / "docs" / "reference-questions.md"
QUESTIONS = ("provenance.rules", "causes", "reasoning.inferred", "compression.rules", "suspects.rules")
WORDS = {"confidence", "certainty", "probability", "likelihood", "score"}


def rules_of(module_name: str) -> list[StrengthRule]:
    module = importlib.import_module(f"playhead_collector.analysis.{module_name}")
    return [value for value in vars(module).values() if isinstance(value, StrengthRule)]


def answer_types() -> dict[str, type]:
    package = playhead.wire.operations
    names = [found.name for found in pkgutil.walk_packages(package.__path__, package.__name__ + ".")]
    modules = [package, *map(importlib.import_module, names)]
    return {name: value for module in modules for name, value in vars(module).items() if typing.is_typeddict(value)}


@pytest.mark.parametrize("module_name", QUESTIONS)
def test_the_reference_lists_each_rule_with_its_strength(module_name: str):
    lines = REFERENCE.read_text("utf-8").splitlines()
    for rule in rules_of(module_name):
        assert f"| `{rule.name}` | {rule.strength} | {rule.meaning} |" in lines


def test_each_rule_has_a_name_of_its_own():
    names = [rule.name for module_name in QUESTIONS for rule in rules_of(module_name)]
    assert len(names) == len({*names}) > 50
    assert all(name.isidentifier() and name.islower() for name in names)


def test_the_reference_lists_no_rule_that_there_is_not():
    names = {rule.name for module_name in QUESTIONS for rule in rules_of(module_name)}
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in REFERENCE.read_text().splitlines()]
    listed = {row[0].strip("`") for row in cells if len(row) == 3 and row[1] in ("strong", "likely", "weak")}
    assert listed == names


def test_rules_of_the_analysis_stand_in_the_files_for_them():
    package = playhead_collector.analysis
    found = {module_name: rules_of(module_name) for module_name in QUESTIONS}
    for info in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        for value in vars(importlib.import_module(info.name)).values():
            if isinstance(value, StrengthRule) and value.name != "too_many_ways":
                assert any(value in each for each in found.values()), (info.name, value)


def test_no_answer_has_a_number_that_could_be_taken_for_a_probability():
    types = answer_types()
    assert len(types) > 50
    fields = {(name, field) for name, answer in types.items() for field in typing.get_type_hints(answer)}
    # What the model that explains said itself, and the name under which a scorer gives scores: no finding of ours.
    known = {("Explanation", "confidence"), ("ScorerAnswer", "score")}
    assert {each for each in fields if each[1] in WORDS} == known
    # Not rules that somebody set: of retention, and of a scorer.
    of_projects = {"PlannedMove", "RunRemoval", "RunRetention", "ScorerAnswer"}
    with_rule = {name for name, field in fields if field == "rule"} - of_projects
    # A line in the list of runs has none: it leads to the finding, which has it.
    assert with_rule == {name for name, field in fields if field == "strength"} - {"Happened"}
    assert with_rule == {
        "Attribution", "ValueOrigin", "CausalEdge", "CompressionAudit", "FactNeeded", "InferredReasoning",
        "NeededFacts", "Suspect", "SuspectFinding", "TurnThought", "TurnChoice", "TurnCall", "TurnEffect",
    }  # fmt: skip


def test_of_two_rules_the_weaker_one_limits_an_answer():
    strong, likely, weak = (
        StrengthRule("a", "strong", ""),
        StrengthRule("b", "likely", ""),
        StrengthRule("c", "weak", ""),
    )
    assert [weaker(strong, likely), weaker(likely, strong), weaker(weak, likely)] == [likely, likely, weak]

"""How often rules were right: the same figures in answers and in the documentation."""

from pathlib import Path

from playhead_collector.analysis.rules import StrengthRule
from playhead_collector.analysis.suspects import rules
from playhead_collector.analysis.suspects.measured import MEASURED, precision_of

DOCS = Path(__file__).parents[4] / "docs" / "suspects.md"


def test_the_documentation_has_the_same_figures():
    lines = DOCS.read_text("utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[lines.index(HEADER) + 2 :]]
    listed = rows[: next(place for place, row in enumerate(rows) if len(row) != 4)]
    assert [(row[0], row[1], row[2]) for row in listed] == [
        (", ".join(f"`{rule}`" for rule in each.rules), str(each.found), str(each.right)) for each in MEASURED
    ]


HEADER = "| rule | steps it found | of these labelled | by chance |"


def test_each_figure_is_of_rules_that_there_are_and_of_each_rule_there_is_one():
    names = [name for each in MEASURED for name in each.rules]
    known = {value.name for value in vars(rules).values() if isinstance(value, StrengthRule)}
    assert len(names) == len(set(names))
    assert set(names) <= known
    assert all(0 <= each.right <= each.found for each in MEASURED)


def test_a_rule_says_with_which_others_it_was_counted():
    precision = precision_of("sign_misread")
    assert precision is not None
    assert (precision["found"], precision["right"], precision["rules"][0]) == (4, 4, "not_the_least")
    assert precision_of("limit_broken") is None

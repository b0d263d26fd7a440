"""[analysis]: how often rules were right, where that was measured.  The table stands in the documentation, too.

Measured with `python -m benchmarks --only H1` on the labelled runs that were set aside.  A rule that found nothing
there has no figure.
"""

from dataclasses import dataclass

from playhead.wire.operations.suspects import RulePrecision

BASIS = "32 failed runs of an airline agent (gpt-4o), set aside, with one reader's labels and succeeded runs to compare"


@dataclass(frozen=True, slots=True)
class MeasuredRules:
    """Steps that rules spoke against (`found`), and how many of these a reader had named (`right`)."""

    rules: tuple[str, ...]
    found: int
    right: int


MEASURED = (
    MeasuredRules(("outcome_rests_on",), 25, 13),
    MeasuredRules(("against_restriction",), 17, 2),
    MeasuredRules(("demanded_again",), 13, 5),
    MeasuredRules(("call_missing",), 13, 8),
    MeasuredRules(("call_failed",), 12, 0),
    MeasuredRules(("diverged",), 9, 6),
    MeasuredRules(("tool_not_tried",), 9, 3),
    MeasuredRules(("refused_without_looking",), 8, 5),
    MeasuredRules(("call_repeated",), 5, 0),
    MeasuredRules(("not_the_least", "sign_misread", "comparison_false"), 4, 4),
    MeasuredRules(("age_contradicted",), 2, 1),
    MeasuredRules(("order_broken", "value_from_nowhere"), 4, 0),
)


def precision_of(rule: str) -> RulePrecision | None:
    """Returns how often a rule was right; None if it was not measured."""
    measured = next((each for each in MEASURED if rule in each.rules), None)
    if measured is None:
        return None
    return {"found": measured.found, "right": measured.right, "rules": list(measured.rules), "basis": BASIS}

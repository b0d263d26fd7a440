"""Parses conditions on the scores of runs, in the form in which people write them.  Pure."""

import re
from typing import Final, cast

from playhead_collector.errors import Refused
from playhead_collector.store.ports.scores import Comparison, ScoreCondition

_COMPARISON: Final = re.compile(r"[<>]=?|=")
# Comparisons of other languages, and their form here.
_NO_COMPARISON: Final = re.compile(r"=>|=<|==|<>|!=|><|<<|>>")
_MEANT: Final = {"=>": ">=", "=<": "<=", "==": "="}
_TRUTH: Final = {"true": 1.0, "false": 0.0}


def read_condition(text: str | None) -> ScoreCondition | None:
    """Parses a condition: `resolved`, `resolved=true`, `quality>=0.5`, `verdict=refund`. Returns None for None. Raises
    Refused."""
    if text is None:
        return None
    match = _COMPARISON.search(text, 1)
    if match is None:
        return ScoreCondition(text)
    unknown = _NO_COMPARISON.search(text, 1)
    if unknown is not None and unknown.start() <= match.start():
        meant = f"did you mean {_MEANT[unknown[0]]}? " if unknown[0] in _MEANT else ""
        wrong = f"{unknown[0]} in the score condition {text[:60]!r} is no comparison"
        message = f"{wrong}: {meant}the comparisons are =, <, <=, > and >="
        raise Refused(400, "bad_score", message)
    name, comparison, value = text[: match.start()].strip(), cast(Comparison, match[0]), text[match.end() :].strip()
    try:
        number = _TRUTH[value.lower()] if value.lower() in _TRUTH else float(value)
    except ValueError:
        number = None
    if number is not None and number - number == 0:  # neither infinite nor NaN
        return ScoreCondition(name, comparison, number)
    if comparison != "=" or not value:
        message = f"the score condition {text[:60]!r} compares with no number: write NAME, NAME=VALUE or NAME>=0.5"
        raise Refused(400, "bad_score", message)
    return ScoreCondition(name, comparison, value)


def read_outcome(text: str | None) -> ScoreCondition | None:
    """Parses the condition under which a run counts as a success, like `read_condition`. The condition must name a
    score. Raises Refused."""
    condition = read_condition(text)
    if condition is not None and not condition.name:
        raise Refused(400, "bad_score", "the outcome names no score: write NAME, NAME=VALUE or NAME>=0.5")
    return condition

"""Scores of runs and calls, and conditions on scores in the form in which people write them."""

import base64
import binascii
import re
from typing import Final, cast

from playhead.model.times import rfc3339
from playhead.wire.operations import Page
from playhead.wire.operations.scores import RecordedScore
from playhead_collector.errors import Refused
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.scores import Comparison, ScoreCondition, ScoreFilter, StoredScore

_LARGEST_NS: Final = 2**63 - 1


async def list_scores(
    store: ReadStore, project_id: int, where: ScoreFilter, limit: int, cursor: str | None
) -> Page[RecordedScore]:
    """Returns a page of scores, newest first."""
    scores = await store.scores.page(project_id, where, limit=limit + 1, before=_read_cursor(cursor))
    page = scores[:limit]
    return {
        "items": [score_answer(score) for score in page],
        "next_cursor": _cursor(page[-1]) if len(scores) > limit else None,
    }


def score_answer(score: StoredScore) -> RecordedScore:
    """Converts a score to an answer."""
    return {
        "run": score.run,
        "id": score.id,
        "name": score.name,
        "value": score.value,
        "label": score.label,
        "span": score.span,
        "source": score.source,
        "author": score.author,
        "key": score.api_key,
        "comment": score.comment,
        "explanation": score.explanation,
        "time": rfc3339(score.scored_ns),
        "latest": score.is_latest,
    }


def _cursor(score: StoredScore) -> str:
    return base64.urlsafe_b64encode(f"{score.scored_ns} {score.run} {score.id}".encode()).decode().rstrip("=")


def _read_cursor(cursor: str | None) -> tuple[int, str, str] | None:
    if not cursor:
        return None
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        text = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
        scored, run, score_id = text.split(" ", 2)
        scored_ns = int(scored)
    except (ValueError, binascii.Error):
        raise _bad_cursor() from None
    if not 0 <= scored_ns <= _LARGEST_NS or not run.isalnum() or "\x00" in score_id:
        raise _bad_cursor()
    return scored_ns, run, score_id


def _bad_cursor() -> Refused:
    return Refused(400, "bad_cursor", "this cursor is not one that was given: leave it out to begin at the first page")


# --- conditions, pure ------------------------------------------------------------------------------------------------

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

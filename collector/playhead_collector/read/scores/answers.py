"""Scores of runs and calls, as answers."""

import base64
import binascii
from typing import Final

from playhead.model.times import rfc3339
from playhead.wire.operations import Page
from playhead.wire.operations.scores import RecordedScore
from playhead_collector.errors import Refused
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.scores import ScoreFilter, StoredScore

_LARGEST_NS: Final = 2**63 - 1


async def list_scores(
    store: ReadStore, project_id: int, where: ScoreFilter, limit: int, cursor: str | None
) -> Page[RecordedScore]:
    """Returns a page of scores, newest first."""
    scores = await store.scores(project_id, where, limit=limit + 1, before=_read_cursor(cursor))
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

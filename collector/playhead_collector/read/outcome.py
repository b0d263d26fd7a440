"""What came of a run: from its status, the newest score that decides, and whether it waits. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from playhead.model.state import CANCELLED, COMPLETED, FAILED, LOST
from playhead.wire.operations.verdict import OutcomeOfRun, OutcomeWord
from playhead_collector.store.ports.scores import StoredScore

SUCCESS_FROM: Final = 0.5
"""A run has succeeded when the score that decides is at least this; a boolean counts as 1 or 0."""
ANY_SCORE: Final = f"newest score>={SUCCESS_FROM}"
"""The condition of runs that no score decides."""


@dataclass(frozen=True, slots=True)
class DecidingScore:
    """A score of a whole run whose value is a number or a boolean."""

    name: str
    value: float | bool

    @property
    def succeeded(self) -> bool:
        """Whether a run with this score has succeeded."""
        return self.value >= SUCCESS_FROM

    @property
    def condition(self) -> str:
        """When a run has succeeded, by this score: `reward>=0.5`, `resolved=true`."""
        return f"{self.name}=true" if isinstance(self.value, bool) else f"{self.name}>={SUCCESS_FROM}"


def deciding_score(scores: Iterable[StoredScore]) -> DecidingScore | None:
    """Returns the first score of the whole run that is a number or a boolean, of scores sorted newest first; None if
    there is none. Categories decide nothing."""
    whole = (score for score in scores if score.span is None and score.is_latest)
    return next((DecidingScore(score.name, score.value) for score in whole if not isinstance(score.value, str)), None)


def outcome_of(status: str, score: DecidingScore | None, *, waits: bool) -> OutcomeOfRun:
    """Returns the outcome of a run. `waits`: it has an open promise.

    An error that came out of a run counts before any score. A score decides nothing while the run goes on.
    """
    if status == FAILED:
        return _by_status("crashed", status)
    if status not in (COMPLETED, CANCELLED, LOST):
        return _by_status("waiting" if waits else "running", status)
    if score is not None:
        word = "succeeded" if score.succeeded else "failed"
        return {"word": word, "because": score.condition, "value": score.value}
    words: dict[str, OutcomeWord] = {CANCELLED: "cancelled", LOST: "lost"}
    return _by_status(words.get(status, "unknown"), status)


def _by_status(word: OutcomeWord, status: str) -> OutcomeOfRun:
    return {"word": word, "because": status, "value": None}

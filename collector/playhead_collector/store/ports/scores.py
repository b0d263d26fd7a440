"""The store's interface for scores of runs and calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from playhead.model.ref import ContentRef

Comparison = Literal[">=", "<=", "=", ">", "<"]
POSTED = "api"
SCORER = "scorer"


@dataclass(frozen=True, slots=True)
class ScoreToAdd:
    """A score to store; the fields are those of `StoredScore`.  `scored_ns` None: the database's current time."""

    id: str
    name: str
    value: float | bool | str
    label: str | None = None
    span: str | None = None
    author: str | None = None
    api_key: str | None = None
    comment: str | None = None
    scored_ns: int | None = None
    source: str = POSTED


@dataclass(frozen=True, slots=True)
class StoredScore:
    """A score of the run, or of the call `span`.

    `value` is a number, a boolean, or the name of a category; `label` is the evaluator's name for a number.  `source`
    is `POSTED`, `SCORER`, or the instrumentation that reported the score.  `scored_ns` is from the database's clock for
    those two, else from the reporting program's.  `is_latest`: there is no later score with the same name, run and
    span.
    """

    run: str
    id: str
    name: str
    value: float | bool | str
    label: str | None
    span: str | None
    source: str
    author: str | None
    api_key: str | None
    comment: str | None
    explanation: ContentRef | None
    scored_ns: int
    is_latest: bool


@dataclass(frozen=True, slots=True)
class ScoreCondition:
    """A condition for the latest score with this name of the whole run: `comparison` with `value` must hold.

    Without a comparison, such a score must exist.  Numbers are compared with numbers and booleans (1 and 0); a text
    must equal the category or the label.
    """

    name: str
    comparison: Comparison | None = None
    value: float | str | None = None


@dataclass(frozen=True, slots=True)
class ScoreFilter:
    """All conditions must hold; None means any. `latest`: only scores with `is_latest`."""

    run: str | None = None
    name: str | None = None
    source: str | None = None
    latest: bool = False
    since_ns: int | None = None
    until_ns: int | None = None


class ScoreReader(Protocol):
    """Reads posted scores, and scores that programs recorded as events."""

    async def page(
        self, project_id: int, where: ScoreFilter, *, limit: int, before: tuple[int, str, str] | None = None
    ) -> Sequence[StoredScore]:
        """Returns scores, newest first. `before`: (scored_ns, run, id) of the last score of the previous page."""
        ...

    async def of_runs(self, project_id: int, runs: Sequence[str]) -> Mapping[str, Sequence[StoredScore]]:
        """Returns the latest score of each name of these runs as wholes, newest first; runs without any are left
        out."""
        ...

"""The store's interface for scores of runs and calls."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from playhead.model.ref import ContentRef

Comparison = Literal[">=", "<=", "=", ">", "<"]
POSTED = "api"


@dataclass(frozen=True, slots=True)
class ScoreToAdd:
    """A score that is posted; the fields are those of `StoredScore`.  Without `scored_ns`: now, by the database."""

    id: str
    name: str
    value: float | bool | str
    label: str | None = None
    span: str | None = None
    author: str | None = None
    api_key: str | None = None
    comment: str | None = None
    scored_ns: int | None = None


@dataclass(frozen=True, slots=True)
class StoredScore:
    """A score of the run, or of the call `span`.

    `value` is a number, a boolean, or the name of a category; `label` what the evaluator calls a number.  `source` is
    `POSTED`, or the instrumentation that reported it.  `scored_ns`: of a posted score by the database's clock, else by
    the reporting program's.  `is_latest`: there is no later one of the same name, run and span.
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
    """The latest score of this name of the run as a whole compares so with `value`.  Without a comparison: there is
    one.  Numbers are compared with numbers and booleans (1 and 0); a text equals a category or a label."""

    name: str
    comparison: Comparison | None = None
    value: float | str | None = None


@dataclass(frozen=True, slots=True)
class ScoreFilter:
    """All conditions must hold; None means any."""

    run: str | None = None
    name: str | None = None
    source: str | None = None
    latest: bool = False
    since_ns: int | None = None
    until_ns: int | None = None


class ScoreReader(Protocol):
    """Reads scores: posted ones together with those of events."""

    async def scores(
        self, project_id: int, where: ScoreFilter, *, limit: int, before: tuple[int, str, str] | None = None
    ) -> Sequence[StoredScore]:
        """Newest first; `before` is (scored_ns, run, id) of the last score of the previous page."""
        ...


class ScoreStore(ScoreReader, Protocol):
    """Stores posted scores, and reads them together with those of events."""

    async def add_score(self, project_id: int, run: str, score: ScoreToAdd) -> StoredScore | None:
        """Stores the score, unless the run has one with its id: returns that one then.  None: there is no such run.
        Raises StoreUnavailable."""
        ...

"""Scores: how good runs and calls were, as judged by programs, evaluators and people."""

import uuid
from datetime import datetime
from typing import Annotated, TypedDict

from playhead.wire.operations.bounds import MOMENT, NO_NUL, Bounds, Most, RunName, Time
from playhead.wire.operations.operation import INGEST, READ, get_list, post
from playhead.wire.operations.page import Page

# --- answers ---------------------------------------------------------------------------------------------------------


class RecordedScore(TypedDict):
    """A score of a run, or of its call `span`.  `value` is a number, a boolean, or the name of a category; `label` is
    what the evaluator calls a number.

    `source` is `api` for scores that were posted, `scorer` for those of scorers, or else the instrumentation that
    reported them (`playhead`: the program).  `author` is what the poster said, `key` the name of the API key.  `time`
    of a posted score and of a scorer's is the database's, else the program's.  `latest`: no later score of this name
    replaces it.  A comment that is too long for an event is content: its ref is `explanation`.
    """

    run: str
    id: str
    name: str
    value: float | bool | str
    label: str | None
    span: str | None
    source: str
    author: str | None
    key: str | None
    comment: str | None
    explanation: str | None
    time: str
    latest: bool


# --- operations ------------------------------------------------------------------------------------------------------

_NAME, _CATEGORY, _AUTHOR, _COMMENT = 200, 1_000, 200, 10_000
_ID = r"^[A-Za-z0-9_:-]{1,100}$"  # ids of scores that were recorded as events have a dot

Name = Annotated[
    str, Bounds(min_length=1, max_length=_NAME, pattern=NO_NUL, description="What was scored, e.g. `resolved`.")
]
Value = Annotated[
    bool | int | float | Annotated[str, Bounds(min_length=1, max_length=_CATEGORY, pattern=NO_NUL)],
    Bounds(description="A finite number, a boolean, or the name of a category."),
]
Label = Annotated[
    str | None,
    Bounds(min_length=1, max_length=_CATEGORY, pattern=NO_NUL, description="What a number is called."),
]
Moment = Annotated[
    int | str | None,
    Bounds(max_length=300, pattern=NO_NUL, as_text=True, description=f"{MOMENT}: scores that call instead of the run."),
]
Comment = Annotated[str | None, Bounds(max_length=_COMMENT, pattern=NO_NUL, description="Why, for people.")]
Author = Annotated[str | None, Bounds(max_length=_AUTHOR, pattern=NO_NUL, description="Who says so.")]
ScoreId = Annotated[
    str | None,
    Bounds(
        pattern=_ID,
        description="The same score with the same id is stored once; default: a new id.",
        new=lambda: uuid.uuid4().hex,
    ),
]
SpanId = Annotated[
    str | None,
    Bounds(pattern=r"^[0-9a-f]{16}$", description="Of a score that is moved: the call, by its span's id."),
]
GivenAt = Annotated[
    str | datetime | None,
    Bounds(
        max_length=50,
        is_time=True,
        description="Of a score that is moved: when it was given (RFC 3339), instead of now.",
    ),
]

OfName = Annotated[str | None, Bounds(max_length=_NAME, pattern=NO_NUL, description="Only scores of this name.")]
OfSource = Annotated[
    str | None,
    Bounds(max_length=300, pattern=NO_NUL, description="Only scores of this source; `api`: those that were posted."),
]
OfRun = Annotated[str | None, Bounds(max_length=40, pattern=NO_NUL, description="Only scores of this run.")]
Latest = Annotated[bool, Bounds(description="Leave out scores that a later one replaces.")]


class ScoreOperations:
    """Scores of runs and calls."""

    @post(
        "/runs/{run}/scores",
        scope=INGEST,
        tag="scores",
        route_name="add_score",
        also_refuses={409: "The run has another score with this id."},
    )
    def score(
        self,
        run: RunName,
        name: Name,
        value: Value,
        *,
        label: Label = None,
        at: Moment = None,
        comment: Comment = None,
        author: Author = None,
        id: ScoreId = None,  # noqa: A002 - the name in the body
        span: SpanId = None,
        time: GivenAt = None,
    ) -> RecordedScore:
        """Score a run, or one of its calls. A score of the same name replaces the one before; both are kept.

        The time is the database's, unless one is given. Sent again with the same `id`, it is stored once; 409 when the
        run has another score with this id.
        """
        ...

    @get_list("/runs/{run}/scores", scope=READ, tag="scores", page_size=100)
    def run_scores(
        self,
        run: RunName,
        *,
        name: OfName = None,
        source: OfSource = None,
        latest: Latest = False,
        limit: Most = None,
    ) -> Page[RecordedScore]:
        """Scores of a run and of its calls, newest first."""
        ...

    @get_list("/scores", scope=READ, tag="scores", page_size=100)
    def scores(
        self,
        run: OfRun = None,
        *,
        name: OfName = None,
        source: OfSource = None,
        latest: Latest = False,
        since: Time = None,
        until: Time = None,
        limit: Most = None,
    ) -> Page[RecordedScore]:
        """Scores of all runs, newest first. `since` and `until` limit the time of the score."""
        ...

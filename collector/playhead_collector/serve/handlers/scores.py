"""Routes for scores: how good runs and calls were, as judged by programs, evaluators and people."""

import math
import uuid
from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Body, Query, Request, Response
from pydantic import Field, StrictBool, StrictFloat, StrictInt, StrictStr

from playhead.wire import operations
from playhead.wire.operations.scores import RecordedScore
from playhead_collector.errors import Refused
from playhead_collector.read.record import RunProjector, RunRecord, open_record
from playhead_collector.read.scores import list_scores, score_answer
from playhead_collector.read.state import seq_at
from playhead_collector.serve import routing
from playhead_collector.serve.auth import key_name
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routing import conflict, get, schema
from playhead_collector.store.ports import Store
from playhead_collector.store.ports.scores import ScoreFilter, ScoreToAdd, StoredScore

_NAME, _CATEGORY, _AUTHOR, _COMMENT = 200, 1_000, 200, 10_000
_NO_NUL = r"^[^\x00]*$"
_ID = r"^[A-Za-z0-9_:-]{1,100}$"  # ids of scores that were recorded as events have a dot

Name = Annotated[
    str, Body(min_length=1, max_length=_NAME, pattern=_NO_NUL, description="What was scored, e.g. `resolved`.")
]
Category = Annotated[StrictStr, Field(min_length=1, max_length=_CATEGORY, pattern=_NO_NUL)]
Value = Annotated[
    StrictBool | StrictInt | StrictFloat | Category,
    Body(description="A finite number, a boolean, or the name of a category."),
]
Label = Annotated[
    str | None, Body(min_length=1, max_length=_CATEGORY, pattern=_NO_NUL, description="What a number is called.")
]
Moment = Annotated[
    str | None,
    Body(max_length=300, pattern=_NO_NUL, description=f"{routing.MOMENT}: scores that call instead of the run."),
]
Comment = Annotated[str | None, Body(max_length=_COMMENT, pattern=_NO_NUL, description="Why, for people.")]
Author = Annotated[str | None, Body(max_length=_AUTHOR, pattern=_NO_NUL, description="Who says so.")]
ScoreId = Annotated[
    str | None, Body(pattern=_ID, description="The same score with the same id is stored once; default: a new id.")
]
SpanId = Annotated[
    str | None,
    Body(pattern=r"^[0-9a-f]{16}$", description="Of a score that is moved: the call, by its span's id."),
]
GivenAt = Annotated[
    str | None,
    Body(max_length=50, description="Of a score that is moved: when it was given (RFC 3339), instead of now."),
]
OfName = Annotated[str | None, Query(max_length=_NAME, pattern=_NO_NUL, description="Only scores of this name.")]
Source = Annotated[
    str | None,
    Query(max_length=300, pattern=_NO_NUL, description="Only scores of this source; `api`: those that were posted."),
]
OfRun = Annotated[str | None, Query(max_length=40, pattern=_NO_NUL, description="Only scores of this run.")]
Latest = Annotated[bool, Query(description="Leave out scores that a later one replaces.")]


class ScoreRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, store: Store, runner: RunProjector, project_id: int) -> None:
        self._store, self._runner, self._project_id = store, runner, project_id

    async def add_score(
        self,
        request: Request,
        run: routing.RunId,
        name: Name,
        value: Value,
        label: Label = None,
        at: Moment = None,
        comment: Comment = None,
        author: Author = None,
        id: ScoreId = None,  # noqa: A002 - the name in the body
        span: SpanId = None,
        time: GivenAt = None,
    ) -> Response:
        """Score a run, or one of its calls. A score of the same name replaces the one before; both are kept.

        The time is the database's, unless one is given. Sent again with the same `id`, it is stored once; 409 when the
        run has another score with this id.
        """
        if isinstance(value, int | float) and not _is_finite(value):
            raise Refused(422, "invalid", "body.value: a score has to be a finite number: send one")
        if label is not None and isinstance(value, str):
            raise Refused(422, "invalid", "body.label: a category is its own label: leave one of them out")
        if at is not None and span is not None:
            raise Refused(422, "invalid", "body.span: `at` names the call already: leave one of them out")
        record = await open_record(self._store, self._runner, self._project_id, run)
        score = ScoreToAdd(
            id or uuid.uuid4().hex,
            name,
            value if isinstance(value, bool | str) else float(value),
            label,
            span or await _span_at(record, at),
            author,
            key_name(request),
            comment,
            routing.read_time(time),
        )
        stored = await self._store.add_score(self._project_id, record.run, score)
        if stored is None:
            message = f"run {record.run} was deleted just now: `playhead runs` lists the others"
            raise Refused(404, "no_such_run", message)
        if _as_posted(stored, score) != replace(score, api_key=None):
            message = f"run {record.run} has another score with the id {score.id}: leave `id` out, or send another"
            raise Refused(409, "score_exists", message)
        return json_answer(score_answer(stored))

    async def run_scores(
        self,
        run: routing.RunId,
        name: OfName = None,
        source: Source = None,
        latest: Latest = False,
        limit: routing.Limit = 100,
        cursor: routing.Cursor = None,
    ) -> Response:
        """Scores of a run and of its calls, newest first."""
        record = await open_record(self._store, self._runner, self._project_id, run)
        where = ScoreFilter(record.run, name, source, latest)
        return json_answer(await list_scores(self._store, self._project_id, where, limit, cursor))

    async def scores(
        self,
        run: OfRun = None,
        name: OfName = None,
        source: Source = None,
        latest: Latest = False,
        since: routing.Time = None,
        until: routing.Time = None,
        limit: routing.Limit = 100,
        cursor: routing.Cursor = None,
    ) -> Response:
        """Scores of all runs, newest first. `since` and `until` limit the time of the score."""
        await self._runner.catch_up()
        named = None
        if run is not None:
            named = (await open_record(self._store, self._runner, self._project_id, run)).run
        where = ScoreFilter(named, name, source, latest, routing.read_time(since), routing.read_time(until))
        return json_answer(await list_scores(self._store, self._project_id, where, limit, cursor))


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


async def _span_at(record: RunRecord, moment: str | None) -> str | None:
    """Returns the span id of the call at this moment; None (for the whole run) if `moment` is None. Raises Refused."""
    if moment is None:
        return None
    seq = await seq_at(record, moment)
    span = (await record.event(seq)).span
    if span is None:
        message = f"event {seq} of run {record.run} belongs to no call: name an event of one, or leave `at` out"
        raise Refused(400, "no_call", message)
    return span


def _as_posted(stored: StoredScore, posted: ScoreToAdd) -> ScoreToAdd:
    """Returns the request that stored this score, without its API key; with its time only if `posted` has a time."""
    scored_ns = None if posted.scored_ns is None else stored.scored_ns
    return ScoreToAdd(
        stored.id, stored.name, stored.value, stored.label, stored.span, stored.author, None, stored.comment, scored_ns
    )


_EXISTS = "The run has another score with this id."


def add_routes(api: APIRouter, store: Store, runner: RunProjector, project_id: int) -> None:
    """Registers the operations of this file."""
    routes = ScoreRoutes(store, runner, project_id)
    posted = api.post(
        "/runs/{run}/scores", tags=["scores"], response_model=schema(RecordedScore), responses=conflict(_EXISTS)
    )
    posted(routes.add_score)
    get(api, "scores", "/runs/{run}/scores", routes.run_scores, operations.Page[RecordedScore])
    get(api, "scores", "/scores", routes.scores, operations.Page[RecordedScore])

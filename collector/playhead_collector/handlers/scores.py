"""Handlers of scores: how good runs and calls were, as judged by programs, evaluators and people."""

import math
import uuid
from dataclasses import replace
from datetime import datetime

from playhead.wire.operations.page import Page
from playhead.wire.operations.scores import RecordedScore, ScoreOperations
from playhead_collector.errors import Refused
from playhead_collector.handlers.asking import Asking, Changing
from playhead_collector.handlers.conditions import read_time
from playhead_collector.handlers.handling import changes, handles
from playhead_collector.read.record import RunRecord
from playhead_collector.read.scores import list_scores, score_answer
from playhead_collector.read.state import seq_at
from playhead_collector.store.ports.scores import ScoreFilter, ScoreToAdd, StoredScore


@changes(ScoreOperations.score)
async def score(
    asking: Changing,
    run: str,
    name: str,
    value: bool | float | str,
    *,
    label: str | None = None,
    at: int | str | None = None,
    comment: str | None = None,
    author: str | None = None,
    id: str | None = None,  # noqa: A002 - the name in the body
    span: str | None = None,
    time: str | datetime | None = None,
) -> RecordedScore:
    if isinstance(value, int | float) and not _is_finite(value):
        raise Refused(422, "invalid", "body.value: a score has to be a finite number: send one")
    if label is not None and isinstance(value, str):
        raise Refused(422, "invalid", "body.label: a category is its own label: leave one of them out")
    if at is not None and span is not None:
        raise Refused(422, "invalid", "body.span: `at` names the call already: leave one of them out")
    record = await asking.record(run)
    if isinstance(value, str):
        [value] = await asking.masked([value])
    label, author, comment = await asking.masked([label, author, comment])
    posted = ScoreToAdd(
        id or uuid.uuid4().hex,
        name,
        value if isinstance(value, bool | str) else float(value),
        label,
        span or await _span_at(record, None if at is None else str(at)),
        author,
        asking.request.access.key_name,
        comment,
        read_time(time),
    )
    stored = await asking.store.scores.add(asking.project_id, record.run, posted)
    if stored is None:
        message = f"run {record.run} was deleted just now: `playhead runs` lists the others"
        raise Refused(404, "no_such_run", message)
    if _as_posted(stored, posted) != replace(posted, api_key=None):
        message = f"run {record.run} has another score with the id {posted.id}: leave `id` out, or send another"
        raise Refused(409, "score_exists", message)
    return score_answer(stored)


@handles(ScoreOperations.run_scores)
async def run_scores(
    asking: Asking,
    run: str,
    *,
    name: str | None = None,
    source: str | None = None,
    latest: bool = False,
    limit: int | None = None,
) -> Page[RecordedScore]:
    where = ScoreFilter((await asking.record(run)).run, name, source, latest)
    return await list_scores(asking.store, asking.project_id, where, asking.page(limit), asking.cursor)


@handles(ScoreOperations.scores)
async def scores(
    asking: Asking,
    run: str | None = None,
    *,
    name: str | None = None,
    source: str | None = None,
    latest: bool = False,
    since: str | datetime | None = None,
    until: str | datetime | None = None,
    limit: int | None = None,
) -> Page[RecordedScore]:
    await asking.catch_up()
    named = None if run is None else (await asking.record(run)).run
    where = ScoreFilter(named, name, source, latest, read_time(since), read_time(until))
    return await list_scores(asking.store, asking.project_id, where, asking.page(limit), asking.cursor)


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

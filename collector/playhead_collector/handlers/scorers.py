"""Handlers of scorers: what scores runs that have ended."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final, get_args

from playhead.model.times import rfc3339
from playhead.wire.operations.bounds import Status
from playhead.wire.operations.scorers import (
    DeletedScorer,
    ScorerAnswer,
    ScorerBackfill,
    ScorerCounts,
    ScorerKind,
    ScorerList,
    ScorerOperations,
    TriedScorer,
)
from playhead_collector.analysis.scoring.rules import BadRule, read_rule
from playhead_collector.errors import Refused
from playhead_collector.handlers.asking import Changing, ScoringService
from playhead_collector.handlers.conditions import read_time, run_filter
from playhead_collector.handlers.handling import changes, handles_with_store
from playhead_collector.store.ports.runs import RunFilter
from playhead_collector.store.ports.scorers import (
    BackfillProgress,
    ScorerDefinition,
    ScorerRow,
    ScorerSelection,
    ScoringCounts,
)

_MAX_SCORERS: Final = 100
_FAILURES: Final = 20
_CONDITIONS: Final = ("agent", "status", "session", "user", "tag", "model", "tool", "text")
_MAX_CONDITION: Final = 300


@handles_with_store(ScorerOperations.scorers)
async def scorers(asking: Changing) -> ScorerList:
    rows = await asking.store.scorers.of_project(asking.project_id)
    service = _service(asking)
    return {
        "items": [await _about(asking, row) for row in rows],
        "functions": list(service.function_names),
        "models": list(service.model_names),
    }


@handles_with_store(ScorerOperations.scorer)
async def scorer(asking: Changing, name: str) -> ScorerAnswer:
    return await _about(asking, await _named(asking, name))


@changes(ScorerOperations.set_scorer)
async def set_scorer(
    asking: Changing,
    name: str,
    kind: ScorerKind,
    *,
    rule: Mapping[str, Any] | None = None,
    function: str | None = None,
    prompt: str | None = None,
    judge_model: str | None = None,
    score: str | None = None,
    where: Mapping[str, str] | None = None,
    sample: float = 1.0,
    runs_per_day: int | None = None,
    tokens_per_day: int | None = None,
    cost_per_day: float | None = None,
    enabled: bool = True,
) -> ScorerAnswer:
    definition = ScorerDefinition(
        kind=kind, score=score or name, rule=rule, function=function, prompt=prompt, judge_model=judge_model
    )
    selection = ScorerSelection(
        where=where or {},
        sample=sample,
        runs_per_day=runs_per_day,
        tokens_per_day=tokens_per_day,
        cost_per_day=cost_per_day,
    )
    _check(definition, selection, _service(asking))
    conditions = _conditions(where or {})
    known = await asking.store.scorers.of_project(asking.project_id)
    if len(known) >= _MAX_SCORERS and all(row.name != name for row in known):
        raise Refused(409, "too_many_scorers", f"the project has {_MAX_SCORERS} scorers: delete some first")
    row = await asking.store.scorers.set(
        asking.project_id,
        name,
        definition,
        selection,
        conditions,
        enabled=enabled,
        now_ns=asking.services.clock(),
    )
    return await _about(asking, row)


@changes(ScorerOperations.delete_scorer)
async def delete_scorer(asking: Changing, name: str) -> DeletedScorer:
    return {"deleted": await asking.store.scorers.delete(asking.project_id, name)}


@changes(ScorerOperations.backfill_scorer)
async def backfill_scorer(
    asking: Changing, name: str, *, since: str | datetime | None = None, until: str | datetime | None = None
) -> ScorerAnswer:
    row = await _named(asking, name)
    if not row.enabled:
        raise Refused(409, "scorer_off", f"the scorer {name!r} is switched off: set it with enabled=true first")
    progress = BackfillProgress(
        state="running", started_ns=asking.services.clock(), since_ns=read_time(since), until_ns=read_time(until)
    )
    await asking.store.scorers.begin_backfill(row, progress)
    return await _about(asking, await _named(asking, name))


@changes(ScorerOperations.stop_backfill)
async def stop_backfill(asking: Changing, name: str) -> ScorerAnswer:
    await asking.store.scorers.stop_backfill(await _named(asking, name))
    return await _about(asking, await _named(asking, name))


@changes(ScorerOperations.try_scorer)
async def try_scorer(asking: Changing, name: str, run: str) -> TriedScorer:
    row = await _named(asking, name)
    record = await asking.record(run)
    scores = await _service(asking).try_on(row, record.run)
    return {
        "run": record.run,
        "scores": [
            {
                "name": given.name or row.definition.score,
                "value": given.value,
                "label": given.label,
                "comment": given.comment,
            }
            for given in scores
        ],
    }


def _service(asking: Changing) -> ScoringService:
    assert asking.services.scoring is not None  # noqa: S101 - whoever serves these operations has one
    return asking.services.scoring


async def _named(asking: Changing, name: str) -> ScorerRow:
    for row in await asking.store.scorers.of_project(asking.project_id):
        if row.name == name:
            return row
    raise Refused(404, "no_such_scorer", f"there is no scorer {name!r}: `playhead scorers list` shows those there are")


# --- what a scorer may be ---------------------------------------------------------------------------------------------


def _check(definition: ScorerDefinition, selection: ScorerSelection, service: ScoringService) -> None:
    """Raises Refused if a scorer cannot be so."""
    kind = definition.kind
    given = {
        "rule": {"rule": definition.rule},
        "function": {"function": definition.function},
        "judge": {
            "prompt": definition.prompt,
            "judge_model": definition.judge_model,
            "tokens_per_day": selection.tokens_per_day,
            "cost_per_day": selection.cost_per_day,
        },
    }
    for other, values in given.items():
        for field, value in values.items():
            if other != kind and value is not None:
                raise _bad(field, f"it belongs to a scorer of the kind {other}: leave it out")
    if kind == "rule":
        _check_rule(definition.rule)
    elif kind == "function":
        _check_function(definition.function, service.function_names)
    else:
        _check_judge(definition.judge_model, selection, service)


def _check_rule(rule: Mapping[str, Any] | None) -> None:
    if rule is None:
        raise _bad("rule", "a rule is needed")
    try:
        text = json.dumps(rule, ensure_ascii=False)
        text.encode()
    except (ValueError, RecursionError):
        raise _bad("rule", "it has texts that are no Unicode, or is nested too deeply") from None
    if "\\u0000" in text:
        raise _bad("rule", "it has a NUL character, which cannot be stored")
    try:
        read_rule(rule)
    except BadRule as error:
        raise _bad("rule", str(error)) from None


def _check_function(function: str | None, known: Sequence[str]) -> None:
    if function not in known:
        there = f"there are {', '.join(known)}" if known else "there are none"
        raise _bad(
            "function",
            f"there is no function {(function or '')!r} ({there}): name it in PLAYHEAD_SCORERS, or install the package "
            "that brings it",
        )


def _check_judge(model: str | None, selection: ScorerSelection, service: ScoringService) -> None:
    known = service.model_names
    if not known:
        message = "no model can judge: set PLAYHEAD_EXPLAIN_URL and PLAYHEAD_EXPLAIN_MODEL for the collector"
        raise Refused(409, "no_model", message)
    if model is not None and model not in known:
        raise _bad("judge_model", f"there is no model {model!r}: name one of {', '.join(known)}")
    if selection.cost_per_day is not None and not service.has_price(model):
        raise _bad(
            "cost_per_day", "no price of that model is known: add it to PLAYHEAD_PRICES, or limit tokens_per_day"
        )


def _conditions(where: Mapping[str, str]) -> RunFilter:
    for name, value in where.items():
        if name not in _CONDITIONS:
            raise _bad("where", f"there is no condition {name[:100]!r}: use {', '.join(_CONDITIONS)}")
        if not 0 < len(value) <= _MAX_CONDITION or "\x00" in value or not _is_unicode(value):
            raise _bad("where", f"{name}: a text of up to {_MAX_CONDITION} characters is needed")
    if where.get("status", "completed") not in get_args(Status):
        raise _bad("where", f"status: one of {', '.join(get_args(Status))} is needed")
    conditions: dict[str, Any] = dict(where)
    return run_filter(**conditions)


def _is_unicode(text: str) -> bool:
    return text.encode("utf-8", "replace").decode() == text


def _bad(field: str, why: str) -> Refused:
    return Refused(422, "invalid", f"body.{field}: {why}")


# --- answers ----------------------------------------------------------------------------------------------------------


async def _about(asking: Changing, row: ScorerRow) -> ScorerAnswer:
    status = await asking.store.scorers.status(row, asking.services.clock(), _FAILURES)
    definition, selection = row.definition, row.selection
    return {
        "name": row.name,
        "kind": definition.kind,
        "version": row.version,
        "enabled": row.enabled,
        "score": definition.score,
        "rule": None if definition.rule is None else dict(definition.rule),
        "function": definition.function,
        "prompt": definition.prompt,
        "judge_model": definition.judge_model,
        "where": dict(selection.where),
        "sample": selection.sample,
        "budget": {
            "runs_per_day": selection.runs_per_day,
            "tokens_per_day": selection.tokens_per_day,
            "cost_per_day": selection.cost_per_day,
        },
        "created": rfc3339(row.created_ns),
        "today": _counts(status.today),
        "total": _counts(status.total),
        "due": status.due,
        "failures": [{"run": run, "error": error} for run, error in status.failures],
        "backfill": None if row.backfill is None else _backfill(row.backfill),
    }


def _counts(counts: ScoringCounts) -> ScorerCounts:
    values: Any = asdict(counts)
    return values


def _backfill(progress: BackfillProgress) -> ScorerBackfill:
    return {
        "state": progress.state,
        "since": None if progress.since_ns is None else rfc3339(progress.since_ns),
        "until": None if progress.until_ns is None else rfc3339(progress.until_ns),
        "started": rfc3339(progress.started_ns),
        "looked": progress.looked,
        "queued": progress.queued,
    }

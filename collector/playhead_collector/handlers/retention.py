"""Handlers of retention: policies, what they would do, pins, and what was removed."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import orjson

from playhead.model.times import rfc3339
from playhead.wire.operations.page import Page
from playhead.wire.operations.retention import (
    Pin,
    PlannedMove,
    ProjectRetention,
    RetentionOperations,
    RetentionPlan,
    RunRemoval,
    Thinned,
    TierName,
    Unpinned,
)
from playhead_collector.errors import Refused
from playhead_collector.handlers.asking import Changing
from playhead_collector.handlers.handling import changes, handles_with_store
from playhead_collector.read.paging import read_number
from playhead_collector.read.retention import pin_answer
from playhead_collector.retain.policy import NAMES, BadPolicy, parse_policy
from playhead_collector.store.ports.tiers import RemovalRow, Tier

if TYPE_CHECKING:
    from playhead_collector.retain.retainer import DueRuns, Retainer

_MAX_POLICY_BYTES = 100_000
_KEPT_TIERS = (Tier.HOT, Tier.WARM, Tier.COLD, Tier.ARCHIVE)


@handles_with_store(RetentionOperations.retention)
async def retention(asking: Changing) -> ProjectRetention:
    return await _answer(asking)


@changes(RetentionOperations.set_retention)
async def set_retention(asking: Changing, policy: Any = None) -> ProjectRetention:
    if policy is not None:
        try:
            parse_policy(policy)
        except BadPolicy as error:
            raise Refused(422, "bad_policy", str(error)) from None
    stored = None if policy is None else orjson.dumps(policy).decode()
    if stored is not None and len(stored) > _MAX_POLICY_BYTES:
        raise Refused(422, "bad_policy", f"policy: is longer than {_MAX_POLICY_BYTES} bytes: use fewer rules")
    await asking.store.tiers.set_policy(asking.project_id, stored)
    return await _answer(asking)


@handles_with_store(RetentionOperations.retention_plan)
async def retention_plan(asking: Changing, *, limit: int | None = None) -> RetentionPlan:
    await asking.catch_up()
    plan = await _retainer(asking).plan(asking.project_id, asking.page(limit, 100))
    return {
        "items": _planned(plan),
        "runs": plan.runs,
        "kept": plan.kept,
        "bytes": plan.bytes,
        "looked_at": plan.looked_at,
        "all_looked_at": plan.all_looked_at,
    }


@changes(RetentionOperations.retain)
async def retain(asking: Changing) -> Thinned:
    done = await _retainer(asking).retain_now(asking.project_id)
    return {"runs": _by_name(done.runs), "bytes": done.bytes, "complete": done.complete}


@handles_with_store(RetentionOperations.removals)
async def removals(asking: Changing, *, limit: int | None = None) -> Page[RunRemoval]:
    size, before = asking.page(limit), read_number(asking.cursor) if asking.cursor else None
    rows = await asking.store.tiers.removals(asking.project_id, limit=size + 1, before=before)
    page = rows[:size]
    return {
        "items": [_removal(row) for row in page],
        "next_cursor": str(page[-1].number) if len(rows) > size else None,
    }


@changes(RetentionOperations.pin_run)
async def pin_run(asking: Changing, run: str, reason: str | None = None) -> Pin:
    record = await asking.record(run)
    [reason] = await asking.masked([reason])
    pin = await asking.store.tiers.pin(asking.project_id, record.run, reason, asking.request.access.key_name)
    if pin is None:
        message = f"run {record.run} was deleted just now: `playhead runs` lists the others"
        raise Refused(404, "no_such_run", message)
    return pin_answer(record.run, pin)


@changes(RetentionOperations.unpin_run)
async def unpin_run(asking: Changing, run: str) -> Unpinned:
    record = await asking.record(run)
    return {"unpinned": await asking.store.tiers.unpin(asking.project_id, record.run)}


async def _answer(asking: Changing) -> ProjectRetention:
    retainer = _retainer(asking)
    stored = await asking.store.tiers.policy(asking.project_id)
    tiers = await asking.store.tiers.tiers(asking.project_id)
    outlook = await retainer.outlook(asking.project_id)
    return {
        "policy": None if stored is None else orjson.loads(stored),
        "object_store": retainer.has_objects,
        "tiers": _by_name({tier: tiers.get(tier, 0) for tier in _KEPT_TIERS}),
        "upcoming": [
            {"days": days, "tier": NAMES[tier], "runs": runs} for (days, tier), runs in sorted(outlook.upcoming.items())
        ],
        "looked_at": outlook.looked_at,
        "all_looked_at": outlook.all_looked_at,
    }


def _planned(plan: "DueRuns") -> list[PlannedMove]:
    return [
        {
            "run": run.run,
            "tier": NAMES[run.tier],
            "to": NAMES[run.tier if decision.target is None else decision.target],
            "rule": decision.rule.name,
            "why": decision.why,
            "kept": decision.kept,
            "bytes": plan.sizes[run.run],
        }
        for run, decision in plan.due
    ]


def _removal(row: RemovalRow) -> RunRemoval:
    return {
        "time": rfc3339(row.at_ns),
        "rule": row.rule,
        "tier": NAMES[row.from_tier],
        "to": NAMES[row.to_tier],
        "runs": list(row.runs),
        "contents": row.contents,
        "bytes": row.bytes,
    }


def _by_name(counts: Mapping[Tier, int]) -> dict[TierName, int]:
    return {NAMES[tier]: count for tier, count in counts.items()}


def _retainer(asking: Changing) -> "Retainer":
    retainer = asking.services.retainer
    assert retainer is not None  # noqa: S101 - without one, these operations have no route
    return retainer

"""Handlers of redaction: the rules of a project, and the job that runs them over what is stored."""

import asyncio
from collections.abc import Mapping, Sequence

from playhead.model.times import rfc3339
from playhead.wire.operations.redaction import RedactionAnswer, RedactionJob, RedactionOperations, RedactionTest
from playhead_collector.errors import Refused
from playhead_collector.handlers.asking import Changing, MaskerDirectory, ProjectCache
from playhead_collector.handlers.handling import changes, handles_with_store
from playhead_collector.redaction.presets import PRESETS
from playhead_collector.redaction.rules import BadRules, RedactionRules, checked
from playhead_collector.store.ports.redaction import RedactionJobRow

UNCHANGED = (
    "what was forwarded to other backends or sent to the webhook of promises",
    "exports, bundles, and backups of the database",
    "journals of the processes that recorded it, and what clients and browsers have downloaded",
    "refs: the SHA-256 of a short text can be guessed from the text",
    "dictionaries of 32 KiB with phrases that many contents share, with which contents are compressed",
    "free space and the write-ahead log of Postgres, until they are used again",
    "names of conversations, sessions' ids in them, and saved views",
)
"""What a job cannot change."""


@handles_with_store(RedactionOperations.redaction)
async def redaction(asking: Changing) -> RedactionAnswer:
    return await _answer(asking)


@changes(RedactionOperations.set_redaction)
async def set_redaction(
    asking: Changing,
    *,
    keys: Sequence[str] = (),
    patterns: Mapping[str, str] = {},
    presets: Sequence[str] = (),
    hook: bool = False,
) -> RedactionAnswer:
    try:
        rules = checked(keys, patterns, presets, hook=hook)
    except BadRules as error:
        raise Refused(422, "bad_rules", str(error)) from error
    if hook and _maskers(asking).hook is None:
        message = "this collector has no hook: set PLAYHEAD_REDACTION_HOOK for it, or leave `hook` out"
        raise Refused(409, "no_hook", message)
    await asking.store.projects.set_redaction(asking.project_id, rules)
    _cache(asking).forget()
    return await _answer(asking)


@changes(RedactionOperations.try_redaction)
async def try_redaction(asking: Changing, value: object = None) -> RedactionTest:
    masker = await _maskers(asking).of(asking.project_id)
    left = value if masker is None else await asyncio.to_thread(masker.json, value)
    return {"value": left, "changed": left != value}


@changes(RedactionOperations.apply_redaction)
async def apply_redaction(asking: Changing) -> RedactionJob:
    rules = await _rules(asking)
    if not rules:
        message = "the project has no rules: set some with `playhead projects redaction set`"
        raise Refused(409, "no_rules", message)
    return _job(await asking.store.redaction.start(asking.project_id, rules), rules)


@changes(RedactionOperations.stop_redaction)
async def stop_redaction(asking: Changing) -> RedactionJob:
    stopped = await asking.store.redaction.stop(asking.project_id)
    if stopped is None:
        raise Refused(404, "no_job", "no job is under way: `playhead projects redaction show` shows the last one")
    return _job(stopped, await _rules(asking))


async def _answer(asking: Changing) -> RedactionAnswer:
    rules, job = await _rules(asking), await asking.store.redaction.job(asking.project_id)
    return {
        "keys": list(rules.keys),
        "patterns": dict(rules.patterns),
        "presets": list(rules.presets),
        "hook": rules.hook,
        "has_hook": _maskers(asking).hook is not None,
        "available_presets": [{"name": name, "about": preset.about} for name, preset in PRESETS.items()],
        "job": None if job is None else _job(job, rules),
    }


async def _rules(asking: Changing) -> RedactionRules:
    project = (await _cache(asking).all()).get(asking.project_id)
    return RedactionRules() if project is None or project.redaction is None else project.redaction


def _job(row: RedactionJobRow, rules: RedactionRules) -> RedactionJob:
    if row.ended_ns is not None:
        state = "done" if row.phase == "done" else "stopped"
    else:
        state = "running" if row.failed is None else "waiting"
    return {
        "state": state,
        "phase": row.phase,
        "counts": {
            kind: {"looked_at": looked_at, "changed": changed} for kind, (looked_at, changed) in row.counts.items()
        },
        "started": rfc3339(row.started_ns),
        "updated": rfc3339(row.updated_ns),
        "ended": None if row.ended_ns is None else rfc3339(row.ended_ns),
        "failed": row.failed,
        "outdated": row.rules != rules,
        "unchanged": list(UNCHANGED),
    }


def _cache(asking: Changing) -> ProjectCache:
    assert asking.services.projects is not None  # noqa: S101 - whoever serves has one
    return asking.services.projects


def _maskers(asking: Changing) -> MaskerDirectory:
    assert asking.services.maskers is not None  # noqa: S101 - whoever serves has one
    return asking.services.maskers

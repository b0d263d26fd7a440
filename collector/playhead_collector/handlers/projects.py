"""Handlers of projects: those of the operator, and what a project says about itself."""

from playhead.model.times import rfc3339
from playhead.wire.operations.projects import (
    DeletedProject,
    DestroyedKey,
    ProjectAnswer,
    ProjectLimits,
    ProjectList,
    ProjectOperations,
    ProjectUsage,
)
from playhead_collector.access import FIRST_PROJECT
from playhead_collector.errors import EncryptionMissing, Refused, WrongEncryptionKey
from playhead_collector.handlers.asking import Changing, ProjectCache, ProjectMeter
from playhead_collector.handlers.handling import changes, handles_with_store
from playhead_collector.store.ports.projects import ProjectRow, StoredLimits

# Each is looked at by every background worker.
_MAX_PROJECTS = 10_000


@handles_with_store(ProjectOperations.project)
async def project(asking: Changing) -> ProjectUsage:
    row, meter = (await _cache(asking).all())[asking.project_id], _meter(asking)
    today, refusal = meter.today(row.number), await meter.refusal(row.number)
    return {
        **_about(row),
        "spans_today": today.spans,
        "bytes_today": today.bytes,
        "refused": None if refusal is None else str(refusal),
    }


@handles_with_store(ProjectOperations.projects)
async def projects(asking: Changing) -> ProjectList:
    _check_operator(asking)
    return {"items": [_about(row) for row in await asking.store.projects.all()]}


@changes(ProjectOperations.create_project)
async def create_project(asking: Changing, name: str, *, encrypted: bool = False) -> ProjectAnswer:
    _check_operator(asking)
    if len(await asking.store.projects.all()) >= _MAX_PROJECTS:
        raise Refused(409, "too_many_projects", f"there are {_MAX_PROJECTS} projects: delete some first")
    try:
        row = await asking.store.projects.create(name, encrypted=encrypted)
    except (EncryptionMissing, WrongEncryptionKey) as error:
        raise Refused(409, "cannot_encrypt", f"the project cannot be encrypted: {error}") from error
    if row is None:
        raise Refused(409, "project_exists", f"there is a project {name!r} already: choose another name")
    if (search := asking.services.search) is not None:
        await asking.store.search.prepare(row.number, search.language)
    _cache(asking).forget()
    return _about(row)


@changes(ProjectOperations.limit_project)
async def limit_project(
    asking: Changing,
    name: str,
    *,
    spans_per_second: int | None = None,
    bytes_per_day: int | None = None,
    stored_bytes: int | None = None,
) -> ProjectAnswer:
    _check_operator(asking)
    row = await _named(asking, name)
    limits = StoredLimits(spans_per_second=spans_per_second, bytes_per_day=bytes_per_day, stored_bytes=stored_bytes)
    await asking.store.projects.limit(row.number, limits)
    _cache(asking).forget()
    return _about(await _named(asking, name))


@changes(ProjectOperations.delete_project)
async def delete_project(asking: Changing, name: str) -> DeletedProject:
    _check_operator(asking)
    row = await _named(asking, name)
    if row.number == FIRST_PROJECT:
        message = f"{name!r} is the first project, which cannot be deleted: delete its runs with `playhead delete`"
        raise Refused(409, "first_project", message)
    deleted = await asking.store.projects.delete(row.number)
    _cache(asking).forget()
    if (keys := asking.services.keys) is not None:
        keys.forget()
    return {"deleted": deleted}


@changes(ProjectOperations.destroy_key)
async def destroy_key(asking: Changing, name: str) -> DestroyedKey:
    _check_operator(asking)
    row = await _named(asking, name)
    if not row.encrypted:
        message = f"the project {name!r} is not encrypted, so it has no key: delete the project instead"
        raise Refused(409, "not_encrypted", message)
    destroyed = await asking.store.projects.destroy_key(row.number)
    _cache(asking).forget()
    return {"destroyed": destroyed}


def _check_operator(asking: Changing) -> None:
    if asking.request.access.is_operator:
        return
    keys = asking.services.keys
    if keys is None or keys.master is None:
        message = "projects need an operator: set PLAYHEAD_ADMIN_KEY for the collector, and ask with that key"
        raise Refused(409, "no_operator", message)
    raise Refused(403, "operators_only", "projects are the operator's: ask with the key PLAYHEAD_ADMIN_KEY")


async def _named(asking: Changing, name: str) -> ProjectRow:
    for row in await asking.store.projects.all():
        if row.name == name:
            return row
    raise Refused(
        404, "no_such_project", f"there is no project {name!r}: `playhead projects list` shows those there are"
    )


def _cache(asking: Changing) -> ProjectCache:
    assert asking.services.projects is not None  # noqa: S101 - whoever serves has one
    return asking.services.projects


def _meter(asking: Changing) -> ProjectMeter:
    assert asking.services.meter is not None  # noqa: S101 - whoever serves has one
    return asking.services.meter


def _about(row: ProjectRow) -> ProjectAnswer:
    limits: ProjectLimits = {
        "spans_per_second": row.limits.spans_per_second,
        "bytes_per_day": row.limits.bytes_per_day,
        "stored_bytes": row.limits.stored_bytes,
    }
    encryption = "key_destroyed" if row.key_destroyed else "on" if row.encrypted else "off"
    return {"name": row.name, "created": rfc3339(row.created_ns), "limits": limits, "encryption": encryption}

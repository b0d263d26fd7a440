"""Handlers of erasure."""

from typing import TYPE_CHECKING
from uuid import UUID, uuid4

from playhead.model.ref import ContentRef
from playhead.model.times import rfc3339
from playhead.wire.operations.forgetting import (
    ForgetPreview,
    Forgetting,
    ForgettingOperations,
    Forgettings,
    RefOfOthers,
)
from playhead_collector.errors import ContentMissing, Refused
from playhead_collector.handlers.asking import Changing
from playhead_collector.handlers.handling import changes, handles_with_store
from playhead_collector.read.content_uses import read_about
from playhead_collector.store.ports.forgetting import ForgettingRow, SelectedBy, Selection, Selector

if TYPE_CHECKING:
    from playhead_collector.retain.forgetter import Forgetter

# A request may find more; they are forgotten, too.
_MOST_LOOKED_AT = 100_000
_LISTED, _NAMED = 1_000, 5
_REFS_OF_OTHERS, _RUNS_OF_A_REF = 20, 5
_COPIES = [
    "Backups hold what was erased until they expire; of one that is restored, have the same forgotten again.",
    "Exports, bundles and lakes that were made before are not known here: delete them where they are.",
    "Journals of the recording machines hold it until they expire: run `playhead forget` there with --local.",
    "Postgres' free space and write-ahead log hold it until they are reused: see `playhead scrub`.",
]


@handles_with_store(ForgettingOperations.preview_forgetting)
async def preview_forgetting(asking: Changing, by: SelectedBy, value: str) -> ForgetPreview:
    await asking.catch_up()
    found = await _select(asking, Selector(by, value))
    return {
        "runs": list(found.runs[:_LISTED]),
        "run_count": len(found.runs),
        "forks": list(found.forks[:_LISTED]),
        "conversations": found.conversations,
        "contents": found.candidates,
        "forwarded": dict(found.destinations),
    }


@changes(ForgettingOperations.forget)
async def forget(
    asking: Changing,
    by: SelectedBy,
    value: str,
    *,
    forks: bool = False,
    id: str | None = None,  # noqa: A002 - the name in the body
) -> Forgetting:
    selector, job = Selector(by, value), uuid4() if id is None else UUID(id)
    await asking.catch_up()  # of whom a run is, and its forks, are known only after it is projected
    if not await asking.store.forgetting.jobs(asking.project_id, job, 1):
        found = await _select(asking, selector)
        if by == "run" and not found.runs:
            raise Refused(404, "no_such_run", f"there is no run {value!r}: name it by its whole id")
        if found.forks and not forks:
            raise _has_forks(found)
        await asking.store.forgetting.begin(
            asking.project_id,
            job,
            selector,
            forks=forks,
            requested_by=asking.request.access.key_name,
            hold_ns=_forgetter(asking).hold_ns,
        )
    await _forgetter(asking).work_now(asking.project_id, job)
    return await _one(asking, job)


@handles_with_store(ForgettingOperations.forgetting)
async def forgetting(asking: Changing, job: str) -> Forgetting:
    return await _one(asking, UUID(job))


@handles_with_store(ForgettingOperations.forgettings)
async def forgettings(asking: Changing, *, limit: int = 50) -> Forgettings:
    rows = await asking.store.forgetting.jobs(asking.project_id, None, limit)
    return {"items": [_about(row, [], asking.services.clock()) for row in rows]}


async def _select(asking: Changing, selector: Selector) -> Selection:
    return await asking.store.forgetting.select(asking.project_id, selector, _MOST_LOOKED_AT)


def _has_forks(found: Selection) -> Refused:
    named = ", ".join(found.forks[:_NAMED])
    more = f" and {len(found.forks) - _NAMED} more" if len(found.forks) > _NAMED else ""
    message = f"other runs were forked from these and share their records ({named}{more}): forget them first, or add "
    return Refused(409, "has_forks", message + "forks=true (`playhead forget --forks`) to forget all of them")


async def _one(asking: Changing, job: UUID) -> Forgetting:
    rows = await asking.store.forgetting.jobs(asking.project_id, job, 1)
    if not rows:
        raise Refused(
            404, "no_such_job", f"nobody asked to forget under {job.hex}: `playhead forget --status` lists them"
        )
    refs = [ContentRef.from_digest(bytes.fromhex(ref)) for ref in rows[0].report.get("refs_of_others", ())]
    return _about(rows[0], [await _of_others(asking, ref) for ref in refs[:_REFS_OF_OTHERS]], asking.services.clock())


async def _of_others(asking: Changing, ref: ContentRef) -> RefOfOthers:
    try:
        about = await read_about(asking.store, asking.project_id, ref, _RUNS_OF_A_REF, None)
    except ContentMissing:  # it is gone since
        return {"ref": ref, "runs": []}
    return {"ref": ref, "runs": [item["run"] for item in about["items"]]}


def _about(row: ForgettingRow, of_others: list[RefOfOthers], now_ns: int) -> Forgetting:
    report = row.report
    is_held = row.held_until_ns is not None and row.held_until_ns > now_ns
    is_complete = row.completed_ns is not None
    return {
        "id": row.job.hex,
        "phase": row.phase,
        "requested": rfc3339(row.requested_ns),
        "completed": None if row.completed_ns is None else rfc3339(row.completed_ns),
        "requested_by": row.requested_by,
        "run_count": row.runs,
        "runs": report.get("runs", []),
        "conversations": row.conversations,
        "candidates": row.candidates,
        "contents": row.contents,
        "of_others": row.of_others,
        "refs_of_others": of_others,
        "named_again": max(0, row.candidates - row.contents - row.of_others) if is_complete else 0,
        "contents_until": rfc3339(row.held_until_ns) if row.held_until_ns is not None and is_held else None,
        "runs_of_several_users": report.get("of_several_users", []),
        "kept_for_forks": report.get("kept_for_forks", []),
        "forwarded": report.get("forwarded", {}),
        "not_forwarded": report.get("not_forwarded", {}),
        "advice": [*_forwarded_advice(report.get("forwarded", {})), *_COPIES],
    }


def _forwarded_advice(forwarded: dict[str, int]) -> list[str]:
    if not forwarded:
        return []
    return [f"Destinations have copies ({', '.join(sorted(forwarded))}): delete the runs there."]


def _forgetter(asking: Changing) -> "Forgetter":
    forgetter = asking.services.forgetter
    assert forgetter is not None  # noqa: S101 - without one, these operations have no route
    return forgetter

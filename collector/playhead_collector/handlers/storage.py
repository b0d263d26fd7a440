"""Handlers of the amount of stored data, and of its deletion."""

from typing import TYPE_CHECKING

from playhead.wire.operations.storage import Collected, DeletedRuns, Storage, StorageOperations
from playhead_collector.access import FIRST_PROJECT
from playhead_collector.errors import Refused
from playhead_collector.handlers.asking import Changing
from playhead_collector.handlers.handling import changes, handles_with_store
from playhead_collector.read.record import LAST, run_named
from playhead_collector.read.storage import read_storage

if TYPE_CHECKING:
    from playhead_collector.retain.sweeper import Sweeper

_MAX_NAMED = 5


@handles_with_store(StorageOperations.storage)
async def storage(asking: Changing) -> Storage:
    access = asking.request.access
    is_of_all = access.is_operator or access.project_id == FIRST_PROJECT
    return await read_storage(asking.store.storage, access.project_id, with_database=is_of_all)


@changes(StorageOperations.delete_run)
async def delete_run(asking: Changing, run: str, *, forks: bool = False) -> DeletedRuns:
    if run.strip().lower() == LAST:
        message = "`last` may be another run by now: name the one to delete by its id, or a part of it"
        raise Refused(400, "bad_request", message)
    await asking.catch_up()  # forks are known only after they are projected
    named = await run_named(asking.store, asking.project_id, run)
    deleted = await asking.store.garbage.delete_run(asking.project_id, named, forks=forks)
    if deleted.forks:
        names = ", ".join(deleted.forks[:_MAX_NAMED])
        more = f" and {len(deleted.forks) - _MAX_NAMED} more" if len(deleted.forks) > _MAX_NAMED else ""
        message = f"runs were forked from {named} and share its record ({names}{more}): delete them first, or add "
        raise Refused(409, "has_forks", message + "forks=true (`playhead delete --forks`) to delete all of them")
    if not deleted.runs:
        raise Refused(404, "no_such_run", f"there is no run {named!r}: `playhead runs` lists them")
    return {"deleted": list(deleted.runs), "content_after_seconds": _sweeper(asking).grace_s}


@changes(StorageOperations.collect_garbage)
async def collect_garbage(asking: Changing) -> Collected:
    swept = await _sweeper(asking).sweep_now(asking.project_id)
    return {"phase": swept.phase, "contents": swept.contents, "thread_nodes": swept.nodes}


def _sweeper(asking: Changing) -> "Sweeper":
    sweeper = asking.services.sweeper
    assert sweeper is not None  # noqa: S101 - without one, these operations have no route
    return sweeper

"""Routes for the amount of stored data, and for its deletion: of a run, and of content that no run refers to.

Routes that delete need the scope `admin`.
"""

from typing import Annotated

from fastapi import Query, Response

from playhead.wire.operations.storage import Collected, DeletedRuns, Storage
from playhead_collector.errors import Refused
from playhead_collector.read.record import LAST, RunProjector, run_named
from playhead_collector.read.storage import read_storage
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.serve import routing
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routing import ApiRoutes, conflict, get, schema
from playhead_collector.store.ports import Store


class StorageRoutes:
    """Handler of the request."""

    def __init__(self, store: Store, project_id: int) -> None:
        self._store, self._project_id = store, project_id

    async def storage(self) -> Response:
        """How much is stored, by kind: contents, their bytes, and the inline bytes that they stand for.

        Each number says whether it is exact. Estimates come from Postgres' counters and from samples, so that the
        question costs the same however much is stored.
        """
        return json_answer(await read_storage(self._store, self._project_id))


def add_routes(api: ApiRoutes, store: Store, project_id: int) -> None:
    """Registers the operation of this file."""
    get(api, "content", "/storage", StorageRoutes(store, project_id).storage, Storage)


_MAX_NAMED = 5
Forks = Annotated[bool, Query(description="Also delete the runs that were forked from it.")]


class DeletionRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, store: Store, runner: RunProjector, project_id: int, sweeper: Sweeper) -> None:
        self._store, self._runner, self._project_id, self._sweeper = store, runner, project_id, sweeper

    async def delete_run(self, run: routing.RunId, forks: Forks = False) -> Response:
        """Delete a run and its record. 409 when it has forks, which share its record, and `forks` is false.

        Spans of the run that arrive later are dropped. Content that no other run refers to is deleted after a grace
        period. `last` is refused, because the last run may have changed since the caller looked.
        """
        if run.strip().lower() == LAST:
            message = "`last` may be another run by now: name the one to delete by its id, or a part of it"
            raise Refused(400, "bad_request", message)
        await self._runner.catch_up()  # forks are known only after they are projected
        named = await run_named(self._store, self._project_id, run)
        deleted = await self._store.delete_run(self._project_id, named, forks=forks)
        if deleted.forks:
            names = ", ".join(deleted.forks[:_MAX_NAMED])
            more = f" and {len(deleted.forks) - _MAX_NAMED} more" if len(deleted.forks) > _MAX_NAMED else ""
            message = f"runs were forked from {named} and share its record ({names}{more}): delete them first, or add "
            raise Refused(409, "has_forks", message + "forks=true (`playhead delete --forks`) to delete all of them")
        if not deleted.runs:
            raise Refused(404, "no_such_run", f"there is no run {named!r}: `playhead runs` lists them")
        answer: DeletedRuns = {"deleted": list(deleted.runs), "content_after_seconds": self._sweeper.grace_s}
        return json_answer(answer)

    async def collect_garbage(self) -> Response:
        """Delete content that no run refers to. One request works for a few seconds at most.

        Repeat it until `phase` is null. The collector also does this by itself after runs were deleted.
        """
        swept = await self._sweeper.sweep_now(self._project_id)
        answer: Collected = {"phase": swept.phase, "contents": swept.contents, "thread_nodes": swept.nodes}
        return json_answer(answer)


_FORKED = "The run has forks, which share its record. The message names some of them."


def add_deletion_routes(api: ApiRoutes, store: Store, runner: RunProjector, project_id: int, sweeper: Sweeper) -> None:
    """Registers the operations of this file."""
    routes, answer = DeletionRoutes(store, runner, project_id, sweeper), schema(DeletedRuns)
    deleted = api.delete("/runs/{run}", tags=["runs"], response_model=answer, responses=conflict(_FORKED))
    deleted(routes.delete_run)
    api.post("/gc", tags=["content"], response_model=schema(Collected))(routes.collect_garbage)

"""Deletion over HTTP.  All of it needs the scope `admin`."""

from typing import Annotated

from fastapi import APIRouter, Query, Response

from playhead.wire.answers.deletion import Collected, DeletedRuns
from playhead_collector.errors import Refused
from playhead_collector.read.record import RunProjector
from playhead_collector.read.run_names import LAST, run_named
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.serve.responses import json_answer
from playhead_collector.serve.routes import params as p
from playhead_collector.serve.routes.registering import conflict
from playhead_collector.serve.schemas import schema
from playhead_collector.store.ports import Store

_MAX_NAMED = 5
Forks = Annotated[bool, Query(description="Delete the runs that were forked from it, too.")]


class DeletionRoutes:
    """Handlers; their docstrings are what OpenAPI says about them."""

    def __init__(self, store: Store, runner: RunProjector, project: int, sweeper: Sweeper) -> None:
        self._store, self._runner, self._project, self._sweeper = store, runner, project, sweeper

    async def delete_run(self, run: p.RunId, forks: Forks = False) -> Response:
        """Delete a run with all that is stored of it, at once; 409 when it has forks, which share its record.

        Spans of it that arrive later are dropped. Content that no other run names goes after a grace period. `last` is
        refused: it may be another run by now.
        """
        if run.strip().lower() == LAST:
            message = "`last` may be another run by now: name the one to delete by its id, or a part of it"
            raise Refused(400, "bad_request", message)
        await self._runner.catch_up()  # a fork is known as one when it is projected
        named = await run_named(self._store, self._project, run)
        deleted = await self._store.delete_run(self._project, named, forks=forks)
        if deleted.forks:
            some = ", ".join(deleted.forks[:_MAX_NAMED])
            more = f" and {len(deleted.forks) - _MAX_NAMED} more" if len(deleted.forks) > _MAX_NAMED else ""
            message = f"runs were forked from {named} and share its record ({some}{more}): delete them first, or add "
            raise Refused(409, "has_forks", message + "forks=true (`playhead delete --forks`) to delete all of them")
        if not deleted.runs:
            raise Refused(404, "no_such_run", f"there is no run {named!r}: `playhead runs` lists them")
        answer: DeletedRuns = {"deleted": list(deleted.runs), "content_after_seconds": self._sweeper.grace_s}
        return json_answer(answer)

    async def collect_garbage(self) -> Response:
        """Make some steps of the collection of content that no run names any more, up to a few seconds of them.

        Call again until `phase` is null. The collector does this by itself when runs were deleted.
        """
        swept = await self._sweeper.sweep_now(self._project)
        answer: Collected = {"phase": swept.phase, "contents": swept.contents, "thread_nodes": swept.nodes}
        return json_answer(answer)


_FORKED = "Runs were forked from it, which share its record; the message names some."


def add_routes(api: APIRouter, store: Store, runner: RunProjector, project: int, sweeper: Sweeper) -> None:
    """Registers the operations of this file."""
    routes, answer = DeletionRoutes(store, runner, project, sweeper), schema(DeletedRuns)
    deleted = api.delete("/runs/{run}", tags=["runs"], response_model=answer, responses=conflict(_FORKED))
    deleted(routes.delete_run)
    api.post("/gc", tags=["content"], response_model=schema(Collected))(routes.collect_garbage)

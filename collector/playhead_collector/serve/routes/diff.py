"""[serve]: route for the difference between two moments of a run."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from playhead.wire.operations.moments import Diff
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routes import params
from playhead_collector.serve.routes.registering import get

_MOMENT = r"^[^\x00]*$"
From = Annotated[
    str | None,
    Query(alias="from", max_length=300, pattern=_MOMENT, description=f"{params.MOMENT}; default: the first."),
]
To = Annotated[
    str | None,
    Query(alias="to", max_length=300, pattern=_MOMENT, description=f"{params.MOMENT}; default: the last."),
]


class DiffRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, asking: AnalysisHandlers) -> None:
        self._asking = asking

    async def diff(
        self, request: Request, run: params.RunId, before: From = None, after: To = None, hydrate: params.Hydrate = True
    ) -> Response:
        """Differences in the state and in the model's context between the events `from` and `to`.

        `to` may be earlier than `from`. Applied to the state and messages at `from`, the answer gives those at `to`.
        """
        return await self._asking.answer(request, "diff", run, before=before, after=after, hydrate=hydrate)


def add_routes(api: APIRouter, asking: AnalysisHandlers) -> None:
    """Registers the operations of this file."""
    get(api, "moments", "/runs/{run}/diff", DiffRoutes(asking).diff, Diff)

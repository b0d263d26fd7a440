"""[serve]: route for causes and effects of an event."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from playhead.wire.operations.why import CausalGraph
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routes import params
from playhead_collector.serve.routes.registering import get

Direction = Annotated[
    Literal["back", "forward", "both"],
    Query(description="`back`: causes of the event; `forward`: its effects."),
]


class CausesRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, asking: AnalysisHandlers) -> None:
        self._asking = asking

    async def causes(
        self, request: Request, run: params.RunId, seq: params.AtEvent, direction: Direction = "both"
    ) -> Response:
        """Causes of an event, back to the user's messages, and its effects: nodes and edges of a graph."""
        return await self._asking.answer(request, "causes", run, at=seq, direction=direction)


def add_routes(api: APIRouter, asking: AnalysisHandlers) -> None:
    """Registers the operations of this file."""
    get(api, "why", "/runs/{run}/causes/{seq}", CausesRoutes(asking).causes, CausalGraph)

"""[serve]: what an event rests on, and what rested on it"""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response

from playhead.wire.answers.analysis.causes import CausalGraph
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routes import params as p
from playhead_collector.serve.routes.registering import get

Direction = Annotated[
    Literal["back", "forward", "both"],
    Query(description="`back`: what it rests on; `forward`: what rested on it."),
]


class CausesRoutes:
    """Handlers; their docstrings are what OpenAPI says about them."""

    def __init__(self, asking: AnalysisHandlers) -> None:
        self._asking = asking

    async def causes(self, request: Request, run: p.RunId, seq: p.AtEvent, direction: Direction = "both") -> Response:
        """What the event rests on, back to the user's words, and what rested on it: nodes and edges of a graph."""
        return await self._asking.answer(request, "causes", run, at=seq, direction=direction)


def add_routes(api: APIRouter, asking: AnalysisHandlers) -> None:
    """Registers the operations of this file."""
    get(api, "why", "/runs/{run}/causes/{seq}", CausesRoutes(asking).causes, CausalGraph)

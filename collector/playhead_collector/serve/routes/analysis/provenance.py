"""[serve]: routes for the reasons of tool calls and the origins of their arguments."""

from fastapi import APIRouter, Request, Response

from playhead.wire import operations
from playhead.wire.operations.why import Attribution
from playhead_collector.read.paging import read_seq
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routes import params
from playhead_collector.serve.routes.registering import get


class ProvenanceRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, asking: AnalysisHandlers) -> None:
        self._asking = asking

    async def attributions(
        self, request: Request, run: params.RunId, limit: params.Limit = 100, cursor: params.Cursor = None
    ) -> Response:
        """Reason of each tool call, and origin of every value in its arguments."""
        return await self._asking.answer(request, "attributions", run, limit=limit, after=read_seq(cursor))

    async def attribution(self, request: Request, run: params.RunId, seq: params.AtEvent) -> Response:
        """Reason of the tool call that the event belongs to, and origin of every value in its arguments."""
        return await self._asking.answer(request, "attribution", run, at=seq)


def add_routes(api: APIRouter, asking: AnalysisHandlers) -> None:
    """Registers the operations of this file."""
    routes = ProvenanceRoutes(asking)
    get(api, "why", "/runs/{run}/attributions", routes.attributions, operations.Page[Attribution])
    get(api, "why", "/runs/{run}/attributions/{seq}", routes.attribution, Attribution)

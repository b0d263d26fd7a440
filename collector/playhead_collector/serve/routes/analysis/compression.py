"""[serve]: routes for compressions of contexts and the facts lost in them."""

from fastapi import APIRouter, Request, Response

from playhead.wire import operations
from playhead.wire.operations.compression import Compression, CompressionAudit
from playhead_collector.read.paging import read_seq
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routes import params
from playhead_collector.serve.routes.registering import get


class CompressionRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, asking: AnalysisHandlers) -> None:
        self._asking = asking

    async def compressions(
        self, request: Request, run: params.RunId, limit: params.Limit = 100, cursor: params.Cursor = None
    ) -> Response:
        """Compressions of contexts, declared or inferred, with counts of messages and tokens before and after."""
        return await self._asking.answer(request, "compressions", run, limit=limit, after=read_seq(cursor))

    async def compression(
        self,
        request: Request,
        run: params.RunId,
        seq: params.AtEvent,
    ) -> Response:
        """Audit of a compression: what happened to each message, which facts were lost and needed later."""
        return await self._asking.answer(request, "compression", run, at=seq)


def add_routes(api: APIRouter, asking: AnalysisHandlers) -> None:
    """Registers the operations of this file."""
    routes = CompressionRoutes(asking)
    get(api, "moments", "/runs/{run}/compressions", routes.compressions, operations.Page[Compression])
    get(api, "moments", "/runs/{run}/compressions/{seq}", routes.compression, CompressionAudit)

"""[serve]: compressions of contexts, and what they dropped"""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from playhead.wire import answers as a
from playhead.wire.answers.analysis.compression import Compression, CompressionAudit
from playhead_collector.read.paging import read_seq
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routes import params as p
from playhead_collector.serve.routes.registering import get


class CompressionRoutes:
    """Handlers; their docstrings are what OpenAPI says about them."""

    def __init__(self, asking: AnalysisHandlers) -> None:
        self._asking = asking

    async def compressions(
        self, request: Request, run: p.RunId, limit: p.Limit = 100, cursor: p.Cursor = None
    ) -> Response:
        """Where contexts lost messages, declared or not: how many were kept, summarised and dropped, and tokens."""
        return await self._asking.answer(request, "compressions", run, limit=limit, after=read_seq(cursor))

    async def compression(
        self,
        request: Request,
        run: p.RunId,
        seq: Annotated[str, Path(max_length=300, description="A seq or an event id.")],
    ) -> Response:
        """What became of every message, which facts were lost, and which of these were needed later."""
        return await self._asking.answer(request, "compression", run, at=seq)


def add_routes(api: APIRouter, asking: AnalysisHandlers) -> None:
    """Registers the operations of this file."""
    routes = CompressionRoutes(asking)
    get(api, "moments", "/runs/{run}/compressions", routes.compressions, a.Page[Compression])
    get(api, "moments", "/runs/{run}/compressions/{seq}", routes.compression, CompressionAudit)

"""[serve]: route for the comparison of two runs."""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from playhead.wire.operations.compare import Comparison
from playhead_collector.read.paging import read_seq
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routes import params
from playhead_collector.serve.routes.registering import get


class CompareRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, asking: AnalysisHandlers) -> None:
        self._asking = asking

    async def compare(
        self,
        request: Request,
        a: params.RunId,
        b: Annotated[str, Path(description="The other run: 32 hex digits.")],
        limit: params.Limit = 100,
        cursor: params.Cursor = None,
    ) -> Response:
        """Comparison of two runs: common beginning, first difference, pairs of corresponding calls, outcomes.

        `items` are the pairs after the common beginning. Ids of tool calls are not compared.
        """
        return await self._asking.answer(request, "compare", a, b, limit=limit, after=read_seq(cursor))


def add_routes(api: APIRouter, asking: AnalysisHandlers) -> None:
    """Registers the operations of this file."""
    get(api, "runs", "/runs/{a}/compare/{b}", CompareRoutes(asking).compare, Comparison)

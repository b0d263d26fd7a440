"""[serve]: how two runs differ"""

from typing import Annotated

from fastapi import APIRouter, Path, Request, Response

from playhead.wire.answers.analysis.compare import Comparison
from playhead_collector.read.paging import read_seq
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routes import params as p
from playhead_collector.serve.routes.registering import get


class CompareRoutes:
    """Handlers; their docstrings are what OpenAPI says about them."""

    def __init__(self, asking: AnalysisHandlers) -> None:
        self._asking = asking

    async def compare(
        self,
        request: Request,
        a: p.RunId,
        b: Annotated[str, Path(description="The other run: 32 hex digits.")],
        limit: p.Limit = 100,
        cursor: p.Cursor = None,
    ) -> Response:
        """How two runs differ: what they have in common, where they part, which calls stand for which, what came of it.

        `items` are the pairs behind the common part; ids of tool calls make no difference.
        """
        return await self._asking.answer(request, "compare", a, b, limit=limit, after=read_seq(cursor))


def add_routes(api: APIRouter, asking: AnalysisHandlers) -> None:
    """Registers the operations of this file."""
    get(api, "runs", "/runs/{a}/compare/{b}", CompareRoutes(asking).compare, Comparison)

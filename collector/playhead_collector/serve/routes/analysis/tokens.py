"""[serve]: tokens and cost of a run's contexts"""

from fastapi import APIRouter, Request, Response

from playhead.wire import answers as a
from playhead_collector.read.paging import read_seq
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routes import params as p
from playhead_collector.serve.routes.registering import get


class TokensRoutes:
    """Handlers; their docstrings are what OpenAPI says about them."""

    def __init__(self, asking: AnalysisHandlers) -> None:
        self._asking = asking

    async def tokens(self, request: Request, run: p.RunId, limit: p.Limit = 1_000, cursor: p.Cursor = None) -> Response:
        """How contexts grew, against their models' limits; compressions; usage, cost and the share of cached input.

        A number of tokens says what it rests on: reported, calibrated or estimated.
        """
        return await self._asking.answer(request, "tokens", run, limit=limit, after=read_seq(cursor))


def add_routes(api: APIRouter, asking: AnalysisHandlers) -> None:
    """Registers the operations of this file."""
    get(api, "runs", "/runs/{run}/tokens", TokensRoutes(asking).tokens, a.TokenTimeline)

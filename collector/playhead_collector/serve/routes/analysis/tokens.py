"""[serve]: route for tokens and cost of a run's contexts."""

from typing import Annotated

from fastapi import APIRouter, Query, Request, Response

from playhead.wire import operations
from playhead_collector.read.paging import read_seq
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routes import params
from playhead_collector.serve.routes.registering import get

Split = Annotated[
    bool, Query(description="Also what the contexts consist of: system, tools, history, retrieved; and the output.")
]


class TokensRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, asking: AnalysisHandlers) -> None:
        self._asking = asking

    async def tokens(
        self,
        request: Request,
        run: params.RunId,
        limit: params.Limit = 1_000,
        cursor: params.Cursor = None,
        split: Split = False,
    ) -> Response:
        """Sizes of the contexts in tokens, limits of the models, compressions, usage, cost, share of cached input.

        Each number of tokens has a basis: reported, calibrated or estimated.
        """
        return await self._asking.answer(request, "tokens", run, limit=limit, after=read_seq(cursor), split=split)


def add_routes(api: APIRouter, asking: AnalysisHandlers) -> None:
    """Registers the operations of this file."""
    get(api, "runs", "/runs/{run}/tokens", TokensRoutes(asking).tokens, operations.TokenTimeline)

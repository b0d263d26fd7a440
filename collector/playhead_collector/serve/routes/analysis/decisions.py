"""[serve]: decisions of the agent"""

from fastapi import APIRouter, Request, Response

from playhead.wire import answers as a
from playhead.wire.answers.analysis.decisions import Decision, DecisionDetail
from playhead_collector.read.paging import read_seq
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routes import params as p
from playhead_collector.serve.routes.registering import get


class DecisionsRoutes:
    """Handlers; their docstrings are what OpenAPI says about them."""

    def __init__(self, asking: AnalysisHandlers) -> None:
        self._asking = asking

    async def decisions(
        self, request: Request, run: p.RunId, limit: p.Limit = 100, cursor: p.Cursor = None
    ) -> Response:
        """Where the agent chose: tools, their arguments, answers, handoffs, approvals, branches, to stop."""
        return await self._asking.answer(request, "decisions", run, limit=limit, after=read_seq(cursor))

    async def decision(self, request: Request, run: p.RunId, seq: p.AtEvent) -> Response:
        """A decision with the context before it, what else was open, and why.

        `elsewhere` lists what other model calls with exactly this context answered.  An event that is no decision means
        the one made in the call that it is part of.
        """
        return await self._asking.answer(request, "decision", run, at=seq)


def add_routes(api: APIRouter, asking: AnalysisHandlers) -> None:
    """Registers the operations of this file."""
    routes = DecisionsRoutes(asking)
    get(api, "why", "/runs/{run}/decisions", routes.decisions, a.Page[Decision])
    get(api, "why", "/runs/{run}/decisions/{seq}", routes.decision, DecisionDetail)

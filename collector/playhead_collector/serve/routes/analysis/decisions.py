"""[serve]: routes for the decisions of agents."""

from fastapi import APIRouter, Request, Response

from playhead.wire import operations
from playhead.wire.operations.why import Decision, DecisionDetail, DecisionTree
from playhead_collector.read.paging import read_seq
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routes import params
from playhead_collector.serve.routes.registering import get


class DecisionsRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, asking: AnalysisHandlers) -> None:
        self._asking = asking

    async def decisions(
        self, request: Request, run: params.RunId, limit: params.Limit = 100, cursor: params.Cursor = None
    ) -> Response:
        """Decisions of the agents: tools, tool arguments, answers, handoffs, approvals, branches, stops."""
        return await self._asking.answer(request, "decisions", run, limit=limit, after=read_seq(cursor))

    async def decision(self, request: Request, run: params.RunId, seq: params.AtEvent) -> Response:
        """A decision with its context, the other options, and the reasons for it.

        `elsewhere` lists the answers of other model calls with exactly this context. For an event that is not a
        decision: the decision made in the call that the event belongs to.
        """
        return await self._asking.answer(request, "decision", run, at=seq)

    async def tree(
        self, request: Request, run: params.RunId, limit: params.Limit = 100, cursor: params.Cursor = None
    ) -> Response:
        """The path of decisions that the run took, the options that were left, and the runs that went another way.

        Those are its forks, the runs above it, and runs with a model call that had exactly the same context; each with
        its first choice and its outcome.
        """
        return await self._asking.answer(request, "tree", run, limit=limit, after=read_seq(cursor))


def add_routes(api: APIRouter, asking: AnalysisHandlers) -> None:
    """Registers the operations of this file."""
    routes = DecisionsRoutes(asking)
    get(api, "why", "/runs/{run}/decisions", routes.decisions, operations.Page[Decision])
    get(api, "why", "/runs/{run}/decisions/{seq}", routes.decision, DecisionDetail)
    get(api, "why", "/runs/{run}/tree", routes.tree, DecisionTree)

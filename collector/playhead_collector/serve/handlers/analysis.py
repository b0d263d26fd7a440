"""Routes of questions that [workers] compute: about one run, about two, and about many.

About one run: the difference between two moments, compressions and the facts lost in them, tokens and cost, decisions
and the options that were left, reasons of tool calls and origins of their arguments, causes and effects of an event.
"""

from typing import Annotated, Literal

from fastapi import Path, Query, Request, Response

from playhead.wire import operations
from playhead.wire.operations.compare import Comparison
from playhead.wire.operations.compression import Compression, CompressionAudit
from playhead.wire.operations.moments import Diff
from playhead.wire.operations.why import Attribution, CausalGraph, Decision, DecisionDetail, DecisionTree
from playhead_collector.read.paging import read_seq
from playhead_collector.serve import routing
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routing import ApiRoutes, get

From = Annotated[
    str | None,
    Query(alias="from", max_length=300, pattern=routing.NO_NUL, description=f"{routing.MOMENT}; default: the first."),
]
To = Annotated[
    str | None,
    Query(alias="to", max_length=300, pattern=routing.NO_NUL, description=f"{routing.MOMENT}; default: the last."),
]
Split = Annotated[
    bool, Query(description="Also what the contexts consist of: system, tools, history, retrieved; and the output.")
]
Direction = Annotated[
    Literal["back", "forward", "both"],
    Query(description="`back`: causes of the event; `forward`: its effects."),
]


class RunAnalysisRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, analysis: AnalysisHandlers) -> None:
        self._analysis = analysis

    async def diff(
        self,
        request: Request,
        run: routing.RunId,
        before: From = None,
        after: To = None,
        hydrate: routing.Hydrate = True,
    ) -> Response:
        """Differences in the state and in the model's context between the events `from` and `to`.

        `to` may be earlier than `from`. Applied to the state and messages at `from`, the answer gives those at `to`.
        """
        return await self._analysis.answer(request, "diff", run, before=before, after=after, hydrate=hydrate)

    async def compare(
        self,
        request: Request,
        a: routing.RunId,
        b: Annotated[str, Path(description="The other run: 32 hex digits.")],
        limit: routing.Limit = 100,
        cursor: routing.Cursor = None,
    ) -> Response:
        """Comparison of two runs: common beginning, first difference, pairs of corresponding calls, outcomes.

        `items` are the pairs after the common beginning. Ids of tool calls are not compared.
        """
        return await self._analysis.answer(request, "compare", a, b, limit=limit, after=read_seq(cursor))

    async def compressions(
        self, request: Request, run: routing.RunId, limit: routing.Limit = 100, cursor: routing.Cursor = None
    ) -> Response:
        """Compressions of contexts, declared or inferred, with counts of messages and tokens before and after."""
        return await self._analysis.answer(request, "compressions", run, limit=limit, after=read_seq(cursor))

    async def compression(
        self,
        request: Request,
        run: routing.RunId,
        seq: routing.AtEvent,
    ) -> Response:
        """Audit of a compression: what happened to each message, which facts were lost and needed later."""
        return await self._analysis.answer(request, "compression", run, at=seq)

    async def tokens(
        self,
        request: Request,
        run: routing.RunId,
        limit: routing.Limit = 1_000,
        cursor: routing.Cursor = None,
        split: Split = False,
    ) -> Response:
        """Sizes of the contexts in tokens, limits of the models, compressions, usage, cost, share of cached input.

        Each number of tokens has a basis: reported, calibrated or estimated.
        """
        return await self._analysis.answer(request, "tokens", run, limit=limit, after=read_seq(cursor), split=split)

    async def decisions(
        self, request: Request, run: routing.RunId, limit: routing.Limit = 100, cursor: routing.Cursor = None
    ) -> Response:
        """Decisions of the agents: tools, tool arguments, answers, handoffs, approvals, branches, stops."""
        return await self._analysis.answer(request, "decisions", run, limit=limit, after=read_seq(cursor))

    async def decision(self, request: Request, run: routing.RunId, seq: routing.AtEvent) -> Response:
        """A decision with its context, the other options, and the reasons for it.

        `elsewhere` lists the answers of other model calls with exactly this context. For an event that is not a
        decision: the decision made in the call that the event belongs to.
        """
        return await self._analysis.answer(request, "decision", run, at=seq)

    async def tree(
        self, request: Request, run: routing.RunId, limit: routing.Limit = 100, cursor: routing.Cursor = None
    ) -> Response:
        """The path of decisions that the run took, the options that were left, and the runs that went another way.

        Those are its forks, the runs above it, and runs with a model call that had exactly the same context; each with
        its first choice and its outcome.
        """
        return await self._analysis.answer(request, "tree", run, limit=limit, after=read_seq(cursor))

    async def attributions(
        self, request: Request, run: routing.RunId, limit: routing.Limit = 100, cursor: routing.Cursor = None
    ) -> Response:
        """Reason of each tool call, and origin of every value in its arguments."""
        return await self._analysis.answer(request, "attributions", run, limit=limit, after=read_seq(cursor))

    async def attribution(self, request: Request, run: routing.RunId, seq: routing.AtEvent) -> Response:
        """Reason of the tool call that the event belongs to, and origin of every value in its arguments."""
        return await self._analysis.answer(request, "attribution", run, at=seq)

    async def causes(
        self, request: Request, run: routing.RunId, seq: routing.AtEvent, direction: Direction = "both"
    ) -> Response:
        """Causes of an event, back to the user's messages, and its effects: nodes and edges of a graph."""
        return await self._analysis.answer(request, "causes", run, at=seq, direction=direction)


# --- registration ----------------------------------------------------------------------------------------------------


def add_routes(api: ApiRoutes, analysis: AnalysisHandlers) -> None:
    """Registers the operations of this file."""
    routes = RunAnalysisRoutes(analysis)
    get(api, "moments", "/runs/{run}/diff", routes.diff, Diff)
    get(api, "runs", "/runs/{a}/compare/{b}", routes.compare, Comparison)
    get(api, "moments", "/runs/{run}/compressions", routes.compressions, operations.Page[Compression])
    get(api, "moments", "/runs/{run}/compressions/{seq}", routes.compression, CompressionAudit)
    get(api, "runs", "/runs/{run}/tokens", routes.tokens, operations.TokenTimeline)
    get(api, "why", "/runs/{run}/decisions", routes.decisions, operations.Page[Decision])
    get(api, "why", "/runs/{run}/decisions/{seq}", routes.decision, DecisionDetail)
    get(api, "why", "/runs/{run}/tree", routes.tree, DecisionTree)
    get(api, "why", "/runs/{run}/attributions", routes.attributions, operations.Page[Attribution])
    get(api, "why", "/runs/{run}/attributions/{seq}", routes.attribution, Attribution)
    get(api, "why", "/runs/{run}/causes/{seq}", routes.causes, CausalGraph)

"""Routes of questions that [workers] compute: about one run, about two, and about many.

About one run: the difference between two moments, compressions and the facts lost in them, tokens and cost, decisions
and the options that were left, reasons of tool calls and origins of their arguments, causes and effects of an event.
"""

from typing import Annotated, Any, Literal

from fastapi import Depends, Path, Query, Request, Response

from playhead.wire import operations
from playhead.wire.operations import across
from playhead.wire.operations.compare import Comparison
from playhead.wire.operations.compression import Compression, CompressionAudit
from playhead.wire.operations.moments import Diff
from playhead.wire.operations.why import Attribution, CausalGraph, Decision, DecisionDetail, DecisionTree
from playhead_collector.analysis.across.cohort import cohort_options
from playhead_collector.read.paging import read_seq
from playhead_collector.read.scores import read_outcome
from playhead_collector.serve import routing
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routing import ApiRoutes, get
from playhead_collector.store.ports.runs import RunFilter
from playhead_collector.workers.questions import AnalysisQuestion

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


# --- questions about many runs ---------------------------------------------------------------------------------------

_NOT_EMPTY = r"^[^\x00]+$"
# A run's facts take a kilobyte of memory; reading the calls of a run takes some milliseconds.
_MAX_RUNS, _MAX_RUNS_READ = 10_000, 1_000
_OUTCOME = "When a run has succeeded: a score as NAME, NAME=VALUE or NAME>=NUMBER; default: when it completed."
Outcome = Annotated[str | None, Query(max_length=500, pattern=_NOT_EMPTY, description=_OUTCOME)]
Runs = Annotated[int, Query(ge=1, le=_MAX_RUNS, description="How many runs are looked at, at most: the newest.")]
Read = Annotated[int, Query(ge=1, le=_MAX_RUNS_READ, description="How many runs are read, at most: the newest.")]
Task = Annotated[
    str,
    Query(
        max_length=300,
        pattern=r"^(input|name|session|user|tag:[^\x00]*)$",
        description="What runs of one task have in common: `input`, `name`, `session`, `user`, or `tag:` and what the "
        "tag begins with.",
    ),
]


def chosen(where: routing.RunFilterOf, outcome: Outcome = None) -> tuple[RunFilter, str | None]:
    """Returns the runs that a question is about, and the condition under which a run has succeeded."""
    return where, outcome


Chosen = Annotated[tuple[RunFilter, str | None], Depends(chosen)]


class AnalyticsRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, analysis: AnalysisHandlers) -> None:
        self._analysis = analysis

    async def _answer(self, request: Request, name: str, chosen: Chosen, runs: int, **options: Any) -> Response:
        where, outcome = chosen
        options["cohort"] = cohort_options(where, read_outcome(outcome), runs)
        return await self._analysis.answer_across(request, AnalysisQuestion(name, (), options))

    async def statistics(self, request: Request, chosen: Chosen, runs: Runs = _MAX_RUNS) -> Response:
        """What runs take: turns, tools, tokens, cost, time and context, as mean, p50 and p95; outcomes; use of tools.

        Only runs that have ended; forks are left out.
        """
        return await self._answer(request, "statistics", chosen, runs)

    async def transitions(self, request: Request, chosen: Chosen, runs: Runs = _MAX_RUNS) -> Response:
        """Which tool follows which, how often, in how many runs, and how many of these succeeded."""
        return await self._answer(request, "transitions", chosen, runs)

    async def patterns(
        self, request: Request, chosen: Chosen, runs: Runs = _MAX_RUNS, limit: routing.Limit = 100
    ) -> Response:
        """What is called after which result of which tool, in 5 runs or more, and how the runs end that have it."""
        return await self._answer(request, "patterns", chosen, runs, limit=limit)

    async def differences(
        self, request: Request, chosen: Chosen, runs: Runs = _MAX_RUNS, limit: routing.Limit = 50
    ) -> Response:
        """What distinguishes failed from succeeded runs, by p, corrected for how many features were tested."""
        return await self._answer(request, "differences", chosen, runs, limit=limit)

    async def compression(self, request: Request, chosen: Chosen, runs: Runs = _MAX_RUNS) -> Response:
        """Outcomes of runs by how often their context was compressed."""
        return await self._answer(request, "compression_outcomes", chosen, runs)

    async def failures(
        self, request: Request, chosen: Chosen, runs: Runs = _MAX_RUNS, limit: routing.Limit = 20
    ) -> Response:
        """Failed runs in clusters: those with the same last error and the same last two tool calls."""
        return await self._answer(request, "failures", chosen, runs, limit=limit)

    async def divergences(
        self, request: Request, chosen: Chosen, task: Task = "input", runs: Read = 500, limit: routing.Limit = 20
    ) -> Response:
        """Where succeeded and failed runs of one task part ways, by how much the choice tells about the outcome."""
        return await self._answer(request, "divergences", chosen, runs, task=task, limit=limit)

    async def contents(self, request: Request, chosen: Chosen, runs: Read = 100, limit: routing.Limit = 20) -> Response:
        """The messages that fill contexts most: bytes times how often they were sent."""
        return await self._answer(request, "context_contents", chosen, runs, limit=limit)


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
    many = AnalyticsRoutes(analysis)
    get(api, "analytics", "/analytics/statistics", many.statistics, across.RunStatistics)
    get(api, "analytics", "/analytics/transitions", many.transitions, across.TransitionGraph)
    get(api, "analytics", "/analytics/patterns", many.patterns, across.DecisionPatterns)
    get(api, "analytics", "/analytics/differences", many.differences, across.OutcomeDifferences)
    get(api, "analytics", "/analytics/compression", many.compression, across.CompressionOutcomes)
    get(api, "analytics", "/analytics/failures", many.failures, across.FailureClusters)
    get(api, "analytics", "/analytics/divergences", many.divergences, across.Divergences)
    get(api, "analytics", "/analytics/contents", many.contents, across.ContextContents)

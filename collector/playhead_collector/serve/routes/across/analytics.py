"""Routes for questions across runs."""

from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query, Request, Response

from playhead.wire.operations import across
from playhead_collector.analysis.across.cohort import cohort_options
from playhead_collector.read.scores import read_outcome
from playhead_collector.serve.analysis_pool import AnalysisHandlers
from playhead_collector.serve.routes import params
from playhead_collector.serve.routes.registering import get
from playhead_collector.store.ports.run_filter import RunFilter
from playhead_collector.workers.questions import AnalysisQuestion

_NO_NUL = r"^[^\x00]+$"
# A run's facts take a kilobyte of memory; reading the calls of a run takes some milliseconds.
_MOST, _MOST_READ = 10_000, 1_000
_OUTCOME = "When a run has succeeded: a score as NAME, NAME=VALUE or NAME>=NUMBER; default: when it completed."
Outcome = Annotated[str | None, Query(max_length=500, pattern=_NO_NUL, description=_OUTCOME)]
Runs = Annotated[int, Query(ge=1, le=_MOST, description="How many runs are looked at, at most: the newest.")]
Read = Annotated[int, Query(ge=1, le=_MOST_READ, description="How many runs are read, at most: the newest.")]
Task = Annotated[
    str,
    Query(
        max_length=300,
        pattern=r"^(input|name|session|user|tag:[^\x00]*)$",
        description="What runs of one task have in common: `input`, `name`, `session`, `user`, or `tag:` and what the "
        "tag begins with.",
    ),
]


def chosen(where: params.RunConditions, outcome: Outcome = None) -> tuple[RunFilter, str | None]:
    """Returns the runs that a question is about, and the condition under which a run has succeeded."""
    return where, outcome


Chosen = Annotated[tuple[RunFilter, str | None], Depends(chosen)]


class AnalyticsRoutes:
    """Handlers of the HTTP requests. OpenAPI shows their docstrings as descriptions."""

    def __init__(self, asking: AnalysisHandlers) -> None:
        self._asking = asking

    async def _answer(self, request: Request, name: str, chosen: Chosen, runs: int, **options: Any) -> Response:
        where, outcome = chosen
        options["cohort"] = cohort_options(where, read_outcome(outcome), runs)
        return await self._asking.answer_across(request, AnalysisQuestion(name, (), options))

    async def statistics(self, request: Request, chosen: Chosen, runs: Runs = _MOST) -> Response:
        """What runs take: turns, tools, tokens, cost, time and context, as mean, p50 and p95; outcomes; use of tools.

        Only runs that have ended; forks are left out.
        """
        return await self._answer(request, "statistics", chosen, runs)

    async def transitions(self, request: Request, chosen: Chosen, runs: Runs = _MOST) -> Response:
        """Which tool follows which, how often, in how many runs, and how many of these succeeded."""
        return await self._answer(request, "transitions", chosen, runs)

    async def patterns(
        self, request: Request, chosen: Chosen, runs: Runs = _MOST, limit: params.Limit = 100
    ) -> Response:
        """What is called after which result of which tool, in 5 runs or more, and how the runs end that have it."""
        return await self._answer(request, "patterns", chosen, runs, limit=limit)

    async def differences(
        self, request: Request, chosen: Chosen, runs: Runs = _MOST, limit: params.Limit = 50
    ) -> Response:
        """What distinguishes failed from succeeded runs, by p, corrected for how many features were tested."""
        return await self._answer(request, "differences", chosen, runs, limit=limit)

    async def compression(self, request: Request, chosen: Chosen, runs: Runs = _MOST) -> Response:
        """Outcomes of runs by how often their context was compressed."""
        return await self._answer(request, "compression_outcomes", chosen, runs)

    async def failures(
        self, request: Request, chosen: Chosen, runs: Runs = _MOST, limit: params.Limit = 20
    ) -> Response:
        """Failed runs in clusters: those with the same last error and the same last two tool calls."""
        return await self._answer(request, "failures", chosen, runs, limit=limit)

    async def divergences(
        self, request: Request, chosen: Chosen, task: Task = "input", runs: Read = 500, limit: params.Limit = 20
    ) -> Response:
        """Where succeeded and failed runs of one task part ways, by how much the choice tells about the outcome."""
        return await self._answer(request, "divergences", chosen, runs, task=task, limit=limit)

    async def contents(self, request: Request, chosen: Chosen, runs: Read = 100, limit: params.Limit = 20) -> Response:
        """The messages that fill contexts most: bytes times how often they were sent."""
        return await self._answer(request, "context_contents", chosen, runs, limit=limit)


def add_routes(api: APIRouter, asking: AnalysisHandlers) -> None:
    """Registers the operations of this file."""
    routes = AnalyticsRoutes(asking)
    get(api, "analytics", "/analytics/statistics", routes.statistics, across.RunStatistics)
    get(api, "analytics", "/analytics/transitions", routes.transitions, across.TransitionGraph)
    get(api, "analytics", "/analytics/patterns", routes.patterns, across.DecisionPatterns)
    get(api, "analytics", "/analytics/differences", routes.differences, across.OutcomeDifferences)
    get(api, "analytics", "/analytics/compression", routes.compression, across.CompressionOutcomes)
    get(api, "analytics", "/analytics/failures", routes.failures, across.FailureClusters)
    get(api, "analytics", "/analytics/divergences", routes.divergences, across.Divergences)
    get(api, "analytics", "/analytics/contents", routes.contents, across.ContextContents)

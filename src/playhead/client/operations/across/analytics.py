"""[client]: analyses of many runs."""

from datetime import datetime
from typing import Any, TypedDict, Unpack

from playhead.client.operation import ApiRequest, client_method
from playhead.client.operations.runs import time_text
from playhead.wire.operations import across


class ChosenRuns(TypedDict, total=False):
    """Conditions for the runs to analyse: runs that have ended and meet all conditions, newest first, without forks.

    `outcome`: when a run counts as succeeded: a condition for a score (`resolved`, `quality>=0.5`); default: when it
    completed. `runs`: maximum number of runs.
    """

    agent: str
    status: str
    session: str
    user: str
    tag: str
    model: str
    tool: str
    text: str
    since: str | datetime
    until: str | datetime
    outcome: str
    runs: int


class AnalyticsOperations:
    """Analyses of many runs. All take the conditions of `ChosenRuns`."""

    @client_method
    def statistics(self, **chosen: Unpack[ChosenRuns]) -> ApiRequest[across.RunStatistics]:
        """Statistics of runs: turns, tool calls, tokens, cost, time, context size, outcomes, and use of tools."""
        return ApiRequest("analytics/statistics", _params(chosen))

    @client_method
    def transitions(self, **chosen: Unpack[ChosenRuns]) -> ApiRequest[across.TransitionGraph]:
        """Which tool follows which, how often, and how many of these runs succeeded."""
        return ApiRequest("analytics/transitions", _params(chosen))

    @client_method
    def patterns(self, *, limit: int = 100, **chosen: Unpack[ChosenRuns]) -> ApiRequest[across.DecisionPatterns]:
        """Which tool is called after which result of which tool, in 5 runs or more, and the outcomes of these runs."""
        return ApiRequest("analytics/patterns", _params(chosen, limit=limit))

    @client_method
    def differences(self, *, limit: int = 50, **chosen: Unpack[ChosenRuns]) -> ApiRequest[across.OutcomeDifferences]:
        """Features that distinguish failed from succeeded runs, smallest p first; `q` is p corrected for the number of
        tested features."""
        return ApiRequest("analytics/differences", _params(chosen, limit=limit))

    @client_method
    def compression_outcomes(self, **chosen: Unpack[ChosenRuns]) -> ApiRequest[across.CompressionOutcomes]:
        """Outcomes of runs by how often their context was compressed."""
        return ApiRequest("analytics/compression", _params(chosen))

    @client_method
    def failures(self, *, limit: int = 20, **chosen: Unpack[ChosenRuns]) -> ApiRequest[across.FailureClusters]:
        """Clusters of failed runs with the same last error and the same last two tool calls."""
        return ApiRequest("analytics/failures", _params(chosen, limit=limit))

    @client_method
    def divergences(
        self, *, task: str = "input", limit: int = 20, **chosen: Unpack[ChosenRuns]
    ) -> ApiRequest[across.Divergences]:
        """Points at which succeeded and failed runs of the same task diverge.

        `task`: what runs of the same task have in common: `input`, `name`, `session`, `user`, or `tag:` and the
        beginning of the tag.
        """
        return ApiRequest("analytics/divergences", _params(chosen, task=task, limit=limit))

    @client_method
    def context_contents(self, *, limit: int = 20, **chosen: Unpack[ChosenRuns]) -> ApiRequest[across.ContextContents]:
        """Messages that take most space in contexts: size in bytes, times the number of times that they were sent."""
        return ApiRequest("analytics/contents", _params(chosen, limit=limit))


def _params(chosen: ChosenRuns, **more: Any) -> dict[str, Any]:
    return {**chosen, "since": time_text(chosen.get("since")), "until": time_text(chosen.get("until")), **more}

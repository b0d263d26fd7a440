"""[client]: questions across runs."""

from datetime import datetime
from typing import Any, TypedDict, Unpack

from playhead.client.operation import ApiRequest, client_method
from playhead.client.operations.runs import time_text
from playhead.wire.answers.across import analytics as a


class ChosenRuns(TypedDict, total=False):
    """Which runs are looked at: those that meet all conditions and have ended, newest first, without forks.

    `outcome` says when a run has succeeded: a condition for a score (`resolved`, `quality>=0.5`); default: when it
    completed.  `runs` is how many runs are looked at, at most.
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
    """Questions across runs.  All take the conditions of `ChosenRuns`."""

    @client_method
    def statistics(self, **chosen: Unpack[ChosenRuns]) -> ApiRequest[a.RunStatistics]:
        """What runs take: turns, tools, tokens, cost, time and context; outcomes; use of tools."""
        return ApiRequest("analytics/statistics", _params(chosen))

    @client_method
    def transitions(self, **chosen: Unpack[ChosenRuns]) -> ApiRequest[a.TransitionGraph]:
        """Which tool follows which, how often, and how many of these runs succeeded."""
        return ApiRequest("analytics/transitions", _params(chosen))

    @client_method
    def patterns(self, *, limit: int = 100, **chosen: Unpack[ChosenRuns]) -> ApiRequest[a.DecisionPatterns]:
        """What is called after which result of which tool, in 5 runs or more, and how the runs end that have it."""
        return ApiRequest("analytics/patterns", _params(chosen, limit=limit))

    @client_method
    def differences(self, *, limit: int = 50, **chosen: Unpack[ChosenRuns]) -> ApiRequest[a.OutcomeDifferences]:
        """What distinguishes failed from succeeded runs, by p, corrected for how many features were tested."""
        return ApiRequest("analytics/differences", _params(chosen, limit=limit))

    @client_method
    def compression_outcomes(self, **chosen: Unpack[ChosenRuns]) -> ApiRequest[a.CompressionOutcomes]:
        """Outcomes of runs by how often their context was compressed."""
        return ApiRequest("analytics/compression", _params(chosen))

    @client_method
    def failures(self, *, limit: int = 20, **chosen: Unpack[ChosenRuns]) -> ApiRequest[a.FailureClusters]:
        """Failed runs in clusters: those with the same last error and the same last two tool calls."""
        return ApiRequest("analytics/failures", _params(chosen, limit=limit))

    @client_method
    def divergences(
        self, *, task: str = "input", limit: int = 20, **chosen: Unpack[ChosenRuns]
    ) -> ApiRequest[a.Divergences]:
        """Where succeeded and failed runs of the same task part ways.

        `task`: what runs of one task have in common: `input`, `name`, `session`, `user`, or `tag:` and what the tag
        begins with.
        """
        return ApiRequest("analytics/divergences", _params(chosen, task=task, limit=limit))

    @client_method
    def context_contents(self, *, limit: int = 20, **chosen: Unpack[ChosenRuns]) -> ApiRequest[a.ContextContents]:
        """The messages that fill contexts most: bytes times how often they were sent."""
        return ApiRequest("analytics/contents", _params(chosen, limit=limit))


def _params(chosen: ChosenRuns, **more: Any) -> dict[str, Any]:
    return {**chosen, "since": time_text(chosen.get("since")), "until": time_text(chosen.get("until")), **more}

"""Handlers of questions across runs."""

from typing import Unpack

from playhead.wire.operations.across import (
    MAX_RUNS_READ,
    AcrossOperations,
    CompressionOutcomes,
    CompressionTiming,
    ContextContents,
    DecisionPatterns,
    Divergences,
    FailureClusters,
    OutcomeDifferences,
    RunStatistics,
    TransitionGraph,
)
from playhead.wire.operations.bounds import RunConditions
from playhead_collector.analysis.across.cohort import Cohort, read_cohort
from playhead_collector.analysis.across.compression import compression_outcomes as outcomes_of
from playhead_collector.analysis.across.compression import read_compressed, timing_of
from playhead_collector.analysis.across.contents import answer_context_contents
from playhead_collector.analysis.across.contexts import contexts_with
from playhead_collector.analysis.across.differences import answer_differences
from playhead_collector.analysis.across.divergences import answer_divergences
from playhead_collector.analysis.across.failures import answer_failures
from playhead_collector.analysis.across.statistics import answer_statistics
from playhead_collector.analysis.across.tool_sequences import patterns_of, read_steps, transitions_of
from playhead_collector.handlers.asking import Asking
from playhead_collector.handlers.conditions import run_filter
from playhead_collector.handlers.handling import handles
from playhead_collector.read.scores import read_outcome


async def _cohort(asking: Asking, runs: int, outcome: str | None, where: RunConditions) -> Cohort:
    """Reads the runs that a question is about. Raises Refused."""
    return await read_cohort(asking.store, asking.project_id, run_filter(**where), read_outcome(outcome), runs)


@handles(AcrossOperations.statistics)
async def statistics(
    asking: Asking, *, runs: int = 10_000, outcome: str | None = None, **where: Unpack[RunConditions]
) -> RunStatistics:
    cohort = await _cohort(asking, runs, outcome, where)
    return await answer_statistics(asking.store, asking.project_id, cohort, prices=asking.prices)


@handles(AcrossOperations.transitions)
async def transitions(
    asking: Asking, *, runs: int = 10_000, outcome: str | None = None, **where: Unpack[RunConditions]
) -> TransitionGraph:
    cohort = await _cohort(asking, runs, outcome, where)
    return transitions_of(cohort, await read_steps(asking.store, asking.project_id, cohort.members))


@handles(AcrossOperations.patterns)
async def patterns(
    asking: Asking,
    *,
    runs: int = 10_000,
    limit: int = 100,
    contains: str | None = None,
    outcome: str | None = None,
    **where: Unpack[RunConditions],
) -> DecisionPatterns:
    store, project_id = asking.store, asking.project_id
    if contains is None:
        cohort = await _cohort(asking, runs, outcome, where)
        return patterns_of(cohort, await read_steps(store, project_id, cohort.members), limit)
    cohort = await _cohort(asking, min(runs, MAX_RUNS_READ), outcome, where)
    contexts = {member.run: await contexts_with(store, project_id, member.run, contains) for member in cohort.members}
    return patterns_of(cohort, await read_steps(store, project_id, cohort.members), limit, contexts)


@handles(AcrossOperations.differences)
async def differences(
    asking: Asking,
    *,
    runs: int = 10_000,
    limit: int = 50,
    outcome: str | None = None,
    **where: Unpack[RunConditions],
) -> OutcomeDifferences:
    cohort = await _cohort(asking, runs, outcome, where)
    return await answer_differences(asking.store, asking.project_id, cohort, limit=limit)


@handles(AcrossOperations.compression_outcomes)
async def compression_outcomes(
    asking: Asking, *, runs: int = 10_000, outcome: str | None = None, **where: Unpack[RunConditions]
) -> CompressionOutcomes:
    return outcomes_of(await _cohort(asking, runs, outcome, where))


@handles(AcrossOperations.compression_timing)
async def compression_timing(
    asking: Asking, *, runs: int = 500, outcome: str | None = None, **where: Unpack[RunConditions]
) -> CompressionTiming:
    cohort = await _cohort(asking, runs, outcome, where)
    return timing_of(cohort, await read_compressed(asking.store, asking.project_id, cohort.members))


@handles(AcrossOperations.failures)
async def failures(
    asking: Asking,
    *,
    runs: int = 10_000,
    limit: int = 20,
    outcome: str | None = None,
    **where: Unpack[RunConditions],
) -> FailureClusters:
    cohort = await _cohort(asking, runs, outcome, where)
    return await answer_failures(asking.store, asking.project_id, cohort, limit=limit)


@handles(AcrossOperations.divergences)
async def divergences(
    asking: Asking,
    *,
    task: str = "input",
    runs: int = 500,
    limit: int = 20,
    outcome: str | None = None,
    **where: Unpack[RunConditions],
) -> Divergences:
    cohort = await _cohort(asking, runs, outcome, where)
    return await answer_divergences(asking.store, asking.project_id, cohort, task=task, limit=limit)


@handles(AcrossOperations.context_contents)
async def context_contents(
    asking: Asking, *, runs: int = 100, limit: int = 20, outcome: str | None = None, **where: Unpack[RunConditions]
) -> ContextContents:
    cohort = await _cohort(asking, runs, outcome, where)
    return await answer_context_contents(asking.store, asking.project_id, cohort, limit=limit)

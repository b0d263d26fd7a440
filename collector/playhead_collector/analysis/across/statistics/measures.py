"""How much do runs take: turns, tools, tokens, cost, time, contexts?"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from playhead.projection.run_row import RunRow
from playhead.wire.operations.across import Measured, RunStatistics, ToolUse
from playhead_collector.analysis.across.cohort import Cohort, Member, read_cohort
from playhead_collector.analysis.across.rates import success_rate
from playhead_collector.analysis.across.statistics.percentile import percentile
from playhead_collector.analysis.across.statistics.periods import periods_of
from playhead_collector.analysis.across.steps import FAILED, RETURNED_ERROR, ToolPath, read_steps
from playhead_collector.read.prices import Prices
from playhead_collector.store.ports import ReadStore

_NS: Final = 1e9

MEASURES: Final[Mapping[str, Callable[[RunRow], float | None]]] = {
    "turns": lambda row: row.llm_calls,
    "tool_calls": lambda row: row.tool_calls,
    "errors": lambda row: row.errors,
    "compressions": lambda row: row.compressions,
    "input_tokens": lambda row: row.input_tokens,
    "output_tokens": lambda row: row.output_tokens,
    "context_peak": lambda row: row.context_peak,
    "seconds": lambda row: None if row.ended_ns is None else max(0, row.ended_ns - row.started_ns) / _NS,
}
"""Functions that return a number of a run, by name; None: not known."""


async def answer_statistics(
    store: ReadStore, project_id: int, cohort: Mapping[str, Any], *, prices: Prices
) -> RunStatistics:
    """Returns the statistics of the runs that `cohort` selects."""
    chosen = await read_cohort(store, project_id, cohort)
    return statistics_of(chosen, await read_steps(store, project_id, chosen.members), prices)


def statistics_of(cohort: Cohort, walks: Sequence[ToolPath], prices: Prices) -> RunStatistics:
    """The statistics of these runs.  Pure."""

    def cost(row: RunRow) -> float | None:
        return prices.cost_of(row.usage)

    named = {**MEASURES, "cost": cost}
    measures = {name: measured for name, of in named.items() if (measured := _measured(cohort.members, of))}
    return {
        "population": cohort.population,
        "statuses": dict(Counter(member.row.status for member in cohort.members)),
        "success": success_rate(member.succeeded for member in cohort.members),
        "measures": measures,
        "currency": prices.currency,
        "tools": _tools(walks),
        "periods": periods_of(cohort.members, named),
    }


def _measured(members: Iterable[Member], of: Callable[[RunRow], float | None]) -> Measured | None:
    pairs = [(value, member.run) for member in members if (value := of(member.row)) is not None]
    if not pairs:
        return None
    largest, run = max(pairs)
    ordered = sorted(value for value, _ in pairs)
    return {
        "count": len(ordered),
        "mean": sum(ordered) / len(ordered),
        "p50": percentile(ordered, 0.5),
        "p95": percentile(ordered, 0.95),
        "min": ordered[0],
        "max": largest,
        "sum": sum(ordered),
        "max_run": run,
    }


def _tools(walks: Iterable[ToolPath]) -> list[ToolUse]:
    runs, calls = Counter[str](), Counter[str]()
    ended = Counter[tuple[str, str]]()
    for walk in walks:
        runs.update({step.tool for step in walk.steps})
        calls.update(step.tool for step in walk.steps)
        ended.update((step.tool, step.result) for step in walk.steps)
    return [
        {
            "tool": tool,
            "runs": runs[tool],
            "calls": count,
            "failed": ended[tool, FAILED],
            "returned_error": ended[tool, RETURNED_ERROR],
        }
        for tool, count in sorted(calls.items(), key=lambda item: (-item[1], item[0]))
    ]

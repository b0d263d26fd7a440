"""[analysis]: how much do runs take (turns, tools, tokens, cost, time, contexts), over all and over time?

Over time: the time of the runs is divided into equal parts, and each part is measured.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from playhead.model.times import rfc3339
from playhead.projection.run_row import RunRow
from playhead.wire.operations.across import Measured, Period, PeriodMeasure, RunStatistics, ToolUse
from playhead_collector.analysis.across.cohort import Cohort, Member, success_rate
from playhead_collector.analysis.across.tool_sequences import FAILED, RETURNED_ERROR, ToolPath, read_steps
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


async def answer_statistics(store: ReadStore, project_id: int, cohort: Cohort, *, prices: Prices) -> RunStatistics:
    """Returns the statistics of the runs of `cohort`."""
    return statistics_of(cohort, await read_steps(store, project_id, cohort.members), prices)


def statistics_of(cohort: Cohort, walks: Sequence[ToolPath], prices: Prices) -> RunStatistics:
    """The statistics of these runs.  Pure."""

    def cost(row: RunRow) -> float | None:
        return prices.cost_of(row.usage)

    named = {**MEASURES, "cost": cost}
    measures = {name: measured for name, of in named.items() if (measured := _measure(cohort.members, of))}
    return {
        "population": cohort.population,
        "statuses": dict(Counter(member.row.status for member in cohort.members)),
        "success": success_rate(member.succeeded for member in cohort.members),
        "measures": measures,
        "currency": prices.currency,
        "tools": _tool_uses(walks),
        "periods": periods_of(cohort.members, named),
    }


def _measure(members: Iterable[Member], of: Callable[[RunRow], float | None]) -> Measured | None:
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


def percentile(ordered: Sequence[float], share: float) -> float:
    """The value below which this share (0 to 1) of the numbers lies, interpolated. `ordered`: sorted, not empty."""
    position = (len(ordered) - 1) * share
    low = int(position)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (position - low)


def _tool_uses(walks: Iterable[ToolPath]) -> list[ToolUse]:
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


# --- over time -------------------------------------------------------------------------------------------------------

PERIODS: Final = 24


def periods_of(
    members: Sequence[Member], measures: Mapping[str, Callable[[RunRow], float | None]], count: int = PERIODS
) -> list[Period]:
    """Divides the time between the first and the last start into `count` parts, oldest first.  Pure.

    [] without runs, or if all began at the same moment.
    """
    starts = [member.row.started_ns for member in members]
    if not starts or min(starts) == max(starts):
        return []
    first, width = min(starts), -(-(max(starts) + 1 - min(starts)) // count)
    parts: list[list[Member]] = [[] for _ in range(count)]
    for member in members:
        parts[(member.row.started_ns - first) // width].append(member)
    return [_period(first + n * width, width, part, measures) for n, part in enumerate(parts)]


def _period(
    since_ns: int, width_ns: int, members: Iterable[Member], measures: Mapping[str, Callable[[RunRow], float | None]]
) -> Period:
    runs = list(members)
    outcomes = [member.succeeded for member in runs]
    return {
        "since": rfc3339(since_ns),
        "until": rfc3339(since_ns + width_ns),
        "runs": len(runs),
        "succeeded": outcomes.count(True),
        "failed": outcomes.count(False),
        "measures": {name: measured for name, of in measures.items() if (measured := _period_measure(runs, of))},
    }


def _period_measure(members: Iterable[Member], of: Callable[[RunRow], float | None]) -> PeriodMeasure | None:
    ordered = sorted(value for member in members if (value := of(member.row)) is not None)
    if not ordered:
        return None
    p50, p95 = percentile(ordered, 0.5), percentile(ordered, 0.95)
    return {"count": len(ordered), "p50": p50, "p95": p95, "sum": sum(ordered)}

"""How did measures of runs change over time?  Divides the time of the runs into equal parts and measures each part."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from playhead.model.times import rfc3339
from playhead.projection.run_row import RunRow
from playhead.wire.operations.across import Period, PeriodMeasure
from playhead_collector.analysis.across.cohort import Member
from playhead_collector.analysis.across.statistics.percentile import percentile

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
        "measures": {name: measured for name, of in measures.items() if (measured := _measured(runs, of))},
    }


def _measured(members: Iterable[Member], of: Callable[[RunRow], float | None]) -> PeriodMeasure | None:
    ordered = sorted(value for member in members if (value := of(member.row)) is not None)
    if not ordered:
        return None
    p50, p95 = percentile(ordered, 0.5), percentile(ordered, 0.95)
    return {"count": len(ordered), "p50": p50, "p95": p95, "sum": sum(ordered)}

"""Do runs with compressed contexts end differently, and does it matter how and when they were compressed?"""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from playhead.model.event import ContextCompressed, LlmCalled
from playhead.wire.operations.across import CompressionOutcomes, CompressionTiming
from playhead_collector.analysis.across.cohort import MIN_RUNS, Cohort, Member, success_rate
from playhead_collector.analysis.across.differences import fisher_exact
from playhead_collector.store.ports import ReadStore

_MANY: Final = 3
_EVIDENCE: Final = 5


def compression_outcomes(cohort: Cohort) -> CompressionOutcomes:
    """Returns the outcomes of these runs, by number of compressions.  Pure."""
    by_times: dict[str, list[Member]] = {}
    for member in sorted(cohort.members, key=lambda member: min(member.row.compressions, _MANY)):
        times = member.row.compressions
        by_times.setdefault(str(times) if times < _MANY else f"{_MANY}+", []).append(member)
    compressed = success_rate(member.succeeded for member in cohort.members if member.row.compressions)
    uncompressed = success_rate(member.succeeded for member in cohort.members if not member.row.compressions)
    compressed_runs, uncompressed_runs = (rate["succeeded"] + rate["failed"] for rate in (compressed, uncompressed))
    enough = min(compressed_runs, uncompressed_runs) >= MIN_RUNS
    return {
        "population": cohort.population,
        "by_compressions": {
            times: success_rate(member.succeeded for member in members) for times, members in by_times.items()
        },
        "compressed": compressed,
        "uncompressed": uncompressed,
        "p": fisher_exact(compressed["succeeded"], compressed_runs, uncompressed["succeeded"], uncompressed_runs)
        if enough
        else None,
        "evidence": [member.run for member in cohort.members if member.row.compressions][:_EVIDENCE],
    }


# --- by strategy and moment ------------------------------------------------------------------------------------------

EARLY: Final = "early"
_MOMENTS: Final = (EARLY, "middle", "late")
_UNKNOWN: Final = "unknown"


class CompressedRun(NamedTuple):
    """A run whose context was compressed: the seq of its first compression, the moment of that (`early`, `middle`,
    `late`), and the strategies of all of them."""

    member: Member
    seq: int
    moment: str
    strategies: frozenset[str]


async def read_compressed(store: ReadStore, project_id: int, members: Iterable[Member]) -> list[CompressedRun]:
    """Reads those of the runs whose context was compressed."""
    compressed: list[CompressedRun] = []
    for member in members:
        if not member.row.compressions:
            continue
        events = await store.events.read(project_id, member.run)
        compressions = [event for event in events if isinstance(event, ContextCompressed)]
        if compressions:
            calls = [event.seq for event in events if isinstance(event, LlmCalled)]
            strategies = frozenset(event.strategy or _UNKNOWN for event in compressions)
            first = compressions[0].seq
            compressed.append(CompressedRun(member, first, moment_of(calls, first), strategies))
    return compressed


def moment_of(calls: Sequence[int], seq: int) -> str:
    """Returns in which third of a run's model calls (their seqs) an event is.  Pure."""
    before = sum(call < seq for call in calls)
    return _MOMENTS[min(len(_MOMENTS) * before // max(len(calls), 1), len(_MOMENTS) - 1)]


def timing_of(cohort: Cohort, compressed: Sequence[CompressedRun]) -> CompressionTiming:
    """Returns the outcomes of these compressed runs of the cohort, by strategy and by moment.  Pure."""
    strategies = sorted({strategy for run in compressed for strategy in run.strategies})
    by_moment = {
        moment: success_rate(run.member.succeeded for run in compressed if run.moment == moment)
        for moment in _MOMENTS
        if any(run.moment == moment for run in compressed)
    }
    early = success_rate(run.member.succeeded for run in compressed if run.moment == EARLY)
    later = success_rate(run.member.succeeded for run in compressed if run.moment != EARLY)
    early_runs, later_runs = (rate["succeeded"] + rate["failed"] for rate in (early, later))
    enough = min(early_runs, later_runs) >= MIN_RUNS
    return {
        "population": cohort.population,
        "read": len(compressed),
        "by_strategy": {
            strategy: success_rate(run.member.succeeded for run in compressed if strategy in run.strategies)
            for strategy in strategies
        },
        "by_moment": by_moment,
        "p": fisher_exact(early["succeeded"], early_runs, later["succeeded"], later_runs) if enough else None,
        "evidence": [{"run": run.member.run, "seq": run.seq} for run in compressed[:_EVIDENCE]],
    }

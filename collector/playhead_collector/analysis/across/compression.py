"""Do runs with compressed contexts end differently?"""

from collections.abc import Mapping
from typing import Any, Final

from playhead.wire.answers.across.analytics import CompressionOutcomes
from playhead_collector.analysis.across.cohort import Cohort, Member, read_cohort
from playhead_collector.analysis.across.rates import MIN_RUNS, success_rate
from playhead_collector.analysis.across.significance import fisher_exact
from playhead_collector.store.ports import ReadStore

_MANY: Final = 3
_EVIDENCE: Final = 5


async def answer_compression_outcomes(
    store: ReadStore, project_id: int, cohort: Mapping[str, Any]
) -> CompressionOutcomes:
    """The outcomes of the runs that `cohort` chooses, by how often they were compressed."""
    return compression_outcomes(await read_cohort(store, project_id, cohort))


def compression_outcomes(cohort: Cohort) -> CompressionOutcomes:
    """The outcomes of these runs, by how often they were compressed.  Pure."""
    by_times: dict[str, list[Member]] = {}
    for member in sorted(cohort.members, key=lambda member: min(member.row.compressions, _MANY)):
        times = member.row.compressions
        by_times.setdefault(str(times) if times < _MANY else f"{_MANY}+", []).append(member)
    some = success_rate(member.succeeded for member in cohort.members if member.row.compressions)
    none = success_rate(member.succeeded for member in cohort.members if not member.row.compressions)
    of_some, of_none = (each["succeeded"] + each["failed"] for each in (some, none))
    enough = min(of_some, of_none) >= MIN_RUNS
    return {
        "population": cohort.population,
        "by_compressions": {
            times: success_rate(member.succeeded for member in members) for times, members in by_times.items()
        },
        "compressed": some,
        "uncompressed": none,
        "p": fisher_exact(some["succeeded"], of_some, none["succeeded"], of_none) if enough else None,
        "evidence": [member.run for member in cohort.members if member.row.compressions][:_EVIDENCE],
    }

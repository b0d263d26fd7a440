"""Do runs with compressed contexts end differently?"""

from typing import Final

from playhead.wire.operations.across import CompressionOutcomes
from playhead_collector.analysis.across.cohort import MIN_RUNS, Cohort, Member, success_rate
from playhead_collector.analysis.across.differences import fisher_exact

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

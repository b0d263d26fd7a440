"""[analysis]: the runs with the same beginning as a run: forks, the runs above it (its parents), and siblings."""

from collections.abc import Sequence
from dataclasses import dataclass

from playhead.projection.run_row import RunRow
from playhead_collector.read.record import RunRecord
from playhead_collector.store.ports import RunFilter
from playhead_collector.store.ports.same_context import EventRange

FORK, PARENT, SIBLING = "fork", "parent", "sibling"
# Branches per run that are read: nobody looks at more; the list of runs has all forks.
MAX_FORKS = 100
MAX_SIBLINGS = 100
# Runs above a fork that are read.
_MAX_ABOVE = 50


@dataclass(frozen=True, slots=True)
class BranchingRun:
    """Another run with the same beginning.

    `at`: seq in the run of the question at which it branches off; for a sibling, the seq of the model call with the
    same context. `seq`: the same position in its own record.
    """

    kind: str
    row: RunRow
    at: int
    seq: int


@dataclass(frozen=True, slots=True)
class Lineage:
    """A run and the runs above it (nearest first). `common`: for each, the last seq of its path that they share."""

    rows: Sequence[RunRow]
    common: Sequence[int]

    @property
    def parts(self) -> list[EventRange]:
        """The ranges of events of the run, by the run that recorded them."""
        return [
            EventRange(row.run, row.shared or 0, common) for row, common in zip(self.rows, self.common, strict=True)
        ]


async def read_branching_runs(record: RunRecord) -> tuple[list[BranchingRun], bool]:
    """Returns the branching runs, and whether there are more than the limits allow."""
    lineage = await _read_lineage(record)
    branches, more = await _forks(record, lineage)
    known_runs = {row.run for row in lineage.rows} | {branch.row.run for branch in branches}
    same = await record.store.runs_with_same_context(
        record.project_id, lineage.parts, without=sorted(known_runs), limit=MAX_SIBLINGS + 1
    )
    for call in same[:MAX_SIBLINGS]:
        row = await record.store.run(record.project_id, call.run)
        if row is not None:
            branches.append(BranchingRun(SIBLING, row, call.here, call.seq))
    return branches, more or len(same) > MAX_SIBLINGS


async def _read_lineage(record: RunRecord) -> Lineage:
    rows, common = [record.row], [record.last]
    while (above := rows[-1].fork_of) is not None and len(rows) <= _MAX_ABOVE:
        row = await record.store.run(record.project_id, above)
        if row is None or rows[-1].shared is None or row in rows:
            break
        common.append(min(common[-1], rows[-1].shared))
        rows.append(row)
    return Lineage(rows, common)


async def _forks(record: RunRecord, lineage: Lineage) -> tuple[list[BranchingRun], bool]:
    """The runs above, and the forks of the run and of the runs above it within the common path."""
    branches: list[BranchingRun] = []
    more = False
    ours = {row.run for row in lineage.rows}
    for depth, (row, common) in enumerate(zip(lineage.rows, lineage.common, strict=True)):
        if depth:
            branches.append(BranchingRun(PARENT, row, common + 1, common + 1))
        forks = await record.store.runs(record.project_id, RunFilter(fork_of=row.run), limit=MAX_FORKS + 1)
        more = more or len(forks) > MAX_FORKS
        for fork in forks[:MAX_FORKS]:
            seq = fork.fork_at
            if fork.run not in ours and seq is not None and seq <= common + 1:
                branches.append(BranchingRun(FORK, fork, seq, seq))
    return branches, more

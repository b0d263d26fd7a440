"""[analysis]: which path did the agent take, which options were left, and how did the runs end that went another way?

These are the runs with the same beginning: forks, the runs above it (its parents), and siblings (runs with a model call
in exactly the same context).
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from playhead.model import event as ev
from playhead.model.canonical import canonical_json
from playhead.model.times import rfc3339
from playhead.projection.run_row import RunRow
from playhead.wire.operations.why import Decision, DecisionTree, RunOutcome, TreeBranch, TreeNode, UntakenOption
from playhead_collector.analysis.decisions import choice_of, chosen_in, decisions, options_of, read_sibling
from playhead_collector.analysis.transcript.loading import read_transcript_page
from playhead_collector.analysis.transcript.transcript import Transcript, Turn
from playhead_collector.read.record import RunRecord, line_of_forks, stored_record
from playhead_collector.read.values import fetch
from playhead_collector.store.ports.runs import RunFilter
from playhead_collector.store.ports.scores import ScoreFilter
from playhead_collector.store.ports.uses import EventRange

FORK, PARENT, SIBLING = "fork", "parent", "sibling"
# Branches per run that are read: nobody looks at more; the list of runs has all forks.
MAX_FORKS = 100
MAX_SIBLINGS = 100
# Runs above a fork that are read.
# Of a run's latest scores; those of its calls are among them and left out.
_MAX_SCORES = 100


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
class FirstChoice:
    """The first choice of a branch, with `same` as in `TreeBranch`, and the outcome of its run."""

    chosen: Any
    same: bool | None
    outcome: RunOutcome


async def answer_tree(record: RunRecord, limit: int, after: int) -> DecisionTree:
    """The decisions after seq `after` with their branches; on the last page also the branches after the last
    decision."""
    transcript = await read_transcript_page(record, after, limit, ev.LlmCompleted, with_contexts=False)
    entries = await asyncio.to_thread(lambda: [entry for entry in decisions(transcript) if entry[0]["seq"] > after])
    runs, more_branches = await read_branching_runs(record)
    is_last = len(entries) <= limit
    placed = branches_by_decision(
        transcript, [decision for decision, _ in entries[:limit]], runs, after, is_last=is_last
    )
    firsts = await _first_choices(record, transcript, [run for group in placed.values() for run in group])
    path = await asyncio.to_thread(_path_nodes, transcript, entries[:limit], placed, firsts)
    return {
        "run": record.run,
        "name": record.row.name,
        "outcome": await _read_outcome(record, record.row),
        "items": path,
        "branches": _branches(placed.get(None, []), firsts),
        "more_branches": more_branches,
        "next_cursor": None if is_last else str(path[-1]["seq"]),
    }


def branches_by_decision(
    transcript: Transcript, path: Sequence[Decision], runs: Sequence[BranchingRun], after: int, *, is_last: bool
) -> dict[int | None, list[BranchingRun]]:
    """The branches at each decision of a page, by its seq; under None the branches after the last decision.  Pure.

    A run branches at the first decision that it does not share: a sibling at the end of the call with the same context.
    """
    ends = {turn.begin.seq: turn.end.seq for turn in transcript.turns if turn.end is not None}
    placed: dict[int | None, list[BranchingRun]] = {}
    for run in runs:
        seq = ends.get(run.at, run.at) if run.kind == SIBLING else run.at
        if seq <= after:
            continue
        decision = next((decision["seq"] for decision in path if decision["seq"] >= seq), None)
        if decision is not None or is_last:
            placed.setdefault(decision, []).append(run)
    return placed


async def _read_outcome(record: RunRecord, row: RunRow) -> RunOutcome:
    """The outcome of a run, with the latest scores of the run as a whole."""
    where = ScoreFilter(row.run, latest=True)
    scores = await record.store.scores.page(record.project_id, where, limit=_MAX_SCORES)
    return {
        "scores": [
            {"name": score.name, "value": score.value, "label": score.label} for score in scores if score.span is None
        ],
        "status": row.status,
        "ended": None if row.ended_ns is None else rfc3339(row.ended_ns),
        "events": row.events,
        "errors": row.errors,
    }


def _path_nodes(
    transcript: Transcript,
    entries: Sequence[tuple[Decision, Turn | None]],
    placed: Mapping[int | None, Sequence[BranchingRun]],
    firsts: Mapping[str, FirstChoice],
) -> list[TreeNode]:
    return [
        {
            **decision,
            "untaken": _untaken(transcript, decision, turn),
            "branches": _branches(placed.get(decision["seq"], ()), firsts),
        }
        for decision, turn in entries
    ]


def _untaken(transcript: Transcript, decision: Decision, turn: Turn | None) -> list[UntakenOption]:
    return [
        {"name": option["name"], "origin": option["origin"], "considered": option["considered"]}
        for option in options_of(transcript, decision, turn)
        if not option["chosen"]
    ]


def _branches(runs: Sequence[BranchingRun], firsts: Mapping[str, FirstChoice]) -> list[TreeBranch]:
    """Converts branches to answers.  Leaves out siblings whose context differs: only its short hash was the same."""
    return [
        {
            "kind": run.kind,
            "run": run.row.run,
            "name": run.row.name,
            "at": run.at,
            "seq": run.seq,
            "chosen": firsts[run.row.run].chosen,
            "same": firsts[run.row.run].same,
            "outcome": firsts[run.row.run].outcome,
        }
        for run in runs
        if run.row.run in firsts
    ]


async def _first_choices(
    record: RunRecord, transcript: Transcript, runs: Sequence[BranchingRun]
) -> Mapping[str, FirstChoice]:
    """The first choice of each branch, by its run."""
    firsts: dict[str, FirstChoice] = {}
    for run in runs:
        choice = await (_sibling_choice if run.kind == SIBLING else _fork_choice)(record, transcript, run)
        if choice is not None:
            firsts[run.row.run] = FirstChoice(*choice, await _read_outcome(record, run.row))
    return firsts


async def _fork_choice(record: RunRecord, _: Transcript, run: BranchingRun) -> tuple[Any, bool | None]:
    other = await stored_record(record.store, record.project_id, run.row.run)
    page = await read_transcript_page(other, run.seq - 1, 1, ev.LlmCompleted, with_contexts=False)
    choices = (decision["chosen"] for decision, _ in decisions(page) if decision["seq"] >= run.seq)
    return next(choices, None), None


async def _sibling_choice(record: RunRecord, transcript: Transcript, run: BranchingRun) -> tuple[Any, bool] | None:
    """The sibling's choice, and whether this run made the same one; None if its context was another one."""
    turn = next((turn for turn in transcript.turns if turn.begin.seq == run.at), None)
    if turn is None or turn.begin.thread is None:
        return None
    sibling = await read_sibling(record, run.row.run, run.seq, turn.begin.thread)
    if sibling is None:
        return None
    cache = await fetch(record.store, record.project_id, sibling.outputs)
    chosen = chosen_in(message for ref in sibling.outputs if (message := cache.parsed_message(ref)))
    return chosen, canonical_json(chosen) == canonical_json(choice_of(transcript, turn))


# --- the runs with the same beginning --------------------------------------------------------------------------------


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
    branches, more = await _read_forks(record, lineage)
    known_runs = {row.run for row in lineage.rows} | {branch.row.run for branch in branches}
    same = await record.store.uses.runs_with_same_context(
        record.project_id, lineage.parts, without=sorted(known_runs), limit=MAX_SIBLINGS + 1
    )
    for call in same[:MAX_SIBLINGS]:
        row = await record.store.runs.get(record.project_id, call.run)
        if row is not None:
            branches.append(BranchingRun(SIBLING, row, call.here, call.seq))
    return branches, more or len(same) > MAX_SIBLINGS


async def _read_lineage(record: RunRecord) -> Lineage:
    rows, common = list[RunRow](), list[int]()
    async for row in line_of_forks(record.row, partial(record.store.runs.get, record.project_id)):
        if not rows:
            common.append(record.last)
        elif (shared := rows[-1].shared) is not None:
            common.append(min(common[-1], shared))
        else:
            break
        rows.append(row)
    return Lineage(rows, common)


async def _read_forks(record: RunRecord, lineage: Lineage) -> tuple[list[BranchingRun], bool]:
    """The runs above, and the forks of the run and of the runs above it within the common path."""
    branches: list[BranchingRun] = []
    more = False
    ours = {row.run for row in lineage.rows}
    for depth, (row, common) in enumerate(zip(lineage.rows, lineage.common, strict=True)):
        if depth:
            branches.append(BranchingRun(PARENT, row, common + 1, common + 1))
        forks = await record.store.runs.page(record.project_id, RunFilter(fork_of=row.run), limit=MAX_FORKS + 1)
        more = more or len(forks) > MAX_FORKS
        for fork in forks[:MAX_FORKS]:
            seq = fork.fork_at
            if fork.run not in ours and seq is not None and seq <= common + 1:
                branches.append(BranchingRun(FORK, fork, seq, seq))
    return branches, more

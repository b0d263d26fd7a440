"""Where do runs of one task first differ, and which choice succeeds?

Runs of a task form a tree of choices: a choice is a tool call with its arguments, or the end of the run. Where runs
with the same choices so far choose differently, the mutual information between choice and outcome measures how much the
choice predicts the outcome. It is no proof of a cause. Prose in arguments is not compared: models never write the same
twice.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from playhead.model.canonical import canonical_json, parse_json
from playhead.model.event import ToolCalled
from playhead.model.ref import ContentRef
from playhead.wire.operations.across import Divergences, TaskDivergence
from playhead_collector.analysis.across.cohort import MIN_RUNS, Cohort, Member, success_rate
from playhead_collector.analysis.across.same_task import beginning_of, task_of
from playhead_collector.analysis.across.tool_sequences import END
from playhead_collector.analysis.transcript.arguments import without_prose
from playhead_collector.read.values import fetch
from playhead_collector.store.ports import ReadStore

_EVIDENCE: Final = 5
_LEAST_GAIN: Final = 1e-9


class TaskChoice(NamedTuple):
    """A tool call, or the end of the run (`END`); `arguments` as canonical JSON, with `…` in place of prose."""

    tool: str
    arguments: bytes
    seq: int


@dataclass(slots=True)
class TaskPath:
    """A run of a task, and its choices."""

    task: str
    member: Member
    choices: Sequence[TaskChoice]


@dataclass(slots=True)
class _Junction:
    """Runs with the same choices so far, and their next choices, by tool and arguments."""

    paths: list[TaskPath] = field(default_factory=list[TaskPath])
    branches: "dict[tuple[str, bytes], _Junction]" = field(default_factory=dict[tuple[str, bytes], "_Junction"])


async def answer_divergences(
    store: ReadStore, project_id: int, cohort: Cohort, *, task: str, limit: int
) -> Divergences:
    """Returns the divergences of the runs of `cohort`, at most `limit`. `task`: see `same_task`."""
    members = [member for member in cohort.members if member.succeeded is not None]
    paths = [await _read_path(store, project_id, member, task) for member in members]
    return divergences_of(cohort, [path for path in paths if path is not None], limit)


def divergences_of(cohort: Cohort, paths: Sequence[TaskPath], limit: int) -> Divergences:
    """The divergences of these runs.  Pure."""
    tasks: dict[str, list[TaskPath]] = {}
    for path in paths:
        tasks.setdefault(path.task, []).append(path)
    mixed = {task: group for task, group in tasks.items() if len({path.member.succeeded for path in group}) > 1}
    divergences = [divergence for task, group in mixed.items() for divergence in _of_task(task, group)]
    divergences.sort(
        key=lambda divergence: (
            -divergence["gain"],
            -divergence["runs"],
            divergence["task"],
            len(divergence["after"]),
        )
    )
    return {
        "population": cohort.population,
        "tasks": len(mixed),
        "read": len(paths),
        "divergences": divergences[:limit],
    }


def information_gain(groups: Iterable[Sequence[bool | None]]) -> float:
    """Returns the mutual information, in bits, between group and outcome. Each group lists the outcomes of its runs."""
    nonempty = [group for group in groups if group]
    every = [outcome for group in nonempty for outcome in group]
    if not every:
        return 0.0
    return max(0.0, _entropy(every) - sum(len(group) / len(every) * _entropy(group) for group in nonempty))


def _entropy(outcomes: Sequence[bool | None]) -> float:
    share = sum(outcome is True for outcome in outcomes) / len(outcomes)
    return -sum(part * math.log2(part) for part in (share, 1 - share) if part > 0)


def _of_task(task: str, paths: Sequence[TaskPath]) -> Iterable[TaskDivergence]:
    waiting: list[tuple[list[str], int, Sequence[TaskPath]]] = [([], 0, paths)]
    while waiting:
        after, depth, here = waiting.pop()
        node = _Junction(list(here))
        for path in here:
            if depth < len(path.choices):
                choice = path.choices[depth]
                node.branches.setdefault((choice.tool, choice.arguments), _Junction()).paths.append(path)
        if len({path.member.succeeded for path in here}) < 2:
            continue
        bits = information_gain([[path.member.succeeded for path in branch.paths] for branch in node.branches.values()])
        if len(node.branches) > 1 and bits > _LEAST_GAIN:
            yield _divergence(task, after, depth, node, bits)
        for (tool, _), branch in node.branches.items():
            if tool != END:
                waiting.append(([*after, tool], depth + 1, branch.paths))


def _divergence(task: str, after: list[str], depth: int, node: _Junction, bits: float) -> TaskDivergence:
    branches = sorted(node.branches.items(), key=lambda item: (-len(item[1].paths), item[0]))
    return {
        "task": task,
        "after": after,
        "runs": len(node.paths),
        "gain": round(bits, 6),
        "pattern": sum(len(branch.paths) >= MIN_RUNS for _, branch in branches) > 1,
        "branches": [
            {
                "tool": tool,
                "arguments": parse_json(arguments),
                "success": success_rate(path.member.succeeded for path in branch.paths),
                "evidence": [
                    {"run": path.member.run, "seq": path.choices[depth].seq} for path in branch.paths[:_EVIDENCE]
                ],
            }
            for (tool, arguments), branch in branches
        ],
    }


async def _read_path(store: ReadStore, project_id: int, member: Member, by: str) -> TaskPath | None:
    """The path of a run; None when it has no task."""
    events = await store.events.read(project_id, member.run)
    task = task_of(member.row, by, beginning_of(events))
    if task is None:
        return None
    called = [event for event in events if isinstance(event, ToolCalled)]
    values = await fetch(store, project_id, [event.arguments for event in called])
    arguments = [_canonical(values.parsed(event.arguments), event.arguments) for event in called]
    choices = [
        TaskChoice(event.name, call_arguments, event.seq)
        for event, call_arguments in zip(called, arguments, strict=True)
    ]
    return TaskPath(task, member, [*choices, TaskChoice(END, b"null", member.row.events)])


def _canonical(value: Any, ref: ContentRef | None) -> bytes:
    """The arguments as canonical JSON; of arguments that are not stored, their ref."""
    return canonical_json(without_prose(value) if value is not None or ref is None else str(ref))

"""Which failures are alike?  Groups failed runs by their last error and their last tool calls.

In the largest clusters, the last tool call of some runs is attributed (see `provenance`).
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from playhead.model.event import LlmFailed, RunEvent, RunFailed, StepCompleted, ToolFailed
from playhead.wire.operations.across import FailureCluster, FailureClusters
from playhead_collector.analysis.across.cohort import MIN_RUNS, Cohort
from playhead_collector.analysis.across.tool_sequences import ToolPath, ToolStep, read_steps
from playhead_collector.analysis.provenance.attributions import answer_attribution
from playhead_collector.errors import ContentMissing, Refused
from playhead_collector.read.record import stored_record
from playhead_collector.store.ports import ReadStore
from playhead_collector.store.ports.runs import LastError

_LAST: Final = 2  # last tool calls that runs of a cluster share
_ATTRIBUTED: Final = 5  # clusters whose runs are attributed
_EVIDENCE: Final = 5
_MAX_MESSAGE: Final = 1_000  # characters


@dataclass(slots=True)
class FailureGroup:
    """Failed runs with the same last error and last tool calls. `error`: the last error of the first run, or None."""

    error: LastError | None
    last: tuple[tuple[str, str], ...]
    walks: list[ToolPath] = field(default_factory=list[ToolPath])


async def answer_failures(store: ReadStore, project_id: int, cohort: Cohort, *, limit: int) -> FailureClusters:
    """Returns the clusters of the failed runs among those of `cohort`, at most `limit`."""
    failed = [member for member in cohort.members if member.succeeded is False]
    walks = await read_steps(store, project_id, failed)
    errors = {error.run: error for error in await store.runs.last_errors(project_id, [member.run for member in failed])}
    groups = groups_of(walks, errors)
    clusters = [
        await _cluster(store, project_id, group, len(failed), attribute=place < _ATTRIBUTED)
        for place, group in enumerate(groups[:limit])
    ]
    return {"population": cohort.population, "clusters": clusters}


def groups_of(walks: Sequence[ToolPath], errors: Mapping[str, LastError]) -> list[FailureGroup]:
    """The groups of these failed runs, largest first.  Pure."""
    groups: dict[Any, FailureGroup] = {}
    for walk in walks:
        error = errors.get(walk.member.run)
        last = tuple((step.tool, step.result) for step in walk.steps[-_LAST:])
        key = (error and error.error_type, error and error.about, last)
        groups.setdefault(key, FailureGroup(error, last)).walks.append(walk)
    return sorted(groups.values(), key=lambda group: (-len(group.walks), group.last))


async def _cluster(
    store: ReadStore, project_id: int, group: FailureGroup, failed: int, *, attribute: bool
) -> FailureCluster:
    error_type, about, message = await _error_of(store, project_id, group.error)
    with_tools = [walk for walk in group.walks if walk.steps][:_EVIDENCE]
    kinds, suspects = Counter[str](), Counter[str]()
    for walk in with_tools if attribute else ():
        with suppress(Refused, ContentMissing):  # the run was deleted, or contents are missing: go on with the others
            record = await stored_record(store, project_id, walk.member.run)
            attribution = await answer_attribution(record, str(_last(walk).seq))
            kinds[attribution["kind"]] += 1
            suspects.update(attribution["suspects"])
    examples = with_tools or group.walks[:_EVIDENCE]
    return {
        "error_type": error_type,
        "about": about,
        "message": message,
        "last": [{"tool": tool, "result": result} for tool, result in group.last],
        "runs": len(group.walks),
        "share": round(len(group.walks) / failed, 6),
        "pattern": len(group.walks) >= MIN_RUNS,
        "attributions": dict(kinds),
        "suspects": dict(suspects),
        "evidence": [
            {"run": walk.member.run, "seq": _last(walk).seq if walk.steps else walk.member.row.events}
            for walk in examples
        ],
    }


def _last(walk: ToolPath) -> ToolStep:
    return walk.steps[-1]


async def _error_of(
    store: ReadStore, project_id: int, error: LastError | None
) -> tuple[str | None, str | None, str | None]:
    """Returns the type of an error, the name of what failed, and the message, from its event: rows have only numbers
    for the first two."""
    if error is None:
        return None, None, None
    events: Sequence[RunEvent] = await store.events.read(project_id, error.run, after=error.seq - 1, upto=error.seq)
    match events[0] if events else None:
        case LlmFailed(model=about) | ToolFailed(name=about) | StepCompleted(name=about) as event:
            return event.error_type, about, _shortened(event.message)
        case RunFailed() as event:
            return event.error_type, None, _shortened(event.message)
        case _:
            return None, None, None


def _shortened(message: str | None) -> str | None:
    return message[:_MAX_MESSAGE] if message else None

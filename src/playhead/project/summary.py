"""store → [project]: a run's row in lists, and states to start folds from, out of one fold of its events."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

from playhead.model import event as ev
from playhead.model.state import RUNNING, RunState, fold
from playhead.project.forking import Shared
from playhead.project.run_row import ModelUsage, RunRow
from playhead.project.span_tree import Tree

E = TypeVar("E", bound=ev.Event)
_ByType = dict[type[ev.Event], list[ev.RunEvent]]


def states(events: Sequence[ev.RunEvent], every: int, start: RunState | None = None) -> tuple[RunState, list[RunState]]:
    """The last state, and the states after every so many events, on top of `start`."""
    state, snapshots = start or RunState(), list[RunState]()
    for at in range(0, len(events), every):
        some = events[at : at + every]
        state = fold(some, state)
        if len(some) == every:
            snapshots.append(state)
    return state, snapshots


def row_of(
    run: str,
    tree: Tree,
    events: Sequence[ev.RunEvent],
    state: RunState,
    *,
    spans_missing: int,
    sealed: bool,
    shared: Shared | None = None,
) -> RunRow:
    """The run as lists show it: times are its own, and what it used includes what it shares with its parent."""
    own = _own(tree, events, state)
    events = [*shared.events, *events] if shared else events
    of = _by_type(events)
    answers = _all(of, ev.LlmCompleted)
    sizes = [event.usage.input_tokens for event in answers if event.usage.input_tokens is not None]
    models = _distinct(event.model for event in _all(of, ev.LlmCalled))
    return RunRow(
        run=run,
        name=state.name,
        status=state.status,
        attempt=state.attempt,
        agents=_distinct(event.actor for event in events),
        models=models or _distinct(event.model for event in answers),
        tools=_distinct(event.name for event in _all(of, ev.ToolCalled)),
        llm_calls=state.llm_calls,
        tool_calls=state.tool_calls,
        errors=len(state.errors),
        input_tokens=state.input_tokens,
        output_tokens=state.output_tokens,
        context_peak=max(sizes, default=None),
        compressions=len(state.compressions),
        usage=usage_by_model(events),
        spans_missing=spans_missing,
        sealed=sealed,
        shared=shared.upto if shared else None,
        **own,
    )


def usage_by_model(events: Iterable[ev.RunEvent]) -> tuple[ModelUsage, ...]:
    """What each model was used for, by calls that reported input and output tokens; in the order of first use."""
    asked: dict[str | None, str | None] = {}
    sums: dict[tuple[str | None, str | None], ModelUsage] = {}
    for event in events:
        match event:
            case ev.LlmCalled():
                asked[event.span] = event.model
            case ev.LlmCompleted(usage=usage) if usage.input_tokens is not None and usage.output_tokens is not None:
                names = event.model, asked.get(event.span)
                sums[names] = _added(sums.get(names) or ModelUsage(*names, 0, 0), usage)
            case _:
                pass
    return tuple(sums.values())


def _added(so_far: ModelUsage, usage: ev.TokenUsage) -> ModelUsage:
    numbers = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    return replace(so_far, **{name: getattr(so_far, name) + (getattr(usage, name) or 0) for name in numbers})


def _own(tree: Tree, events: Sequence[ev.RunEvent], state: RunState) -> dict[str, Any]:
    """What a fork does not share with its parent."""
    of = _by_type(events)
    begin, fork = _first(of, ev.RunStarted), _first(of, ev.RunForked)
    ends = [event.time_ns for event in (*_all(of, ev.RunCompleted), *_all(of, ev.RunFailed))]
    return {
        "started_ns": begin.time_ns if begin else _earliest_ns(tree, events),
        "ended_ns": max(ends) if ends and state.status != RUNNING else None,
        "session": begin.session if begin else None,
        "user": begin.user if begin else None,
        "tags": begin.tags if begin else (),
        "events": events[-1].seq if events else 0,
        "fork_of": fork.parent_run if fork else None,
        "fork_at": fork.at if fork else None,
    }


def _by_type(events: Iterable[ev.RunEvent]) -> _ByType:
    of: _ByType = {}
    for event in events:
        of.setdefault(type(event), []).append(event)
    return of


def _all(of: _ByType, kind: type[E]) -> list[E]:
    return cast(list[E], of.get(kind, []))


def _first(of: _ByType, kind: type[E]) -> E | None:
    return next(iter(_all(of, kind)), None)


def _distinct(names: Iterable[str | None]) -> tuple[str, ...]:
    """In the order in which they came up."""
    return tuple(name for name in dict.fromkeys(names) if name)


def _earliest_ns(tree: Tree, events: Sequence[ev.RunEvent]) -> int:
    return min((place.span.start_ns for place in tree.places), default=events[0].time_ns if events else 0)

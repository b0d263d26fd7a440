"""store → [projection]: computes a run's row in lists and snapshots of its state in one fold of its events."""

from collections.abc import Iterable, Sequence

from playhead.model import event as ev
from playhead.model.state import RUNNING, RunState, fold
from playhead.model.usage import ModelUsage, add_usage
from playhead.projection.forking import SharedHistory
from playhead.projection.happened import MomentsSoFar
from playhead.projection.processes import shown_processes
from playhead.projection.relations import Relations
from playhead.projection.run_row import HandedProcess, RunRow

# Maximum number of runs in a row's `continued_by`, to limit the size of the row.
_MAX_CONTINUED_BY = 100


def states(events: Sequence[ev.RunEvent], every: int, start: RunState | None = None) -> tuple[RunState, list[RunState]]:
    """The last state, and the states after every `every` events, folded from `start`."""
    state, snapshots = start or RunState(), list[RunState]()
    for first in range(0, len(events), every):
        part = events[first : first + every]
        state = fold(part, state)
        if len(part) == every:
            snapshots.append(state)
    return state, snapshots


class RunTotals:
    """Values of a run's row that its state does not have, computed from its events."""

    def __init__(self) -> None:
        self.begin: ev.RunStarted | None = None
        self.fork: ev.RunForked | None = None
        self.first_ns = 0
        self.ended_ns: int | None = None
        self.last = 0
        self.context_peak: int | None = None
        self.moments = MomentsSoFar()
        self._agents: dict[str | None, None] = {}
        self._requested_models: dict[str | None, None] = {}
        self._answering_models: dict[str | None, None] = {}
        self._tools: dict[str | None, None] = {}
        self._open: dict[str | None, str | None] = {}
        self._usage: dict[tuple[str | None, str | None], ModelUsage] = {}
        self._continued_by: dict[str, None] = {}

    def add(self, events: Iterable[ev.RunEvent], *, own: bool = True) -> None:
        """Adds the next events. `own` is False for events that a fork shares with its parent."""
        for event in events:
            self._agents[event.actor] = None
            self.moments.add(event)
            match event:
                case ev.LlmCalled():
                    self._requested_models[event.model] = None
                    self._open[event.span] = event.model
                case ev.LlmCompleted():
                    self._answer(event)
                case ev.StepCompleted(usage=usage) if usage is not None:
                    add_usage(self._usage, event.model, event.model, usage)
                case ev.ToolCalled():
                    self._tools[event.name] = None
                case _ if own:
                    self._note(event)
                case _:
                    pass
            if own:
                self.first_ns = self.first_ns or event.time_ns
                self.last = event.seq

    def _note(self, event: ev.RunEvent) -> None:
        match event:
            case ev.RunStarted():
                self.begin = self.begin or event
            case ev.RunForked():
                self.fork = self.fork or event
            case ev.RunCompleted() | ev.RunFailed():
                self.ended_ns = max(self.ended_ns or 0, event.time_ns)
            case ev.RunContinued(next_run=run) if run:
                self._continued_by[run] = None
            case _:
                pass

    def _answer(self, event: ev.LlmCompleted) -> None:
        usage, model = event.usage, self._open.pop(event.span, None)
        self._answering_models[event.model] = None
        if usage.input_tokens is not None:
            self.context_peak = max(self.context_peak or 0, usage.input_tokens)
        add_usage(self._usage, event.model, model, usage)

    @property
    def usage(self) -> tuple[ModelUsage, ...]:
        """Usage by model, of calls that reported input and output tokens, in the order of first use."""
        return tuple(self._usage.values())

    @property
    def continued_by(self) -> tuple[str, ...]:
        """Ids of the latest 100 runs that start from this run's last checkpoint, oldest first."""
        return tuple(self._continued_by)[-_MAX_CONTINUED_BY:]

    @property
    def agents(self) -> tuple[str, ...]:
        """Names of the agents that acted, in the order of their first event."""
        return _names(self._agents)

    @property
    def models(self) -> tuple[str, ...]:
        """Names of the requested models; if no call names one, of the models that answered."""
        return _names(self._requested_models) or _names(self._answering_models)

    @property
    def tools(self) -> tuple[str, ...]:
        """Names of the tools that were called, in the order of first use."""
        return _names(self._tools)


def totals_of(events: Iterable[ev.RunEvent], shared: SharedHistory | None) -> RunTotals:
    """The tally of a run's events, including those that it shares with its parent."""
    tally = RunTotals()
    tally.add(shared.events if shared else (), own=False)
    tally.add(events)
    return tally


def row_of(
    run: str,
    totals: RunTotals,
    state: RunState,
    *,
    earliest_ns: int | None,
    spans_missing: int,
    sealed: bool,
    relations: Relations,
    shared: SharedHistory | None = None,
    processes: Sequence[HandedProcess] = (),
) -> RunRow:
    """The run's row. Times are from its own events; token usage includes the events that it shares with its parent.

    `earliest_ns`: when its first span began. `processes`: processes other than its own."""
    begin, fork = totals.begin, totals.fork
    return RunRow(
        run=run,
        name=state.name,
        status=state.status,
        started_ns=begin.time_ns if begin else totals.first_ns if earliest_ns is None else earliest_ns,
        ended_ns=None if state.status == RUNNING else totals.ended_ns,
        attempt=state.attempt,
        session=begin.session if begin else None,
        user=begin.user if begin else None,
        tags=begin.tags if begin else (),
        agents=totals.agents,
        models=totals.models,
        tools=totals.tools,
        events=totals.last,
        llm_calls=state.llm_calls,
        tool_calls=state.tool_calls,
        errors=len(state.errors),
        input_tokens=state.input_tokens,
        output_tokens=state.output_tokens,
        context_peak=totals.context_peak,
        compressions=len(state.compressions),
        usage=totals.usage,
        continued_by=totals.continued_by,
        spans_missing=spans_missing,
        sealed=sealed,
        fork_of=fork.parent_run if fork else None,
        fork_at=fork.at if fork else None,
        shared=shared.upto if shared else None,
        traces=relations.traces,
        linked=relations.linked,
        processes=shown_processes(processes),
        process_count=len(processes),
        processes_open=sum(process.ended_ns is None for process in processes),
        happened=totals.moments.last(state.status),
    )


def _names(values: Iterable[str | None]) -> tuple[str, ...]:
    return tuple(name for name in values if name)

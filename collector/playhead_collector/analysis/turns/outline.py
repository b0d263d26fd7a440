"""[analysis]: the calls of a run as a tree, without content: model calls, tool calls, agents, cuts and waits. Pure.

It is made of a part of the run: calls that began before that part and were still open are given to it (`enclosing`).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from playhead.model import event as ev
from playhead.model.ref import ContentRef
from playhead.model.state import CANCELLED
from playhead.wire.operations.verdict import CallStatus
from playhead_collector.read.calls import LlmEnd, ToolEnd

OPEN: Final = "open"
COMPLETED: Final = "completed"
FAILED: Final = "failed"
DENIED: Final = "denied"
AGENT = "agent"
_MOST_LEVELS = 1_000

CallBegin: TypeAlias = ev.LlmCalled | ev.ToolCalled | ev.StepStarted
CallEnd: TypeAlias = LlmEnd | ToolEnd | ev.StepCompleted
WaitBegin: TypeAlias = ev.ApprovalRequested | ev.InputRequested
WaitEnd: TypeAlias = ev.ApprovalGranted | ev.ApprovalDenied | ev.InputReceived


@dataclass(slots=True, eq=False)
class ModelCall:
    """A model call: the messages that it added to the context, and its answer. `number`: of the turn, from 1."""

    begin: ev.LlmCalled
    number: int
    end: LlmEnd | None = None
    added: list[ev.MessageAdded] = field(default_factory=list[ev.MessageAdded])
    outputs: list[ev.MessageAdded] = field(default_factory=list[ev.MessageAdded])

    @property
    def last_seq(self) -> int:
        """The seq of its last event."""
        return max(self.begin.seq, self.end.seq if self.end else 0, *(output.seq for output in self.outputs), 0)


@dataclass(slots=True, eq=False)
class MadeCall:
    """A tool call that was made."""

    begin: ev.ToolCalled
    end: ToolEnd | None = None

    @property
    def last_seq(self) -> int:
        """The seq of its last event."""
        return self.begin.seq if self.end is None else self.end.seq


@dataclass(slots=True, eq=False)
class StepCall:
    """A call of another kind, such as an agent's. `calls`: the model calls directly below it, of an agent only."""

    begin: ev.StepStarted
    end: ev.StepCompleted | None = None
    calls: list[ModelCall] = field(default_factory=list[ModelCall])


@dataclass(slots=True, eq=False)
class Wait:
    """What the run waited for, and the answer. `number`: of the wait, of those that began in this part of the run."""

    begin: WaitBegin
    end: WaitEnd | None = None


@dataclass(slots=True)
class Outline:
    """The calls of a part of a run, in the order in which they began. `turns_before`: model calls before this part.

    `enclosing`: the starts of calls that were open when this part began, by span.
    """

    turns_before: int = 0
    enclosing: Mapping[str, CallBegin] = field(default_factory=dict[str, CallBegin])
    models: list[ModelCall] = field(default_factory=list[ModelCall])
    tools: list[MadeCall] = field(default_factory=list[MadeCall])
    steps: list[StepCall] = field(default_factory=list[StepCall])
    waits: list[Wait] = field(default_factory=list[Wait])
    cuts: list[ev.ContextCompressed] = field(default_factory=list[ev.ContextCompressed])
    last_seq: int = 0
    """The seq of the last event that was taken."""
    run_end: ev.RunCompleted | ev.RunFailed | None = None
    _begins: dict[str, CallBegin] = field(default_factory=dict[str, CallBegin])
    _open: dict[str, ModelCall | MadeCall | StepCall] = field(
        default_factory=dict[str, ModelCall | MadeCall | StepCall]
    )
    _added: dict[str, list[ev.MessageAdded]] = field(default_factory=dict[str, list[ev.MessageAdded]])
    _models: dict[str, ModelCall] = field(default_factory=dict[str, ModelCall])
    _agents: dict[str, StepCall] = field(default_factory=dict[str, StepCall])
    _open_waits: dict[str, Wait] = field(default_factory=dict[str, Wait])

    def __post_init__(self) -> None:
        self._begins |= self.enclosing

    def take(self, events: Iterable[ev.RunEvent]) -> None:
        """Takes more events, in seq order."""
        for event in events:
            self.last_seq = event.seq
            self._take(event)

    # --- questions ---------------------------------------------------------------------------------------------------

    def group_of(self, span: str | None) -> str | None:
        """The span of the nearest agent around a call, or of the call itself if it is an agent; None without one. The
        outermost call of a run is no group."""
        return next((begin.span for begin in self.around(span) if is_agent(begin)), None)

    def group_above(self, begin: CallBegin) -> str | None:
        """The group in which a call stands."""
        return self.group_of(begin.parent)

    def around(self, span: str | None) -> Iterator[CallBegin]:
        """Yields the start of the call with this span and of those around it, innermost first, as far as known."""
        for _ in range(_MOST_LEVELS):
            begin = None if span is None else self._begins.get(span)
            if begin is None:
                return
            yield begin
            span = begin.parent

    def model(self, span: str | None) -> ModelCall | None:
        """The model call with this span; None if it did not begin in this part."""
        return self._models.get(span or "")

    def models_after(self, model: ModelCall) -> Iterator[ModelCall]:
        """Yields the model calls of this part that began after one of them, in order."""
        return (self.models[place] for place in range(model.number - self.turns_before, len(self.models)))

    def agent(self, span: str | None) -> StepCall | None:
        """The agent with this span; None if it did not begin in this part."""
        return self._agents.get(span or "")

    def is_open(self, span: str | None) -> bool:
        """Whether a call that began in this part has not ended in it."""
        return (span or "") in self._open

    @property
    def summarisers(self) -> set[str]:
        """Spans of the model calls that wrote summaries."""
        return {cut.summariser for cut in self.cuts if cut.summariser is not None}

    @property
    def summaries(self) -> set[ContentRef]:
        """Messages that stand for others that left a context."""
        return {cut.summary for cut in self.cuts if cut.summary is not None}

    # --- events ------------------------------------------------------------------------------------------------------

    def _take(self, event: ev.RunEvent) -> None:
        match event:
            case ev.LlmCalled() | ev.ToolCalled() | ev.StepStarted():
                self._begin(event)
            case ev.LlmCompleted() | ev.LlmFailed() | ev.ToolCompleted() | ev.ToolFailed() | ev.StepCompleted():
                self._end(event)
            case ev.MessageAdded():
                self._message(event)
            case ev.ContextCompressed():
                self.cuts.append(event)
            case ev.ApprovalRequested() | ev.InputRequested():
                self.waits.append(Wait(event))
                self._open_waits[wait_id(event) or ""] = self.waits[-1]
            case ev.ApprovalGranted() | ev.ApprovalDenied() | ev.InputReceived():
                self._answered(event)
            case ev.RunCompleted() | ev.RunFailed():
                self.run_end = event
            case _:
                pass

    def _begin(self, event: CallBegin) -> None:
        call: ModelCall | MadeCall | StepCall
        span = event.span or ""
        match event:
            case ev.LlmCalled():
                call = ModelCall(event, self.turns_before + len(self.models) + 1, added=self._added.pop(span, []))
                self.models.append(call)
                self._models[span] = call
                if (agent := self._agents.get(self.group_of(event.parent) or "")) is not None:
                    agent.calls.append(call)
            case ev.ToolCalled():
                call = MadeCall(event)
                self.tools.append(call)
            case ev.StepStarted():
                call = StepCall(event)
                self.steps.append(call)
                if is_agent(event):
                    self._agents[span] = call
        if event.span is not None:
            self._begins[event.span] = event
            self._open[event.span] = call

    def _end(self, event: CallEnd) -> None:
        call = self._open.pop(event.span or "", None)
        match call, event:
            case ModelCall(), ev.LlmCompleted() | ev.LlmFailed():
                call.end = event
            case MadeCall(), ev.ToolCompleted() | ev.ToolFailed():
                call.end = event
            case StepCall(), ev.StepCompleted():
                call.end = event
            case _:
                pass

    def _message(self, event: ev.MessageAdded) -> None:
        span = event.span or ""
        if event.source != "output":
            self._added.setdefault(span, []).append(event)
        elif (model := self._models.get(span)) is not None:
            model.outputs.append(event)

    def _answered(self, event: WaitEnd) -> None:
        named = wait_id(event)
        if named is None:  # of a framework that does not say which: the oldest
            named = next(iter(self._open_waits), "")
        if (wait := self._open_waits.pop(named, None)) is not None:
            wait.end = event


def is_agent(begin: CallBegin) -> bool:
    """Whether a call is that of an agent."""
    return isinstance(begin, ev.StepStarted) and begin.step_kind == AGENT


def wait_id(event: WaitBegin | WaitEnd) -> str | None:
    """The id by which a wait and its answer are found; None if the answer does not say it."""
    match event:
        case ev.ApprovalRequested(approval=name) | ev.ApprovalGranted(approval=name) | ev.ApprovalDenied(approval=name):
            return name
        case ev.InputRequested(wait=name) | ev.InputReceived(wait=name):
            return name


def status_of(end: CallEnd | None) -> CallStatus:
    """`open`, `completed`, `failed` or `cancelled`."""
    if end is None:
        return OPEN
    if end.outcome == CANCELLED:
        return "cancelled"
    return FAILED if has_raised(end) else COMPLETED


def has_raised(end: CallEnd | None) -> bool:
    """Whether a call ended with an error. A cancellation is none."""
    if end is None or end.outcome == CANCELLED:
        return False
    return isinstance(end, ev.LlmFailed | ev.ToolFailed) or (isinstance(end, ev.StepCompleted) and bool(end.error_type))

"""RunState and its fold: the state of a run at any seq, computed from its events alone.

`fold(events[:n])` is the state after event n; `fold(more, fold(some)) == fold(some + more)`.  Pure; projection, query,
UI and local resume use this one fold.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, assert_never, cast

from playhead.model import event as ev
from playhead.model import names
from playhead.model.ref import ContentRef
from playhead.model.usage import ModelUsage, add_usage, model_usage_to_json

RUNNING, COMPLETED, FAILED, CANCELLED = "running", "completed", "failed", "cancelled"
LOST = "lost"
"""Status of a run whose processes are gone without ending it.  Not from an event: a store derives it, and withdraws it
when the run continues.  The state at an event stays `running`."""

_Ended = ev.RunFailed | ev.LlmFailed | ev.ToolFailed | ev.StepCompleted


@dataclass(frozen=True, slots=True)
class PendingCall:
    """A call that started and did not end: after a crash its outcome is not known."""

    kind: str
    name: str
    seq: int
    call_id: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedError:
    """An error that an event reported; of an exception that left several calls, the innermost call's event."""

    seq: int
    error_type: str
    message: str


@dataclass(frozen=True, slots=True)
class StateCheckpoint:
    """A checkpoint from which the run can be continued."""

    seq: int
    state: ContentRef | None
    thread: ContentRef | None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class RunState:
    """The fold of a run's events up to `seq`.  Holds refs, no content.

    `thread`: the context that the model saw last; `history`: every message ever added, in order.  `usage`: sums of the
    reported tokens by model (None: not known, in a state stored by an older version); `model`: the last requested one;
    `context_tokens`: input tokens of the last model call that reported them.  `step_calls`: number of calls other than
    of models and tools, by kind (None: not known, as with `usage`); `tripped`: seqs of guardrails that stopped what
    they checked.
    """

    seq: int = 0
    status: str = RUNNING
    name: str | None = None
    attempt: int = 0
    agent: str | None = None
    thread: ContentRef | None = None
    history: tuple[ContentRef, ...] = ()
    context_tokens: int | None = None
    model: str | None = None
    input_tokens: int = 0
    output_tokens: int = 0
    usage: tuple[ModelUsage, ...] | None = ()
    llm_calls: int = 0
    tool_calls: int = 0
    step_calls: dict[str, int] | None = field(default_factory=dict[str, int])
    tripped: tuple[int, ...] = ()
    user_state: dict[str, ContentRef | None] = field(default_factory=dict[str, ContentRef | None])
    open_calls: dict[str, PendingCall] = field(default_factory=dict[str, PendingCall])
    pending_approvals: tuple[str, ...] = ()
    plan: ContentRef | None = None
    checkpoint: StateCheckpoint | None = None
    compressions: tuple[int, ...] = ()
    errors: tuple[RecordedError, ...] = ()
    time_ns: int = 0


def apply(state: RunState, event: ev.RunEvent) -> RunState:
    """The state after one more event."""
    return fold([event], state)


def fold(events: Iterable[ev.RunEvent], start: RunState | None = None) -> RunState:
    """The state after these events, in seq order, on top of `start`.  Linear in the number of events."""
    start = start or RunState()
    folding = _Folding(start)
    for event in events:
        folding.apply(event)
    return folding.state()


class _Folding:
    """A state being folded: lists and dicts that grow, so that a step costs O(1); frozen again by `state`."""

    def __init__(self, start: RunState) -> None:
        self.changes: dict[str, Any] = {}
        self.start = start
        self.history = list(start.history)
        self.user_state = dict(start.user_state)
        self.open_calls = dict(start.open_calls)
        self.approvals = list(start.pending_approvals)
        self.compressions = list(start.compressions)
        self.step_calls = None if start.step_calls is None else dict(start.step_calls)
        self.tripped = list(start.tripped)
        self.errors = list(start.errors)
        self.usage = None if start.usage is None else {(used.model, used.asked): used for used in start.usage}

    def state(self) -> RunState:
        return replace(
            self.start,
            **self.changes,
            history=tuple(self.history),
            user_state=self.user_state,
            open_calls=self.open_calls,
            pending_approvals=tuple(self.approvals),
            compressions=tuple(self.compressions),
            step_calls=self.step_calls,
            tripped=tuple(self.tripped),
            errors=tuple(self.errors),
            usage=None if self.usage is None else tuple(self.usage.values()),
        )

    def apply(self, event: ev.RunEvent) -> None:  # noqa: C901 - one arm per kind, and no deeper
        changes = self.changes
        changes["seq"], changes["time_ns"] = event.seq, event.time_ns
        match event:
            case ev.MessageAdded():
                if event.message is not None:
                    self.history.append(event.message)
            case ev.LlmCalled() | ev.LlmCompleted() | ev.LlmFailed():
                self._model(event)
            case ev.ToolCalled() | ev.ToolCompleted() | ev.ToolFailed():
                self._tool(event)
            case ev.StepStarted() | ev.StepCompleted():
                self._step(event)
            case ev.RunStarted() | ev.RunCompleted() | ev.RunFailed() | ev.RunResumed() | ev.RunForked():
                self._run(event)
            case ev.ContextCompressed():
                self.compressions.append(event.seq)
                if event.after is not None:
                    changes["thread"] = event.after
            case ev.StateChanged():
                self.user_state[event.key] = event.value
            case ev.CheckpointCreated():
                thread = event.thread or changes.get("thread", self.start.thread)
                changes["checkpoint"] = StateCheckpoint(event.seq, event.state, thread, event.name)
            case ev.AgentHandoff():
                changes["agent"] = event.to
            case ev.PlanCreated():
                changes["plan"] = event.plan
            case ev.ApprovalRequested():
                self.approvals.append(event.approval)
            case ev.ApprovalGranted() | ev.ApprovalDenied():
                self.approvals = [approval for approval in self.approvals if approval != event.approval]
            case (
                ev.OrchestrationDecision() | ev.UserInterrupted() | ev.InputRequested() | ev.InputReceived()
                | ev.RunContinued() | ev.RunDiverged() | ev.ValueRead() | ev.ContextWarning() | ev.CustomEvent()
                | ev.MetricRecorded() | ev.ScoreRecorded() | ev.EventLogged() | ev.UnknownEvent()
            ):  # fmt: skip
                pass
            case _:
                assert_never(event)

    def _run(self, event: ev.RunStarted | ev.RunCompleted | ev.RunFailed | ev.RunResumed | ev.RunForked) -> None:
        changes = self.changes
        match event:
            case ev.RunStarted():
                if not (event.late and event.attempt < changes.get("attempt", self.start.attempt)):
                    changes |= {"status": RUNNING, "name": event.name, "attempt": event.attempt, "agent": event.actor}
            case ev.RunCompleted():
                self._end_run(event, COMPLETED)
            case ev.RunFailed():
                self._end_run(event, CANCELLED if event.outcome == CANCELLED else FAILED)
                self._error(event, 0, event.error_type, event.message)
            case ev.RunResumed():
                # An attempt that is reported after a later one began is over: it does not reopen the run.
                if event.attempt > changes.get("attempt", self.start.attempt):
                    # Calls that the dead process left open are not open in the new attempt, which makes them again.
                    self.open_calls = {}
                    changes |= {"status": RUNNING, "attempt": event.attempt}
            case ev.RunForked():
                # Calls open in the parent at the fork: the fork starts them again, or their ends follow this event.
                self.open_calls = {}

    def _end_run(self, event: ev.RunCompleted | ev.RunFailed, status: str) -> None:
        """Sets the status, except for a late end of an earlier attempt of a run that has ended."""
        if not event.late or self.changes.get("status", self.start.status) == RUNNING:
            self.changes["status"] = status

    def _model(self, event: ev.LlmCalled | ev.LlmCompleted | ev.LlmFailed) -> None:
        match event:
            case ev.LlmCalled():
                self._open(event, "llm", event.model or "")
                if event.thread is not None:
                    self.changes["thread"] = event.thread
                self.changes["agent"] = event.actor
                self.changes["model"] = event.model or self.changes.get("model", self.start.model)
                self._count("llm_calls", 1)
            case ev.LlmCompleted():
                usage, call = event.usage, self.open_calls.get(event.span or "")
                self._close(event)
                self._use(event.model, (call.name or None) if call else None, usage)
                if usage.input_tokens is not None:
                    self.changes["context_tokens"] = usage.input_tokens
            case ev.LlmFailed():
                self._error(event, self._close(event), event.error_type, event.message)

    def _tool(self, event: ev.ToolCalled | ev.ToolCompleted | ev.ToolFailed) -> None:
        match event:
            case ev.ToolCalled():
                self._open(event, "tool", event.name, event.call_id)
                self._count("tool_calls", 1)
            case ev.ToolCompleted():
                self._close(event)
            case ev.ToolFailed():
                self._error(event, self._close(event), event.error_type, event.message)

    def _step(self, event: ev.StepStarted | ev.StepCompleted) -> None:
        if isinstance(event, ev.StepStarted):
            self._open(event, event.step_kind, event.name)
            if self.step_calls is not None:
                self.step_calls[event.step_kind] = self.step_calls.get(event.step_kind, 0) + 1
            return
        began = self._close(event)
        if event.usage is not None:
            self._use(event.model, event.model, event.usage)
        if event.outcome == names.TRIPPED:
            self.tripped.append(event.seq)
        if event.error_type:
            self._error(event, began, event.error_type, event.message or "")

    def _use(self, model: str | None, requested_model: str | None, usage: ev.TokenUsage) -> None:
        if self.usage is not None:
            add_usage(self.usage, model, requested_model, usage)
        self._count("input_tokens", usage.input_tokens or 0)
        self._count("output_tokens", usage.output_tokens or 0)

    def _open(self, event: ev.RunEvent, kind: str, name: str, call_id: str | None = None) -> None:
        if event.span is not None:
            self.open_calls[event.span] = PendingCall(kind, name, event.seq, call_id)

    def _close(self, event: ev.RunEvent) -> int | None:
        """Closes the event's call. Returns the seq of its start; None if it is not known."""
        call = self.open_calls.pop(event.span or "", None)
        return call and call.seq

    def _error(self, event: _Ended, began: int | None, error_type: str, message: str) -> None:
        """Adds the error of a call that began at a seq. An exception that left several calls is one error: the
        innermost call's."""
        if event.outcome == CANCELLED:  # a cancellation is not an error
            return
        within = takewhile(lambda error: began is not None and error.seq > began, reversed(self.errors))
        if not any((error.error_type, error.message) == (error_type, message) for error in within):
            self.errors.append(RecordedError(event.seq, error_type, message))

    def _count(self, name: str, more: int) -> None:
        self.changes[name] = self.changes.get(name, getattr(self.start, name)) + more


def state_to_json(state: RunState) -> dict[str, Any]:
    """Plain JSON: every field under its own name, nested values as objects."""
    out: dict[str, Any] = {name: getattr(state, name) for name in RunState.__slots__}
    out["open_calls"] = [
        {"span": span, "kind": call.kind, "name": call.name, "seq": call.seq, "call_id": call.call_id}
        for span, call in state.open_calls.items()
    ]
    out["errors"] = [{"seq": e.seq, "error_type": e.error_type, "message": e.message} for e in state.errors]
    out["usage"] = None if state.usage is None else [model_usage_to_json(used) for used in state.usage]
    if state.checkpoint is not None:
        point = state.checkpoint
        out["checkpoint"] = {"seq": point.seq, "state": point.state, "thread": point.thread, "name": point.name}
    return out


def state_from_json(value: dict[str, Any]) -> RunState:
    """The inverse of `state_to_json`."""
    fields: dict[str, Any] = {name: value[name] for name in RunState.__slots__ if name in value}
    for name in ("thread", "plan"):
        fields[name] = _maybe_ref(fields.get(name))
    fields["history"] = tuple(map(ContentRef, fields.get("history", ())))
    fields["user_state"] = {key: _maybe_ref(item) for key, item in fields.get("user_state", {}).items()}
    calls = cast(list[dict[str, Any]], fields.get("open_calls", []))
    fields["open_calls"] = {c["span"]: PendingCall(c["kind"], c["name"], c["seq"], c["call_id"]) for c in calls}
    fields["errors"] = tuple(RecordedError(**note) for note in fields.get("errors", ()))
    fields.setdefault("step_calls", None)
    for name in ("pending_approvals", "compressions", "tripped"):
        fields[name] = tuple(fields.get(name, ()))
    usage = cast(list[dict[str, Any]] | None, fields.get("usage"))
    fields["usage"] = None if usage is None else tuple(ModelUsage(**used) for used in usage)
    point = fields.get("checkpoint")
    if point:
        fields["checkpoint"] = StateCheckpoint(
            point["seq"], _maybe_ref(point["state"]), _maybe_ref(point["thread"]), point.get("name")
        )
    return RunState(**fields)


def _maybe_ref(value: str | None) -> ContentRef | None:
    return None if value is None else ContentRef(value)

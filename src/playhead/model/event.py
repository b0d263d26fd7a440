"""Run events: the closed union of facts about a run, derived from spans and log events; the source of truth for state.

Every kind is one frozen class; `RunEvent` is their union, matched exhaustively wherever events are handled.  Fields
made with `ref()` name content and appear under `refs` in JSON, all others under `data`.  A kind that this version does
not know is read as `UnknownEvent` and written back as it came.
"""

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from playhead.model import names
from playhead.model.ref import ContentRef

CRITICAL, NORMAL = "critical", "normal"
_HEADER = ("id", "run", "seq", "time_ns", "span", "actor", "late")


def ref() -> Any:
    """A field that holds a ref."""
    return dataclasses.field(default=None, metadata={"ref": True})


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens as the provider reported them.  None: not reported, which is not zero.

    `compaction_...`: of the provider's own summary of the context, which none of the others has, at the same price."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    compaction_input_tokens: int | None = None
    compaction_output_tokens: int | None = None

    @property
    def total(self) -> int | None:
        """Input and output tokens together, those of compactions included; None: one of them was not reported."""
        if self.input_tokens is None or self.output_tokens is None:
            return None
        compactions = (self.compaction_input_tokens or 0) + (self.compaction_output_tokens or 0)
        return self.input_tokens + self.output_tokens + compactions

    def __add__(self, other: "TokenUsage") -> "TokenUsage":
        """Returns the tokens of both together. A number that one of them does not have is not known of both."""
        pairs = ((getattr(self, field.name), getattr(other, field.name)) for field in dataclasses.fields(self))
        return TokenUsage(*(None if None in pair else sum(pair) for pair in pairs))


@dataclass(frozen=True, kw_only=True)
class Event:
    """What all events have.  `id` is stable over re-projection; `seq` is the place in the run: 1, 2, 3, ..."""

    kind: ClassVar[str] = ""
    priority: ClassVar[str] = NORMAL

    id: str
    run: str
    seq: int
    time_ns: int
    span: str | None = None
    actor: str | None = None
    late: bool = False


@dataclass(frozen=True, kw_only=True)
class RunStarted(Event):
    """The run's outermost observed call began. `continues`: the run whose last checkpoint it begins from."""

    kind: ClassVar[str] = "run_started"
    priority: ClassVar[str] = CRITICAL
    name: str
    attempt: int = 0
    session: str | None = None
    user: str | None = None
    tags: tuple[str, ...] = ()
    continues: str | None = None
    input: ContentRef | None = ref()
    metadata: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class RunCompleted(Event):
    """The outermost call returned.  `outcome`: None, or `aborted` for a generator closed early."""

    kind: ClassVar[str] = "run_completed"
    priority: ClassVar[str] = CRITICAL
    elapsed_ms: float
    outcome: str | None = None
    output: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class RunFailed(Event):
    """The outermost call raised.  `outcome`: None; `cancelled` for a task that was cancelled, which is no error; or
    `interrupted` by what ended the program from outside (Ctrl-C, a signal's handler)."""

    kind: ClassVar[str] = "run_failed"
    priority: ClassVar[str] = CRITICAL
    elapsed_ms: float
    error_type: str = ""
    message: str = ""
    outcome: str | None = None


@dataclass(frozen=True, kw_only=True)
class RunResumed(Event):
    """A later attempt took over; the record answers up to `from_seq`, and what follows it went live."""

    kind: ClassVar[str] = "run_resumed"
    priority: ClassVar[str] = CRITICAL
    attempt: int
    from_seq: int | None = None


@dataclass(frozen=True, kw_only=True)
class RunForked(Event):
    """The run shares its parent's events before `at`.  Without it, the parent's record is not here."""

    kind: ClassVar[str] = "run_forked"
    priority: ClassVar[str] = CRITICAL
    parent_run: str
    at: int | None = None


@dataclass(frozen=True, kw_only=True)
class RunContinued(Event):
    """Another run begins from this one's last checkpoint (`run(continues=...)`)."""

    kind: ClassVar[str] = "run_continued"
    priority: ClassVar[str] = CRITICAL
    next_run: str


@dataclass(frozen=True, kw_only=True)
class RunDiverged(Event):
    """A run that goes on from a record asked something else than the record has, and went live in that branch.

    `how`: `changed` (the call at this place asks something else), `inserted` (the record has no such call here),
    `renamed` (it has it under another path), `kind_changed` (it has it as a call of another kind), or
    `not_called_again` (the program has not made it); `call` is the path of the call, `report` what differs, for a
    person.
    """

    kind: ClassVar[str] = "run_diverged"
    priority: ClassVar[str] = CRITICAL
    how: str | None = None
    call: str | None = None
    report: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class MessageAdded(Event):
    """A message entered the run's context: from a call's input, or as a model's output (`source`).

    `tags` and `preserved` (no compression removes it) are those of a managed context, from before the call."""

    kind: ClassVar[str] = "message_added"
    role: str
    source: str = "input"
    tokens: int | None = None
    tags: tuple[str, ...] = ()
    preserved: bool | None = None
    message: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class LlmCalled(Event):
    """A model call began with this thread as its context.  `parent`: the span of the nearest call around it that has
    events, such as the run's own; None where it is not known.  `prompt_mode` and `prompt_sections`, with the estimated
    tokens of each in `section_tokens`: of a system prompt that the program rendered of sections.  `task`: the name of
    its `LlmTask`; `turn`: which call of its `Agent` it is, from 1."""

    kind: ClassVar[str] = "llm_called"
    model: str | None = None
    provider: str | None = None
    operation: str | None = None
    stream: bool = False
    messages: int | None = None
    parent: str | None = None
    prompt_mode: str | None = None
    prompt_sections: tuple[str, ...] = ()
    section_tokens: tuple[int, ...] = ()
    task: str | None = None
    turn: int | None = None
    thread: ContentRef | None = ref()
    system: ContentRef | None = ref()
    tools: ContentRef | None = ref()
    request: ContentRef | None = ref()
    exact: ContentRef | None = ref()
    input: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class LlmCompleted(Event):
    """A model call returned.  `thread` holds its output messages.  `sent` and `sent_thread`: the body that was sent, of
    a library that makes it out of other arguments."""

    kind: ClassVar[str] = "llm_completed"
    model: str | None = None
    usage: TokenUsage = TokenUsage()
    finish_reasons: tuple[str, ...] = ()
    elapsed_ms: float = 0.0
    first_chunk_ms: float | None = None
    outcome: str | None = None
    thread: ContentRef | None = ref()
    response: ContentRef | None = ref()
    reasoning: ContentRef | None = ref()
    output: ContentRef | None = ref()
    sent: ContentRef | None = ref()
    sent_thread: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class LlmFailed(Event):
    """A model call raised.  `sent` and `sent_thread` are those of LlmCompleted."""

    kind: ClassVar[str] = "llm_failed"
    model: str | None = None
    elapsed_ms: float = 0.0
    error_type: str = ""
    message: str = ""
    outcome: str | None = None
    thread: ContentRef | None = ref()
    sent: ContentRef | None = ref()
    sent_thread: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class ToolCalled(Event):
    """A tool began.  `call_id` is the model's name for the request, when known; `parent`: see `llm_called`."""

    kind: ClassVar[str] = "tool_called"
    name: str
    call_id: str | None = None
    parent: str | None = None
    arguments: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class ToolCompleted(Event):
    """A tool returned."""

    kind: ClassVar[str] = "tool_completed"
    name: str
    call_id: str | None = None
    elapsed_ms: float = 0.0
    outcome: str | None = None
    result: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class ToolFailed(Event):
    """A tool raised."""

    kind: ClassVar[str] = "tool_failed"
    name: str
    call_id: str | None = None
    elapsed_ms: float = 0.0
    error_type: str = ""
    message: str = ""
    outcome: str | None = None


@dataclass(frozen=True, kw_only=True)
class StepStarted(Event):
    """A call of another kind began: `step_kind` is `retriever`, `embedding`, `guardrail`, `agent` or `step`; `model` is
    that of an embedding or a reranker; `parent`: see `llm_called`."""

    kind: ClassVar[str] = "step_started"
    name: str
    step_kind: str = "step"
    model: str | None = None
    parent: str | None = None
    input: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class StepCompleted(Event):
    """A call of another kind ended; `error_type` says whether by raising.  `outcome` of a guardrail that stops what it
    checked is `tripped`, which is critical.  `usage`: what an embedding or a reranker reported, once for a call that
    several spans describe; else None."""

    kind: ClassVar[str] = "step_completed"
    name: str
    step_kind: str = "step"
    model: str | None = None
    usage: TokenUsage | None = None
    elapsed_ms: float = 0.0
    error_type: str | None = None
    message: str | None = None
    outcome: str | None = None
    output: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class AgentHandoff(Event):
    """One agent passed the run on to another."""

    kind: ClassVar[str] = "agent_handoff"
    priority: ClassVar[str] = CRITICAL
    to: str
    reason: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class PlanCreated(Event):
    """The agent wrote down a plan."""

    kind: ClassVar[str] = "plan_created"
    priority: ClassVar[str] = CRITICAL
    plan: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class OrchestrationDecision(Event):
    """A decision that the code declared with `annotate`; the annotation holds choice, reason and alternatives."""

    kind: ClassVar[str] = "orchestration_decision"
    priority: ClassVar[str] = CRITICAL
    annotation: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class UserInterrupted(Event):
    """A person asked the run to stop, `waited_ms` before it did at this call."""

    kind: ClassVar[str] = "user_interrupted"
    priority: ClassVar[str] = CRITICAL
    by: str | None = None
    waited_ms: float | None = None
    reason: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class ApprovalRequested(Event):
    """The agent waits until a person approves of an action. `arguments`: of the tool, or the details of the action."""

    kind: ClassVar[str] = "approval_requested"
    priority: ClassVar[str] = CRITICAL
    approval: str
    tool: str | None = None
    action: str | None = None
    risk: str | None = None
    arguments: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class ApprovalGranted(Event):
    """A person approved, `waited_ms` after the request."""

    kind: ClassVar[str] = "approval_granted"
    priority: ClassVar[str] = CRITICAL
    approval: str
    by: str | None = None
    waited_ms: float | None = None
    reason: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class ApprovalDenied(Event):
    """A person refused, `waited_ms` after the request."""

    kind: ClassVar[str] = "approval_denied"
    priority: ClassVar[str] = CRITICAL
    approval: str
    by: str | None = None
    waited_ms: float | None = None
    reason: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class InputRequested(Event):
    """The agent waits for an answer of a person, or of another system; `prompt` is what it asks."""

    kind: ClassVar[str] = "input_requested"
    priority: ClassVar[str] = CRITICAL
    wait: str
    prompt: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class InputReceived(Event):
    """The agent goes on with an answer. `wait` is that of the request, if the framework says."""

    kind: ClassVar[str] = "input_received"
    priority: ClassVar[str] = CRITICAL
    wait: str | None = None
    by: str | None = None
    waited_ms: float | None = None
    value: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class ContextWarning(Event):
    """A model call's context came near the model's limit: `tokens` of `window` tokens."""

    kind: ClassVar[str] = "context_warning"
    priority: ClassVar[str] = CRITICAL
    tokens: int
    window: int
    model: str | None = None


@dataclass(frozen=True, kw_only=True)
class ContextCompressed(Event):
    """The context lost messages.  `origin` is `declared`, `inferred` from a cut between calls of one agent, or
    `provider`: the provider compacted or edited it.  `summariser`: span id of the model call that wrote the summary.

    Of a managed context also: `trigger` is `threshold`, `manual` or `limit_error`; `note` what the program said;
    `fallback` why the policy's fallback was used; `preserved` the messages that no compression removes; `policy` the
    policy as JSON."""

    kind: ClassVar[str] = "context_compressed"
    priority: ClassVar[str] = CRITICAL
    origin: str
    strategy: str | None = None
    summariser: str | None = None
    tokens_before: int | None = None
    tokens_after: int | None = None
    kept: tuple[ContentRef, ...] = ()
    summarised: tuple[ContentRef, ...] = ()
    dropped: tuple[ContentRef, ...] = ()
    preserved: tuple[ContentRef, ...] = ()
    note: str | None = None
    trigger: str | None = None
    fallback: str | None = None
    before: ContentRef | None = ref()
    after: ContentRef | None = ref()
    summary: ContentRef | None = ref()
    policy: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class StateChanged(Event):
    """`run.state[key] = value`."""

    kind: ClassVar[str] = "state_changed"
    priority: ClassVar[str] = CRITICAL
    key: str
    value: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class CheckpointCreated(Event):
    """A state that the run can be continued from."""

    kind: ClassVar[str] = "checkpoint_created"
    priority: ClassVar[str] = CRITICAL
    name: str | None = None
    state: ContentRef | None = ref()
    thread: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class ValueRead(Event):
    """The run read a clock, a seed for `random`, or a UUID, and asked for such reads to be recorded.

    `of`: what was read, where, and with which arguments around it; `value`: a number or a text.
    """

    kind: ClassVar[str] = "value_read"
    of: str | None = None
    value: float | int | str | None = None


@dataclass(frozen=True, kw_only=True)
class CustomEvent(Event):
    """An event of the program's own (`playhead.event`): its name and, as `value`, its data. `level` is its priority."""

    kind: ClassVar[str] = "custom_event"
    name: str
    level: str = NORMAL
    value: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class MetricRecorded(Event):
    """A number that the program measured (`playhead.metric`)."""

    kind: ClassVar[str] = "metric_recorded"
    name: str
    value: float
    unit: str | None = None


@dataclass(frozen=True, kw_only=True)
class ScoreRecorded(Event):
    """A score of the run, or of the span `about`: a number, a boolean, or the name of a category.

    `label` is what the evaluator calls a number, `source` the instrumentation that reported it.  A comment that is too
    long for an event is behind `explanation`.
    """

    kind: ClassVar[str] = "score_recorded"
    priority: ClassVar[str] = CRITICAL
    name: str
    value: float | bool | str
    label: str | None = None
    about: str | None = None
    source: str = ""
    comment: str | None = None
    explanation: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class EventLogged(Event):
    """A log record of somebody else's inside the run: its name, its OTLP severity number (17 and above: an error) and
    its attributes; `value` is its body.  One of an error is critical."""

    kind: ClassVar[str] = "event_logged"
    name: str
    severity: int | None = None
    attributes: dict[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    value: ContentRef | None = ref()


@dataclass(frozen=True, kw_only=True)
class UnknownEvent(Event):
    """An event of a kind that this version does not know, kept as it came."""

    original_kind: str
    original: dict[str, Any]


RunEvent = (
    RunStarted | RunCompleted | RunFailed | RunResumed | RunForked | RunContinued | RunDiverged | MessageAdded
    | LlmCalled | LlmCompleted | LlmFailed | ToolCalled | ToolCompleted | ToolFailed | StepStarted | StepCompleted
    | AgentHandoff | PlanCreated | OrchestrationDecision | UserInterrupted | ApprovalRequested | ApprovalGranted
    | ApprovalDenied | InputRequested | InputReceived | ContextWarning | ContextCompressed | StateChanged
    | CheckpointCreated | ValueRead | CustomEvent | MetricRecorded | ScoreRecorded | EventLogged | UnknownEvent
)  # fmt: skip

EVENT_TYPES: dict[str, type[Event]] = {cls.kind: cls for cls in RunEvent.__args__ if cls is not UnknownEvent}
EVENT_KINDS: tuple[str, ...] = tuple(EVENT_TYPES)


def _fields(cls: type[Event], is_ref: bool) -> tuple[str, ...]:
    return tuple(f.name for f in dataclasses.fields(cls) if f.name not in _HEADER and bool(f.metadata) == is_ref)


_DATA = {cls: _fields(cls, False) for cls in EVENT_TYPES.values()}
_REFS = {cls: _fields(cls, True) for cls in EVENT_TYPES.values()}
_TUPLES = {
    cls: tuple(f.name for f in dataclasses.fields(cls) if isinstance(f.default, tuple)) for cls in EVENT_TYPES.values()
}

_ERROR_SEVERITY = 17


def priority_of(event: RunEvent) -> str:
    """`critical` or `normal`: for a log record by its severity, for a guardrail by its outcome, for custom and unknown
    events from their own field, else by kind."""
    if isinstance(event, UnknownEvent):
        return event.original.get("priority", NORMAL)
    if isinstance(event, CustomEvent):
        return CRITICAL if event.level == CRITICAL else NORMAL
    if isinstance(event, EventLogged):
        return CRITICAL if (event.severity or 0) >= _ERROR_SEVERITY else NORMAL
    if isinstance(event, StepCompleted) and event.outcome == names.TRIPPED:
        return CRITICAL
    return event.priority


def event_to_json(event: RunEvent) -> dict[str, Any]:
    """`{id, run, seq, time_ns, kind, priority, span?, actor?, late?, data, refs}`, without fields that are None."""
    if isinstance(event, UnknownEvent):
        return event.original
    cls = type(event)
    out: dict[str, Any] = {"id": event.id, "run": event.run, "seq": event.seq, "time_ns": event.time_ns}
    out |= {"kind": cls.kind, "priority": priority_of(event)}
    out |= {name: value for name in ("span", "actor") if (value := getattr(event, name)) is not None}
    if event.late:
        out["late"] = True
    data: dict[str, Any] = {}
    for name in _DATA[cls]:
        value = getattr(event, name)
        if isinstance(value, TokenUsage):
            value = usage_to_json(value)
        if value is not None and value != () and not (cls is EventLogged and value == {}):
            data[name] = value
    out["data"] = data
    out["refs"] = {name: value for name in _REFS[cls] if (value := getattr(event, name)) is not None}
    return out


# Of a compression: lists of refs.
_REF_LISTS = ("kept", "summarised", "dropped", "preserved")


def event_from_json(value: dict[str, Any]) -> RunEvent:
    """The inverse of `event_to_json`; an unknown kind becomes an UnknownEvent."""
    header: dict[str, Any] = {name: value[name] for name in _HEADER if name in value}
    cls = EVENT_TYPES.get(value["kind"])
    if cls is None:
        return UnknownEvent(**header, original_kind=value["kind"], original=value)
    field_names = _DATA[cls]
    data: dict[str, Any] = {name: item for name, item in value["data"].items() if name in field_names}
    for name in _TUPLES[cls]:
        data[name] = tuple(data.get(name, ()))
    if cls is ContextCompressed:
        data |= {name: tuple(map(ContentRef, data[name])) for name in _REF_LISTS}
    if "usage" in data:
        data["usage"] = TokenUsage(
            **{name: count for name, count in data["usage"].items() if name in TokenUsage.__slots__}
        )
    refs: dict[str, Any] = {name: ContentRef(item) for name, item in value["refs"].items() if name in _REFS[cls]}
    return cast(RunEvent, cls(**header, **data, **refs))


def usage_to_json(usage: TokenUsage) -> dict[str, int]:
    """The reported counts, by field name."""
    return {name: value for name in usage.__slots__ if (value := getattr(usage, name)) is not None}

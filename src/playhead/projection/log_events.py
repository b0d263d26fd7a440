"""store → [projection]: the events of log records: state, checkpoints, handoffs, decisions, plans, unknown names.

OpenTelemetry instrumentations may send content in log records instead of spans; that content is added to the spans.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from playhead.model import event as ev
from playhead.model import names
from playhead.model.ref import ContentRef, is_ref
from playhead.model.span import LogEvent, Span
from playhead.projection.attributes import attempt_of, number, order_of, ref, text, whole
from playhead.projection.message_records import conversations, is_message_record
from playhead.projection.scores import score_of

_KINDS = {
    names.STATE_CHANGED: "state_changed",
    names.CHECKPOINT: "checkpoint_created",
    names.HANDOFF: "agent_handoff",
    names.ANNOTATION: "orchestration_decision",
    names.PLAN: "plan_created",
    names.COMPRESSED: "context_compressed",
    names.CONTINUED: "run_continued",
    names.RESUMED: "run_resumed",
    names.DIVERGED: "run_diverged",
    names.VALUE_READ: "value_read",
    names.APPROVAL_REQUESTED: "approval_requested",
    names.INPUT_REQUESTED: "input_requested",
    names.INPUT_RECEIVED: "input_received",
    names.USER_INTERRUPTED: "user_interrupted",
    names.EVENT: "custom_event",
    names.METRIC: "metric_recorded",
    names.CONTEXT_WARNING: "context_warning",
}
_OURS = "playhead."
_BODIES = (names.LOG_BODY + names.REF_SUFFIX, "body" + names.REF_SUFFIX)
# Attributes that are a part of the event itself, or that identify its call.
_NOT_DATA = (
    names.RUN_ID, names.RUN_ATTEMPT, names.CALL_ORDER, names.CALL_KEY, names.PROCESS_ID, names.PROCESS_AFTER,
)  # fmt: skip

_OF_SPANS: Final = "gen_ai."
_ABOUT_THE_SPAN: Final = (
    names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF, names.SYSTEM_INSTRUCTIONS_REF, names.TOOL_DEFINITIONS_REF,
    names.TOOL_ARGUMENTS_REF, names.TOOL_RESULT_REF, names.REASONING_REF, names.FINISH_REASONS,
)  # fmt: skip


def log_kind(log: LogEvent) -> str:
    """The kind of a log record's event; for a record unknown to this version, its own name."""
    if names.LOG_PART in log.attributes:  # a prompt: see `session_records`
        return ev.MessageAdded.kind
    if log.name == names.APPROVAL_RECEIVED:
        return (ev.ApprovalGranted if log.attributes.get(names.APPROVED) is True else ev.ApprovalDenied).kind
    if log.name == names.EVALUATION and score_of(log.attributes) is not None:
        return ev.ScoreRecorded.kind
    return _KINDS.get(log.name) or (log.name if log.name.startswith(_OURS) else ev.EventLogged.kind)


def attempts_in(logs: Iterable[LogEvent]) -> dict[int, int]:
    """Attempts that begin with a log event → that log event's call number, 0 without one."""
    resumed = (log.attributes for log in logs if log.name == names.RESUMED)
    return {attempt_of(attributes): order_of(attributes) or 0 for attributes in resumed}


def log_event(log: LogEvent, head: dict[str, Any], thread: ContentRef | None = None) -> ev.RunEvent:
    """Makes the event of a log record, except scores (see `scores`). `head`: the fields of all events; `thread`: the
    last input thread of the same agent."""
    attributes = log.attributes
    match log.name:
        case names.STATE_CHANGED:
            value = ref(attributes, names.VALUE_REF)
            return ev.StateChanged(**head, key=text(attributes, names.STATE_KEY) or "", value=value)
        case names.CHECKPOINT:
            name, state = text(attributes, names.CHECKPOINT_NAME), ref(attributes, names.STATE_REF)
            return ev.CheckpointCreated(**head, name=name, state=state, thread=thread)
        case names.HANDOFF:
            to = text(attributes, names.HANDOFF_TO) or ""
            return ev.AgentHandoff(**head, to=to, reason=ref(attributes, names.REASON_REF))
        case names.ANNOTATION:
            return ev.OrchestrationDecision(**head, annotation=ref(attributes, names.ANNOTATION_REF))
        case names.PLAN:
            return ev.PlanCreated(**head, plan=ref(attributes, names.PLAN_REF))
        case names.DIVERGED:
            how, call = text(attributes, names.DIVERGENCE_HOW), text(attributes, names.DIVERGENCE_CALL)
            return ev.RunDiverged(**head, how=how, call=call, report=ref(attributes, names.DIVERGENCE_REF))
        case _ if log.name in _WAITS:
            return _waits(log, head)
        case names.EVENT | names.METRIC | names.CONTEXT_WARNING | names.VALUE_READ | names.CONTINUED:
            return _own_event(log, head)
        case name if name.startswith(_OURS):
            return _unknown(log, head)
        case _:
            return _logged(log, head)


_WAITS = (
    names.APPROVAL_REQUESTED, names.APPROVAL_RECEIVED, names.INPUT_REQUESTED, names.INPUT_RECEIVED,
    names.USER_INTERRUPTED,
)  # fmt: skip


def _waits(log: LogEvent, head: dict[str, Any]) -> ev.RunEvent:
    """The event of a run that waits for a person, or that continues with the person's answer."""
    attributes = log.attributes
    wait = text(attributes, names.WAIT_ID)
    by, waited_ms = text(attributes, names.ANSWERED_BY), number(attributes, names.WAITED_MS)
    answered: dict[str, Any] = {"by": by, "waited_ms": waited_ms}
    match log.name:
        case names.APPROVAL_REQUESTED:
            tool, arguments = text(attributes, names.TOOL_NAME), ref(attributes, names.TOOL_ARGUMENTS_REF)
            action, risk = text(attributes, names.PROMISE_ACTION), text(attributes, names.PROMISE_RISK)
            return ev.ApprovalRequested(
                **head, approval=wait or "", tool=tool, action=action, risk=risk, arguments=arguments
            )
        case names.APPROVAL_RECEIVED:
            decided = ev.ApprovalGranted if attributes.get(names.APPROVED) is True else ev.ApprovalDenied
            return decided(**head, approval=wait or "", **answered, reason=ref(attributes, names.REASON_REF))
        case names.INPUT_REQUESTED:
            return ev.InputRequested(**head, wait=wait or "", prompt=ref(attributes, names.PROMPT_REF))
        case names.USER_INTERRUPTED:
            return ev.UserInterrupted(**head, **answered, reason=ref(attributes, names.REASON_REF))
        case _:
            return ev.InputReceived(**head, wait=wait, **answered, value=ref(attributes, names.VALUE_REF))


def _own_event(log: LogEvent, head: dict[str, Any]) -> ev.RunEvent:
    """The event of a record that a program made through our API: an event, a metric, a value that it read, a
    continuation, or a warning about its context."""
    attributes = log.attributes
    match log.name:
        case names.CONTINUED:
            return ev.RunContinued(**head, next_run=text(attributes, names.CONTINUES) or "")
        case names.VALUE_READ:
            return ev.ValueRead(**head, of=text(attributes, names.VALUE_OF), value=_value(attributes.get(names.VALUE)))
        case names.EVENT:
            level = ev.CRITICAL if attributes.get(names.EVENT_PRIORITY) == ev.CRITICAL else ev.NORMAL
            name, value = text(attributes, names.EVENT_NAME) or "", ref(attributes, names.VALUE_REF)
            return ev.CustomEvent(**head, name=name, level=level, value=value)
        case names.METRIC:
            name, unit = text(attributes, names.METRIC_NAME) or "", text(attributes, names.METRIC_UNIT)
            return ev.MetricRecorded(**head, name=name, value=number(attributes, names.VALUE) or 0.0, unit=unit)
        case _:
            tokens, window = whole(attributes, names.CONTEXT_TOKENS), whole(attributes, names.CONTEXT_WINDOW)
            model = text(attributes, names.REQUEST_MODEL)
            return ev.ContextWarning(**head, tokens=tokens or 0, window=window or 0, model=model)


def _value(read: Any) -> float | int | str | None:
    return read if isinstance(read, float | int | str) else None


def _logged(log: LogEvent, head: dict[str, Any]) -> ev.RunEvent:
    """The event of a log record that is not from our SDK. Its value is the body, or if that is not a ref, the only ref
    in its attributes. A coding agent's prompt becomes `message_added`."""
    if names.LOG_PART in log.attributes:
        return ev.MessageAdded(**head, role="user", message=ref(log.attributes, names.MESSAGE_REF))
    data = {name: value for name, value in log.attributes.items() if name not in _NOT_DATA}
    refs = [name for name, value in data.items() if is_ref(value)]
    body = next((name for name in _BODIES if name in refs), refs[0] if len(refs) == 1 else None)
    value = ref(data, body) if body else None
    severity = whole(data, names.LOG_SEVERITY)
    rest = {name: value for name, value in data.items() if name not in (body, names.LOG_SEVERITY)}
    return ev.EventLogged(**head, name=log.name or "log", severity=severity, attributes=rest, value=value)


def _unknown(log: LogEvent, head: dict[str, Any]) -> ev.UnknownEvent:
    """The event of a newer SDK's log record: stored under its own name, so that an updated collector can read it."""
    data = {name: value for name, value in log.attributes.items() if name not in _NOT_DATA}
    refs = {name: value for name, value in data.items() if is_ref(value)}
    original = {name: value for name, value in head.items() if value is not None}
    original |= {"kind": log.name, "priority": ev.NORMAL}
    original |= {"data": {name: value for name, value in data.items() if name not in refs}, "refs": refs}
    return ev.UnknownEvent(**head, original_kind=log.name, original=original)


def describes_call(log: LogEvent) -> bool:
    """Whether a log record describes a coding agent's call, or has content of a span."""
    if names.LOG_PART in log.attributes:
        return True
    if not log.name.startswith(_OF_SPANS):
        return False
    return is_message_record(log) or any(name in log.attributes for name in _ABOUT_THE_SPAN)


def with_log_content(spans: Sequence[Span], logs: Iterable[LogEvent]) -> Sequence[Span]:
    """The spans, completed with content from log records. A span's own attributes take precedence, then records with a
    whole conversation, then records with one message each. Returns copies; `spans` are not changed."""
    theirs = [log for log in logs if log.span_id is not None and log.name.startswith(_OF_SPANS)]
    made = {span: conversation.attributes() for span, conversation in conversations(theirs).items()}
    by_span: dict[str, dict[str, Any]] = {}
    for log in sorted(theirs, key=lambda log: (log.time_ns, log.name)):
        # Threads made of all messages replace those that a record made of the part in its own batch.
        parts = made.get(log.span_id or "", {}) if is_message_record(log) else {}
        for name in _ABOUT_THE_SPAN:
            if name in log.attributes and name not in parts:
                by_span.setdefault(log.span_id or "", {}).setdefault(name, log.attributes[name])
    for span_id, attributes in made.items():
        by_span[span_id] = attributes | by_span.get(span_id, {})
    if not by_span:
        return spans
    return [
        replace(span, attributes={**by_span[span.span_id], **span.attributes}) if span.span_id in by_span else span
        for span in spans
    ]

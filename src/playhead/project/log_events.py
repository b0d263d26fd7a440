"""store → [project]: the events of log records: state, checkpoints, handoffs, decisions, plans, what is not known."""

from collections.abc import Iterable
from typing import Any

from playhead.model import event as ev
from playhead.model import names
from playhead.model.ref import is_ref
from playhead.model.span import LogEvent
from playhead.project.attributes import attempt_of, order_of, ref, text

_KINDS = {
    names.STATE_CHANGED: "state_changed",
    names.CHECKPOINT: "checkpoint_created",
    names.HANDOFF: "agent_handoff",
    names.ANNOTATION: "orchestration_decision",
    names.PLAN: "plan_created",
    names.COMPRESSED: "context_compressed",
    names.RESUMED: "run_resumed",
    names.DIVERGED: "run_diverged",
    names.VALUE_READ: "value_read",
}
# Said by the event itself, or by what it is about.
_NOT_DATA = (names.RUN_ID, names.RUN_ATTEMPT, names.CALL_ORDER, names.CALL_KEY)


def log_kind(log: LogEvent) -> str:
    """The kind of event that a log record stands for; what this version does not know goes by its own name."""
    return _KINDS.get(log.name, log.name)


def attempts_in(logs: Iterable[LogEvent]) -> dict[int, int]:
    """Attempts that say themselves where they begin, and the numbers at which they do."""
    said = (log.attributes for log in logs if log.name == names.RESUMED)
    return {attempt_of(attributes): order_of(attributes) or 0 for attributes in said}


def log_event(log: LogEvent, head: dict[str, Any]) -> ev.RunEvent:
    """The event, with the head that it is given."""
    attributes = log.attributes
    match log.name:
        case names.STATE_CHANGED:
            value = ref(attributes, names.VALUE_REF)
            return ev.StateChanged(**head, key=text(attributes, names.STATE_KEY) or "", value=value)
        case names.CHECKPOINT:
            return ev.CheckpointCreated(**head, state=ref(attributes, names.STATE_REF))
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
        case names.VALUE_READ:
            return ev.ValueRead(**head, of=text(attributes, names.VALUE_OF), value=_value(attributes.get(names.VALUE)))
        case _:
            return _unknown(log, head)


def _value(read: Any) -> float | int | str | None:
    return read if isinstance(read, float | int | str) else None


def _unknown(log: LogEvent, head: dict[str, Any]) -> ev.UnknownEvent:
    """From a newer SDK: kept under its own name, so that nothing is lost until this collector is updated."""
    said = {name: value for name, value in log.attributes.items() if name not in _NOT_DATA}
    refs = {name: value for name, value in said.items() if is_ref(value)}
    original = {name: value for name, value in head.items() if value is not None}
    original |= {"kind": log.name, "priority": ev.NORMAL}
    original |= {"data": {name: value for name, value in said.items() if name not in refs}, "refs": refs}
    return ev.UnknownEvent(**head, original_kind=log.name, original=original)

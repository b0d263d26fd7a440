"""Writes log events: state, checkpoints, handoffs, decisions and the program's own events."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from playhead.calls import runtime
from playhead.calls.begin import process_attributes
from playhead.calls.lifecycle import current_span, is_announced
from playhead.calls.recorder import FrameList, Recorder
from playhead.calls.span import ObservedSpan
from playhead.kernel.guard import guarded, warn_once
from playhead.model import names
from playhead.model.objects.limits import CUT_SENTENCES
from playhead.model.objects.plain_forms import safe_repr
from playhead.model.ref import ContentRef

_Refer = Callable[[Recorder, FrameList], Mapping[str, ContentRef | str | Sequence[ContentRef] | None]]


def log_event(
    event: str, attributes: dict[str, Any], payloads: dict[str, Any], inside: ObservedSpan | None = None
) -> None:
    """Journals a log event of the innermost observed call, or of `inside` when no call is current."""
    span = current_span() or inside
    if span is not None:
        log_event_of(span, event, attributes, payloads)


def log_event_of(span: ObservedSpan, event: str, attributes: dict[str, Any], payloads: dict[str, Any]) -> None:
    """Journals a log event of this call."""
    log_event_with_refs(span, event, attributes, lambda to, frames: _payload_refs(to, frames, span, payloads))


def log_typed_event(
    event: str, attributes: dict[str, Any], name: str, value: object, inside: ObservedSpan | None
) -> None:
    """Journals a log event with a value that can be restored with its type."""
    span = current_span() or inside
    if span is not None:
        log_event_with_refs(span, event, attributes, lambda to, frames: typed_payload(to, frames, span, name, value))


def typed_payload(
    to: Recorder, frames: FrameList, span: ObservedSpan, name: str, value: Any
) -> dict[str, ContentRef | str | None]:
    """Records a value, and returns its attributes: the ref under `name`, and the ref of the data to restore its type,
    or the reason why it cannot be restored."""
    ref = to.payload(value, frames, span.redact, unbounded=True)
    if ref is None:
        return {names.UNRESTORABLE: "content is not recorded (PLAYHEAD_CAPTURE_CONTENT)"}
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
    attributes: dict[str, ContentRef | str | None] = {name: ref}
    attributes[names.OUTPUT_TYPE] = "text" if kind is str else "bytes" if kind is bytes else "json"
    if (cut := frames.cut) is not None:
        why: str | None = CUT_SENTENCES[cut]
    elif not to.equals_content(value, ref, span.redact, unbounded=True):
        why = "it is redacted in the record"
    else:
        attributes[names.RESTORE_REF], why = to.restore_data_ref(
            value, frames, self_contained=False, redact=span.redact, unbounded=True
        )
    if why is not None:
        attributes[names.UNRESTORABLE] = why
        warn_once(f"state {span.path} {why}", f"a state that {span.path} recorded cannot be given back later: {why}")
    return attributes


def _payload_refs(
    to: Recorder, frames: FrameList, span: ObservedSpan, payloads: Mapping[str, Any]
) -> dict[str, ContentRef | None]:
    return {name: to.payload(value, frames, span.redact) for name, value in payloads.items()}


def log_event_with_refs(span: ObservedSpan, event: str, attributes: Mapping[str, Any], refer: _Refer) -> None:
    """Journals a log event of this call with the refs that `refer` returns, unless the replayed record has it."""
    with guarded("record %s", event):
        to = runtime.recorder()
        if to is None or not span.run.recorded or span.run.is_taken_over():
            return
        replay = span.run.replay
        identity = attributes.get(names.PROMISE_KEY)
        if replay is not None and event != names.RESUMED and replay.has_log_event(event, span, identity):
            return
        frames = to.frames()
        frames.new = {}
        event_attributes: dict[str, Any] = {
            names.RUN_ID: span.run.id,
            **process_attributes(span.run, span),
            **attributes,
        }
        if span.run.attempt:
            event_attributes[names.RUN_ATTEMPT] = span.run.attempt
        number = span.run.next_start()
        if number is not None:
            event_attributes[names.CALL_ORDER] = number
        if not is_announced(span):  # after a crash this may be the only trace of the call
            event_attributes[names.CALL_KEY] = span.attributes.get(names.CALL_KEY)
        event_attributes |= {name: ref for name, ref in refer(to, frames).items() if ref is not None}
        fields = (time.time_ns(), f"{span.trace_id:032x}", f"{span.span_id:016x}", event_attributes)
        to.log(event, fields, frames)


def as_text(value: object) -> str:
    """Returns a text as it is, and a description of anything else."""
    return value if type(value) is str else safe_repr(value)

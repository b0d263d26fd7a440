"""Enters and ends an observed call after `begin`: `enter`, then exactly one of `finish`, `fail` and `abort`.

None of them raises, except `enter`: in a resumed or forked run, and in one that another process has taken over.

A framework may leave a call with an exception because the call waits for a person, and repeat the call when there is an
answer. Such an exception is neither an error nor a result; the framework's instrumentation declares it with
`register_wait_exception`.
"""

import sys
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import Token
from typing import Any, cast

from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import NonRecordingSpan, SpanContext, StatusCode, TraceFlags

from playhead.calls import mirror_span, runtime
from playhead.calls.asyncio_here import is_cancelled_error
from playhead.calls.begin import CURRENT, CURRENT_SPAN, UNRECORDED
from playhead.calls.described_errors import DescribedError, name_of, stack_trace_of
from playhead.calls.replay import Replay
from playhead.calls.span import ObservedSpan
from playhead.errors import RunStopped, RunTakenOver, is_run_stopped
from playhead.kernel.guard import guarded, log_internal_error, warn_once
from playhead.model import names
from playhead.model.objects.error_texts import error_text
from playhead.model.objects.interrupts import is_meant_for_program, reraise_if_for_program
from playhead.model.objects.kinds import plan_of
from playhead.model.objects.limits import CUT_SENTENCES, Cut
from playhead.model.objects.plain_forms import class_of
from playhead.model.objects.reading import reading

_ANNOUNCED = frozenset({"agent", "llm", "tool", "retriever", "embedding"})
_UNSET, _ERROR = StatusCode.UNSET.value, StatusCode.ERROR.value
_MAX_ERROR_TEXT = 256
_CUTS = {
    names.INPUT_REF: names.INPUT_CUT,
    names.TOOL_ARGUMENTS_REF: names.INPUT_CUT,
    names.OUTPUT_REF: names.OUTPUT_CUT,
    names.TOOL_RESULT_REF: names.OUTPUT_CUT,
}


def current_span() -> ObservedSpan | None:
    """Returns the innermost recorded call that is current here, or None."""
    span = otel.get_current().get(CURRENT)
    return span if isinstance(span, ObservedSpan) else None


# --- the beginning of a call ------------------------------------------------------------------------------------------


def enter(span: ObservedSpan) -> None:
    """Makes the span current, and journals its start if a crash must leave it visible.

    In a resumed or forked run, raises RunStopped before a function that the record has as another kind of call (with a
    recorded answer) and that would be executed now. If another process has taken the run over, raises RunTakenOver for
    steps and for calls that a record may answer. After either error the span is not current, and the caller must not
    execute the function.
    """
    _enter(span)
    owner = span.run.owner
    if owner is not None:
        # For a tool, exactly and after its announcement: a process that takes the run over at this moment either finds
        # the announcement, or is noticed here.
        lost = owner.loss(exact=span.kind == "tool" or names.REPLAYABLE in span.attributes)
        if lost is not None and (span.can_be_answered_from_record or span.kind == "step"):
            detach(span)
            raise RunTakenOver(lost)


def _enter(span: ObservedSpan) -> None:
    try:
        if not span.run.recorded:
            # Make the mirror span that the program's sampler dropped current, so that other instrumentations drop
            # their spans, too.
            where = trace.set_span_in_context(span.mirror) if span.mirror is not None else None
            span.outer = otel.get_current()
            span.token = otel.attach(otel.set_value(CURRENT, UNRECORDED, where))
            return
        if span.run.replay is not None:
            _announce_if_new(span)
        attach(span)
        if not (span.is_replayed or span.announced) and is_announced(span) and not span.run.is_taken_over():
            span.recorder.journal_start(span.fields(), span.frames)
    except RunStopped:
        raise
    except BaseException as error:  # noqa: BLE001 - a `guarded` block would take 2 % of the call
        reraise_if_for_program(error)
        log_internal_error("enter %r", error, span.name)


def is_announced(span: ObservedSpan) -> bool:
    """Whether the journal gets a record when the call starts; other kinds of calls are journaled only when they end."""
    return span.kind in _ANNOUNCED or _begins_something(span.attributes)


def is_announced_by_attributes(attributes: Mapping[str, Any]) -> bool:
    """The same as `is_announced`, for a span of which only the attributes are known."""
    return attributes.get(names.KIND) in _ANNOUNCED or _begins_something(attributes)


def _begins_something(attributes: Mapping[str, Any]) -> bool:
    return names.RUN_ROOT in attributes or names.GRAPH_NODE in attributes


def _announce_if_new(span: ObservedSpan) -> None:
    """In a resumed or forked run, announces an executed call if the record does not have it."""
    replay = span.run.replay
    if replay is not None and not span.can_be_answered_from_record:
        replay.enter_enclosing(span)
    if not (span.is_replayed or span.announced):
        announce_enclosing(span)
        _count(span)


def announce_enclosing(span: ObservedSpan) -> None:
    """Announces the enclosing calls that are still silent, and takes over the ids of the nearest one."""
    above = span.enclosing
    if above is not None:
        announce_replayed(above)
        span.trace_id, span.parent_id, span.ids = above.trace_id, above.span_id, None


def announce_replayed(span: ObservedSpan) -> None:
    """Announces a call that was silent because the record has it: something new happens inside it, or it ends anew."""
    if span.is_replayed and span.end_ns is None:
        announce_enclosing(span)
        span.is_replayed = False
        _count(span)
        if is_announced(span) and not span.run.is_taken_over():
            span.recorder.journal_start(span.fields(), span.frames)


def _count(span: ObservedSpan) -> None:
    if names.CALL_ORDER not in span.attributes:
        span.attributes[names.CALL_ORDER] = span.run.next_start()
    provider = mirror_span.mirror_provider()
    if provider is not None and span.mirror is None:
        mirror_span.start_mirror(provider, span, _outer_context(span))


def _outer_context(span: ObservedSpan) -> Context:
    """Returns the OpenTelemetry context that was current when the call began."""
    if span.enclosing is not None:
        return trace.set_span_in_context(span.enclosing, Context())
    if span.parent_id is None:
        return Context()
    outer = SpanContext(span.trace_id, span.parent_id, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
    return trace.set_span_in_context(NonRecordingSpan(outer), Context())


# --- which call is current --------------------------------------------------------------------------------------------


def attach(span: ObservedSpan, where: Context | None = None) -> None:
    """Makes the span current in this context until `detach`. `where` is the context that `pause` returned."""
    span.outer = outer = otel.get_current()  # first: a signal's handler may raise before the token is stored
    if where is None:
        where = Context({**outer, CURRENT_SPAN: span, CURRENT: span})
    span.token = otel.attach(where)


def pause(span: ObservedSpan) -> Context:
    """Undoes `attach` for a call that continues later. Returns the context to pass to `attach` then."""
    where = otel.get_current()
    detach(span)
    return where


def reset_context(token: Token[Context]) -> None:
    """Undoes the `otel.attach` that returned the token. Does nothing if the token is of another context (of a task or a
    thread), or was used already: `otel.detach` would log an error then."""
    try:
        token.var.reset(token)
    except (ValueError, RuntimeError):
        return
    except AttributeError:  # OTEL_PYTHON_CONTEXT names an implementation with tokens of its own
        otel.detach(token)


def detach(span: ObservedSpan) -> None:
    """Undoes `attach`, also if a signal's handler has interrupted the `attach` or an earlier `detach`.

    A token of another context (a generator that was finished elsewhere) is ignored.
    """
    token: Token[Context] | None = span.token
    if token is not None:
        reset_context(token)
    elif span.outer is not None and otel.get_current().get(CURRENT) is (span if span.run.recorded else UNRECORDED):
        otel.attach(span.outer)
    span.token = span.outer = None


@contextmanager
def as_current(span: ObservedSpan) -> Generator[None]:
    """Makes a started span current for a block. Unlike `attach`, it may be used in several tasks at a time."""
    token = otel.attach(Context({**otel.get_current(), CURRENT_SPAN: span, CURRENT: span}))
    try:
        yield
    finally:
        reset_context(token)


# --- the end of a call ------------------------------------------------------------------------------------------------


def finish(
    span: ObservedSpan,
    output_name: str | None = None,
    output: object = None,
    items: list[Any] | None = None,
    not_restorable: str | None = None,
) -> None:
    """Ends a call that returned. `output_name` is the attribute for the ref of `output`; `items` are the values that
    a generator yielded; `not_restorable` says why the result cannot be given back on replay."""
    if span.run.replay is not None and not _may_end(span, span.run.replay):
        return
    try:
        if span.run.recorded and not span.is_replayed:
            if output_name is not None:
                set_payload(span, output_name, output)
            if span.kind == "guardrail" and _is_tripped(output):
                span.attributes[names.OUTCOME] = names.TRIPPED
            if names.RESPONSE_REF in span.attributes or not span.can_be_answered_from_record:
                pass
            elif not_restorable is not None:
                span.attributes[names.UNRESTORABLE] = not_restorable
            else:
                _keep_faithful(span, output, output_name, items)
            is_agents = names.RUN_ROOT in span.attributes and span.kind not in names.CALL_KINDS
            if span.run.replay is not None and is_agents:  # after a call without an agent, others may come
                span.run.replay.run_ended(span)
    except BaseException as error:  # noqa: BLE001 - a `guarded` block would take 2 % of the call
        reraise_if_for_program(error)
        log_internal_error("record the output of %r", error, span.name)
    finally:
        _end(span)


def fail(span: ObservedSpan, raised: BaseException, not_restorable: str | None = None) -> None:
    """Ends a call that raised, was cancelled, or was closed early. `not_restorable` says why its outcome cannot be
    given back on replay."""
    if isinstance(raised, GeneratorExit):
        abort(span)
        return
    if is_run_stopped(raised) and (span.run.replay is not None or span.run.is_taken_over()):
        _leave_open(span)
        return
    if span.end_ns is not None:  # a signal's handler raised after the call had ended
        detach(span)
        return
    if span.run.replay is not None and not _may_end(span, span.run.replay):
        return
    try:
        with guarded("record the error of %r", span.name):
            if span.run.recorded and not span.is_replayed:
                _describe_error(span, raised)
                if (note := wait_recorder_of(raised)) is not None:
                    _set_waiting(span, raised, note)
                # A TimeoutError is an outcome that programs handle; an exception that ends the program is not.
                if not isinstance(raised, Exception) and is_meant_for_program(raised):
                    span.attributes.setdefault(names.OUTCOME, names.INTERRUPTED)
                if not_restorable is not None and span.can_be_answered_from_record:
                    span.attributes[names.UNRESTORABLE] = not_restorable
    finally:
        _end(span)


def fail_and_detach(span: ObservedSpan, raised: BaseException) -> None:
    """Calls `fail`, and makes the span not current even if a signal's handler raises meanwhile."""
    try:
        fail(span, raised)
    finally:
        detach(span)


def note_error(span: ObservedSpan, raised: BaseException) -> None:
    """Marks a call as failed although its framework returns a result for the error; `finish` then records that
    result."""
    with guarded("record the error of %r", span.name):
        if span.run.recorded and not span.is_replayed:
            _describe_error(span, raised)


def abort(
    span: ObservedSpan,
    output_name: str | None = None,
    output: object = None,
    items: list[Any] | None = None,
    not_restorable: str | None = None,
) -> None:
    """Ends a generator or stream that was closed before its end. This is not an error: its output is what it yielded.
    In a run that was stopped the call stays open: its consumer did not choose to leave, and continues to read in the
    next attempt."""
    if span.run.replay is not None and span.run.replay.is_stopped:
        _leave_open(span)
        return
    span.attributes[names.OUTCOME] = "aborted"
    finish(span, output_name, output, items, not_restorable)


def _may_end(span: ObservedSpan, replay: Replay[ObservedSpan]) -> bool:
    """Prepares the end of a call of a resumed or forked run. Returns False for an enclosing call of a stopped run: it
    stays open, even if the program handled the RunStopped as an error of a tool."""
    with guarded("end %r", span.name):
        if replay.is_stopped and not span.can_be_answered_from_record:
            _leave_open(span)
            return False
        if span.is_replayed:
            replay.on_unrecorded_end(span)
    return True


def _keep_faithful(span: ObservedSpan, output: object, output_name: str | None, items: list[Any] | None) -> None:
    """Records what is needed beside the plain content to restore this result with its types."""
    recorded = span.attributes.get(output_name) if output_name is not None else None
    if recorded is None:
        span.attributes[names.UNRESTORABLE] = "its result is not recorded"
        return
    cut = span.attributes.get(names.OUTPUT_CUT)
    if cut == "room":  # OUTPUT_CUT is reason enough: the journal has warned, and spans must be short when it is full
        return
    if cut == "size":
        _unrestorable(span, CUT_SENTENCES[cut])
        return
    if not span.recorder.equals_content(output, recorded, span.redact):
        span.attributes[names.UNRESTORABLE] = "its result is redacted in the record"
        return
    value: Any = output if items is None else items
    kind: Any = type(value)  # pyright: ignore[reportUnknownVariableType]
    span.attributes[names.OUTPUT_TYPE] = (
        "items" if items is not None else "text" if kind is str else "bytes" if kind is bytes else "json"
    )
    ref, why = span.recorder.restore_data_ref(value, span.frames, self_contained=items is not None, redact=span.redact)
    if ref is not None:
        span.attributes[names.RESTORE_REF] = ref
    elif why is not None:
        _unrestorable(span, why)
    elif cut is not None:  # the content is cut, and nothing whole is kept beside it
        _unrestorable(span, CUT_SENTENCES[cut])


def _unrestorable(span: ObservedSpan, why: str) -> None:
    span.attributes[names.UNRESTORABLE] = why
    warn_once(f"unrestorable {span.name}", f"{span.name} would be executed again on resume: {why}")


@reading()
def _is_tripped(output: object) -> bool:
    """Whether a guardrail's result has `tripwire_triggered` (as in OpenAI Agents) or `tripped` set to True, as an
    attribute or a key."""
    kind = class_of(output)
    if plan_of(kind).reading == "type only":  # a lazy or infrastructure object, whose attributes must not be read
        return False
    if issubclass(kind, dict):
        fields = cast("dict[str, Any]", output)
        return fields.get("tripwire_triggered") is True or fields.get("tripped") is True
    return getattr(output, "tripwire_triggered", None) is True or getattr(output, "tripped", None) is True


def set_payload(span: ObservedSpan, name: str, value: object, *, unbounded: bool = False) -> None:
    """Records a payload of the call, and sets the attribute `name` to its ref. A large value is cut, and another
    attribute says so; with `unbounded` it is recorded whole."""
    ref = span.recorder.payload(value, span.frames, span.redact, unbounded=unbounded)
    if ref is not None:
        span.attributes[name] = ref
        if span.frames.cut is not None and name in _CUTS:
            _note_cut(span, _CUTS[name], span.frames.cut)


def _note_cut(span: ObservedSpan, name: str, cut: Cut) -> None:
    if name == names.INPUT_CUT and cut == "room":  # resume compares inputs by the digest; spans must be short now
        span.attributes[names.INPUT_DIGEST] = span.frames.dropped.hex()
    else:
        span.attributes[name] = cut


def _leave_open(span: ObservedSpan) -> None:
    """Leaves a call of a stopped run without an end: it stays open, as after a crash, for the next attempt."""
    detach(span)
    _stop_recording_values(span)


def _stop_recording_values(span: ObservedSpan) -> None:
    """When the first call of a run is over, nothing else that it reads (the clock, random numbers) is recorded."""
    if span.run.values is not None and names.RUN_ROOT in span.attributes:
        span.run.values.run_ended()


def _end(span: ObservedSpan) -> None:
    try:
        detach(span)
        if span.end_ns is not None:
            return
        run, attributes = span.run, span.attributes
        _stop_recording_values(span)
        if not run.recorded or span.is_replayed or run.is_taken_over():
            span.end_ns = span.start_ns
        elif attributes.get(names.PROCESS_ID) != run.process:
            span.end_ns = span.start_ns
            return  # in a forked child: the parent began this call, and ends it
        else:
            if names.CALL_ORDER in attributes:
                attributes[names.CALL_ENDED_AFTER] = run.last
                attributes[names.CALL_END_ORDER] = next(run.ends)
            span.end_ns = time.time_ns()
            if span.kind == "llm" and (on_model_call := runtime.current.on_model_call) is not None:
                on_model_call(span)
            span.recorder.journal_end(span.fields(), span.frames)
        if span.mirror is not None:
            mirror_span.end_mirror(span, span.mirror)
    except BaseException as error:  # noqa: BLE001 - a `guarded` block would take 2 % of the call
        reraise_if_for_program(error)
        log_internal_error("end %r", error, span.name)


# --- errors -----------------------------------------------------------------------------------------------------------


@reading()
def _describe_error(span: ObservedSpan, raised: BaseException) -> None:
    span.attributes[names.ERROR_TYPE] = error_type = name_of(raised)
    span.status = _ERROR  # first, since near the recursion limit everything below may fail
    described = _description(span, raised, error_type)
    if is_cancellation(raised):  # the caller went away: OpenTelemetry does not call that an error either
        span.attributes[names.OUTCOME] = "cancelled"
        span.status = _UNSET
    else:
        span.status_message = described.status_message
    if described.ref is not None:
        span.attributes[names.ERROR_REF] = described.ref


def _description(span: ObservedSpan, raised: BaseException, error_type: str) -> DescribedError:
    """Returns the description to record for the exception: that of the inner call which raised it, if it still fits,
    else a new one."""
    description, above = span.error_inside, span.enclosing
    if description is None or not description.serves(
        raised, span.redact, needs_restoring=span.can_be_answered_from_record
    ):
        message = error_text(raised, if_broken="")
        status_message = span.recorder.text(message, span.redact)[:_MAX_ERROR_TEXT]
        fields = {"type": error_type, "message": message, "stacktrace": stack_trace_of(raised, message)}
        to_restore = raised if span.can_be_answered_from_record else None
        ref = span.recorder.error(fields, to_restore, span.frames, span.redact)
        description = DescribedError(raised, ref, status_message, span.redact, restorable=to_restore is not None)
    span.error_inside = None
    if above is not None:
        above.error_inside = description
    return description


def is_cancellation(raised: BaseException) -> bool:
    """Whether the task that made the call was cancelled: by asyncio, by anyio on top of it, or by Trio."""
    if isinstance(raised, BaseExceptionGroup):
        return all(map(is_cancellation, cast("BaseExceptionGroup[BaseException]", raised).exceptions))
    trio: Any = sys.modules.get("trio")
    cancelled: Any = getattr(trio, "Cancelled", None)  # another thread may be importing it
    return is_cancelled_error(raised) or (cancelled is not None and isinstance(raised, cancelled))


# --- calls that wait for a person -------------------------------------------------------------------------------------

RecordWait = Callable[[ObservedSpan, Any], object]
"""Records on the span of the call that raised this exception what the call waits for. Never raises."""

_wait_exceptions: dict[type[BaseException], RecordWait] = {}


def register_wait_exception(kind: type[BaseException], note: RecordWait) -> None:
    """Declares that a call which raises an exception of this class is waiting. `note` records what it waits for."""
    _wait_exceptions[kind] = note


def wait_recorder_of(raised: BaseException) -> RecordWait | None:
    """Returns the declared function that records what a call waits for when it raises this exception; None: the call
    does not wait."""
    return next((note for kind, note in _wait_exceptions.items() if isinstance(raised, kind)), None)


def _set_waiting(span: ObservedSpan, raised: BaseException, note: RecordWait) -> None:
    """Turns a described error into the outcome `waiting`: a resume raises the same exception again."""
    span.attributes[names.OUTCOME] = names.WAITING
    span.attributes.pop(names.ERROR_TYPE, None)
    span.status, span.status_message = _UNSET, ""
    note(span, raised)

"""Creates the span of an observed call: finds its run, its call path in the run, and the attributes known at its
start.
"""

import sys
from typing import Any

from opentelemetry import context as otel
from opentelemetry import trace
from opentelemetry.context import Context

from playhead.calls import mirror_span, runtime
from playhead.calls.conversations import RequestMessages
from playhead.calls.flow import current_flow, main_flow
from playhead.calls.grouping import UnattendedCall, run_of_call
from playhead.calls.joining import joined_call, linked_runs
from playhead.calls.labels import labels_in
from playhead.calls.own_code import Launcher, NamedFunctions, started_program
from playhead.calls.recorder import Recorder, Redact
from playhead.calls.run import ActiveRun, NextRun
from playhead.calls.span import ObservedSpan
from playhead.compat.opentelemetry import SUPPRESSED
from playhead.kernel.guard import log_internal_error
from playhead.kernel.ids import new_span_id, new_trace_id, process_name
from playhead.model import names
from playhead.model.digest import sha256
from playhead.model.objects.interrupts import reraise_if_for_program
from playhead.model.objects.reading import READING

CURRENT = otel.create_key("playhead-current")
NEXT_RUN = otel.create_key("playhead-next-run")
UNRECORDED = ActiveRun(recorded=False, run_id="0" * 32)
# Where OpenTelemetry keeps the current span in a context: setting both keys at once copies the context once, not twice.
[CURRENT_SPAN] = trace.set_span_in_context(trace.INVALID_SPAN, Context())
_OPERATIONS = {"agent": "invoke_agent", "tool": "execute_tool", "retriever": "retrieval", "embedding": "embeddings"}
# Characters of a call path. The beginning of a longer one (of a deep recursion) is replaced by its hash.
_MAX_PATH_LENGTH = 400


def begin(
    kind: str | None,
    name: str,
    *,
    span_name: str | None = None,
    attributes: dict[str, Any] | None = None,
    redact: Redact | None = None,
    root: dict[str, Any] | None = None,
    where: Context | None = None,
    request: RequestMessages | None = None,
) -> ObservedSpan | None:
    """Creates the span of a call that is about to be made. The span is neither current nor in the journal yet
    (`lifecycle.enter` does both). None: the call is not recorded, and there is nothing to end. Never raises.

    Without a `kind` the call is an agent if a run begins here, else a step. `root`: attributes to set if a run begins
    here. `where`: the current context, if the caller has it already. `request`: the messages of a model call.
    """
    try:
        if where is None:
            where = otel.get_current()
        above = where.get(CURRENT)
        if above is UNRECORDED or where.get(SUPPRESSED) or READING.active:
            return None
        if sys.is_finalizing():  # a thread that Python has stopped may hold any lock for ever
            return None
        to = runtime.current.recorder or runtime.recorder()
        if to is None:
            return None
        if isinstance(above, ObservedSpan):
            span = _child(to, _open_call(above), kind or "step", name, redact)
            if (around := where.get(CURRENT_SPAN)) is not above and isinstance(around, trace.Span):
                _link(span, around)  # the program has made a context from outside current inside this run
        elif (handed := _handed_call(to, where)) is not None:
            span = _child(to, handed, kind or "step", name, redact)
        else:
            span = _root(to, where, kind or "agent", name, root, request)
            span.redact = redact
            span.path = name
            if span.run.describe_root is not None:
                span.run.describe_root(span)
        _describe(span, span_name, attributes)
        _label(span, where)
        _sampled(to, span, where)
        span.run.is_decided = True
        return span
    except BaseException as error:  # noqa: BLE001 - a `guarded` block would take 2 % of the call
        reraise_if_for_program(error)
        log_internal_error("begin observing %r", error, name)
        return None


def _open_call(above: ObservedSpan) -> ObservedSpan:
    """Returns the enclosing call of one that begins now: `above`, or the nearest one around it if `above` is a model
    call that has ended.

    Other instrumentations of streams keep a context while ours is current in it, and restore that context when they
    end, which may be after ours.
    """
    while above.kind == "llm" and above.end_ns is not None and above.enclosing is not None:
        above = above.enclosing
    return above


def _child(to: Recorder, above: ObservedSpan, kind: str, name: str, redact: Redact | None) -> ObservedSpan:
    span = ObservedSpan(to, above.run, kind, name, above.trace_id, new_span_id(), above.span_id)
    span.enclosing = above
    span.redact = redact or above.redact
    span.path = f"{above.path}/{name}"
    if len(span.path) > _MAX_PATH_LENGTH:
        span.path = _shortened(span.path)
    return span


def _handed_call(to: Recorder, where: Context) -> ObservedSpan | None:
    """Returns the call of another process that the context names and that this call becomes a child of. None: the
    context names none to join, or a run to resume or fork still has to begin."""
    rewinding = _rewinding(where)
    if rewinding is not None and rewinding.is_waiting:
        return None
    return joined_call(trace.get_current_span(where).get_span_context(), to)


def _link(span: ObservedSpan, around: trace.Span) -> None:
    """Sets the attribute `LINKED_RUNS` to the ids of other runs that the context around the call names, if any."""
    if linked := linked_runs(around, around.get_span_context(), span.run.id):
        span.attributes[names.LINKED_RUNS] = linked


def _root(
    to: Recorder, where: Context, kind: str, name: str, root: dict[str, Any] | None, request: RequestMessages | None
) -> ObservedSpan:
    """Starts a run for an agent; another call without a parent starts one or joins the run that `grouping` finds."""
    around = trace.get_current_span(where)
    outer = around.get_span_context()
    run, is_first = _run_of_root(to, where, kind, name, request)
    trace_id = outer.trace_id if outer.is_valid else run.trace_id or new_trace_id()
    span = ObservedSpan(to, run, kind, name, trace_id, new_span_id(), outer.span_id if outer.is_valid else None)
    span.attributes = {names.RUN_ROOT: True, names.RUN_NAME: name, **run.root}
    if (program := started_program()) is not None:
        span.attributes[names.PROGRAM] = program
    if is_first and not run.attempt:
        span.attributes[names.RUN_PROCESS] = process_name()
    if root:
        span.attributes |= root
    if run.is_named_by_span:
        span.attributes[names.RUN_NAME] = getattr(around, "name", span.attributes[names.RUN_NAME])
    elif run.name is not None:
        span.attributes[names.RUN_NAME] = run.name
    _link(span, around)
    if is_first:
        _start_run(span, trace_id)
    return span


def _run_of_root(
    to: Recorder, where: Context, kind: str, name: str, request: RequestMessages | None
) -> tuple[ActiveRun, bool]:
    """Returns the run of a call without a parent, and whether the run begins with this call."""
    rewinding = _rewinding(where)

    def next_run() -> ActiveRun | None:
        return rewinding.take() if rewinding is not None else None

    if kind in names.CALL_KINDS:
        around, tool = trace.get_current_span(where), name if kind == "tool" else None
        run, is_first = run_of_call(UnattendedCall(to, where, around, where.get(NEXT_RUN), next_run, tool, request))
    else:
        run, is_first = next_run() or ActiveRun(), True
    if is_first and run.replay is None:
        run.earlier = rewinding
    return run, is_first


def _start_run(span: ObservedSpan, trace_id: int) -> None:
    """Prepares the run that begins with this call."""
    run, setup = span.run, runtime.current
    run.trace_id = trace_id
    if Launcher.name is not None:
        span.attributes[names.LAUNCH] = Launcher.name
    if NamedFunctions.names:
        span.attributes[names.RECORDED_FUNCTIONS] = list(NamedFunctions.names)
    if setup.own is not None and run.owner is None and not run.is_trace:
        run.owner = setup.own(run)
    if setup.on_run_start is not None:
        setup.on_run_start(span)


def _rewinding(where: Context) -> NextRun | None:
    """Returns the run to resume or fork, from a surrounding `resume()` or `fork()` or from the environment of this
    process; None if there is none."""
    next_run = where.get(NEXT_RUN) or runtime.current.next_run
    return next_run if isinstance(next_run, NextRun) else None


def _sampled(to: Recorder, span: ObservedSpan, where: Context) -> None:
    """Decides whether the run is recorded: by the program's tracer provider if it has one, else by
    OTEL_TRACES_SAMPLER."""
    provider = mirror_span.mirror_provider()
    if provider is not None:
        if span.run.recorded and span.run.replay is None:
            mirror_span.start_mirror(provider, span, where)
    elif not span.run.is_decided and not to.always and span.run.replay is None:
        # Without a provider OTEL_TRACES_SAMPLER decides. A run is recorded whole or not at all.
        decision = to.provider.sampler.should_sample(where, span.trace_id, span.name).decision
        span.run.recorded = decision.is_sampled()


def _describe(span: ObservedSpan, span_name: str | None, attributes: dict[str, Any] | None) -> None:
    run, kind, name = span.run, span.kind, span.name
    span_attributes = span.attributes
    span_attributes[names.KIND] = kind
    span_attributes[names.RUN_ID] = run.id
    span_attributes[names.RUN_ATTEMPT] = run.attempt
    if not run.is_trace:
        process, key = run.process, f"{span.path}:{kind}"
        span_attributes[names.CALL_KEY] = f"{key}#{run.occurrence(key)}"
        if process is not None:
            span_attributes |= process_attributes(run, span.enclosing)
        else:
            is_first = names.RUN_ROOT in span_attributes and not run.is_decided
            flow = span.flow = main_flow(run) if is_first else current_flow(run)
            if flow.name:
                span_attributes[names.FLOW] = flow.name
        if run.replay is None:  # else it gets its number once it is known that the record does not have it
            span_attributes[names.CALL_ORDER] = run.next_start()
    operation = _OPERATIONS.get(kind)
    if operation is not None:
        span_attributes[names.OPERATION] = operation
        if kind == "agent":
            span_attributes[names.AGENT_NAME] = name
        elif kind == "tool":
            span_attributes[names.TOOL_NAME] = name
    if attributes:
        span_attributes.update(attributes)
    span.name = span_name or (f"{operation} {name}" if operation else name)


def _label(span: ObservedSpan, where: Context) -> None:
    if span.kind == "llm":
        span.attributes |= labels_in(where)


def process_attributes(run: ActiveRun, around: ObservedSpan | None) -> dict[str, Any]:
    """Returns the attributes that name this process of the run; empty in the process that began the run. If `around`,
    the enclosing call, is of another process, they also hold the last number which that process had counted
    (`PROCESS_AFTER`)."""
    process = run.process
    if process is None:
        return {}
    attributes = {names.PROCESS_ID: process}
    if around is not None and around.attributes.get(names.PROCESS_ID) != process:
        after = run.forked_after or around.attributes.get(names.PROCESS_AFTER)
        if after is not None:
            attributes[names.PROCESS_AFTER] = after
    return attributes


def _shortened(path: str) -> str:
    digest = sha256(path[: -_MAX_PATH_LENGTH // 2].encode("utf-8", "replace")).hexdigest()[:16]
    return f"...{digest}{path[-_MAX_PATH_LENGTH // 2 :]}"

"""Finds the run of calls that begin in a context from outside (of another process).

| the context | the calls belong to |
|---|---|
| names a run (`trace_state`) | that run, inside the call that was handed on |
| names a run that was handed on long ago, or the settings say `link` | a new run, which links to the named run |
| has only a trace | a new run: runs of one trace are found by the trace id |

In the run of another process, this process has an id and a counter of its own, the same for all parts of that run that
it is handed, as long as the run is among the last 256.
"""

import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext

from playhead.calls import runtime
from playhead.calls.propagation import call_of_this_process, run_of_this_process
from playhead.calls.recorder import Recorder
from playhead.calls.run import ActiveRun
from playhead.calls.span import ObservedSpan
from playhead.calls.trace_state import HandedCall, handed_call
from playhead.kernel.forks import ForkSafeLock
from playhead.kernel.ids import new_process_id
from playhead.model import names

# Runs of other processes that this one has a part of. A forgotten run gets a new process id and a new counter.
_MAX_PARTS = 256
# OpenTelemetry's SDK keeps the same number of links per span.
_MAX_LINKS = 128


class _Parts:
    """This process's parts of other processes' runs, the most recently used ones."""

    mutex = ForkSafeLock()
    runs: ClassVar[OrderedDict[tuple[str, int], ActiveRun]] = OrderedDict()


def forget_parts() -> None:
    """Forgets this process's parts of other runs. Called when recording starts anew: later parts get new counters."""
    with _Parts.mutex:
        _Parts.runs.clear()


def joined_run(context: SpanContext) -> str | None:
    """Returns the id of the run that calls in this context join; None if they join none."""
    call = handed_call(context)
    return call.run_id if call is not None and _is_joined(call) else None


def joined_call(context: SpanContext, recorder: Recorder) -> ObservedSpan | None:
    """Returns the call of the joined run that encloses calls in this context; None if they join no run.

    For a call of another process, this is a span with the ids of that call. It is never written: the other process
    writes it.
    """
    call = handed_call(context)
    if call is None or not _is_joined(call):
        return None
    here = call_of_this_process(call)
    if isinstance(here, ObservedSpan):
        return here
    local_run = run_of_this_process(call)
    span = ObservedSpan(
        recorder, local_run or _part_of(call), "step", "remote call", context.trace_id, call.span_id, None
    )
    span.path = span.name
    span.outer = trace.set_span_in_context(trace.NonRecordingSpan(context), Context())
    if local_run is not None and local_run.process is not None:
        span.attributes[names.PROCESS_ID] = local_run.process
    elif local_run is None and call.number:
        span.attributes[names.PROCESS_AFTER] = f"{call.process}#{call.number}"
    return span


def linked_runs(around: object, context: SpanContext, run_id: str | None = None) -> list[str]:
    """Returns the ids of the runs that the context or a link of the span `around` (of any library) names, without
    `run_id`, the run of the calls themselves. At most 128.

    Links matter for a consumer of several messages, whose span links to the sender of each.
    """
    if runtime.current.incoming_runs == "ignore":
        return []
    run_ids = dict.fromkeys(call.run_id for call in _calls_in([context, *_contexts_of_links(around)]))
    return [run for run in run_ids if run != run_id][:_MAX_LINKS]


def _contexts_of_links(around: object) -> Iterator[SpanContext]:
    links: Any = getattr(around, "links", None) or ()
    for link in links[:_MAX_LINKS]:
        yield link.context


def _calls_in(contexts: Iterable[SpanContext]) -> Iterator[HandedCall]:
    for context in contexts:
        if (call := handed_call(context)) is not None:
            yield call


def _is_joined(call: HandedCall) -> bool:
    settings = runtime.current
    return settings.incoming_runs == "join" and time.time() - call.time_s <= settings.join_seconds


def _part_of(call: HandedCall) -> ActiveRun:
    """Returns this process's part of another process's run. It is recorded: a process hands on only recorded runs."""
    key = call.run_id, call.attempt
    with _Parts.mutex:
        run = _Parts.runs.get(key)
        if run is None:
            run = ActiveRun(run_id=call.run_id, attempt=call.attempt, process=new_process_id())
            run.is_decided = True
            owner_of = runtime.current.own
            run.owner = owner_of(run) if owner_of is not None else None
            _Parts.runs[key] = run
        _Parts.runs.move_to_end(key)
        if len(_Parts.runs) > _MAX_PARTS:
            _Parts.runs.popitem(last=False)
    return run

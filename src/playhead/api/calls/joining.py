"""Calls that begin in a context from outside: which run they belong to.

| the context | the calls belong to |
|---|---|
| names a run (`trace_state`) | that run, inside the call that was handed on |
| names one that was handed on long ago, or the settings say to link | a run of their own, which names that run |
| has only a trace | a run of their own: what shares a trace is found by the trace |

In the run of another process, this one has an id and a count of its own: one for all that it is handed of the run, as
long as it remembers.
"""

import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import SpanContext

from playhead.api import runtime
from playhead.api.calls.handing_on import call_of_this_process, run_of_this_process
from playhead.api.calls.span import ObservedSpan
from playhead.api.calls.trace_state import HandedCall, handed_call
from playhead.api.forks import fork_safe_lock
from playhead.api.ids import new_process_id
from playhead.api.ports import Recorder
from playhead.api.run import ActiveRun
from playhead.model import names

# Runs of other processes that this one has a part of. One that was forgotten begins a new count under a new id.
_MAX_PARTS = 256
# As many as OpenTelemetry's SDK keeps of a span's links.
_MAX_LINKS = 128


class _Parts:
    """This process's parts of other processes' runs, those that were used last."""

    mutex = fork_safe_lock()
    runs: ClassVar[OrderedDict[tuple[str, int], ActiveRun]] = OrderedDict()


def forget_parts() -> None:
    """Forgets this process's parts of runs, when recording starts anew: what it is handed then is counted anew."""
    with _Parts.mutex:
        _Parts.runs.clear()


def joined_run(context: SpanContext) -> str | None:
    """The id of the run that calls in this context join; None if they join none."""
    call = handed_call(context)
    return call.run_id if call is not None and _is_joined(call) else None


def joined_call(context: SpanContext, recorder: Recorder) -> ObservedSpan | None:
    """The call that calls in this context are inside of, of the run that they join; None if they join none.

    A call of another process is a span with that one's ids, which is never written: the other process does that.
    """
    call = handed_call(context)
    if call is None or not _is_joined(call):
        return None
    here = call_of_this_process(call)
    if isinstance(here, ObservedSpan):
        return here
    own = run_of_this_process(call)
    span = ObservedSpan(recorder, own or _part_of(call), "step", "remote call", context.trace_id, call.span_id, None)
    span.path = span.name
    span.outer = trace.set_span_in_context(trace.NonRecordingSpan(context), Context())
    if own is not None and own.process is not None:
        span.attributes[names.PROCESS_ID] = own.process
    elif own is None and call.number:
        span.attributes[names.PROCESS_AFTER] = f"{call.process}#{call.number}"
    return span


def linked_runs(around: Any, context: SpanContext, run_id: str | None = None) -> list[str]:
    """Ids of the runs that `around`, a span of any make with this context, names and that calls in it do not join.

    A consumer of several messages links to where each came from. `run_id`: the run that the calls belong to.
    """
    if runtime.current.incoming_runs == "ignore":
        return []
    found = dict.fromkeys(call.run_id for call in _calls_in([context, *_contexts_of_links(around)]))
    return [run for run in found if run != run_id][:_MAX_LINKS]


def _contexts_of_links(around: Any) -> Iterator[SpanContext]:
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
    """This process's part of another process's run. It is recorded: no such entry is sent for a run that is not."""
    key = call.run_id, call.attempt
    with _Parts.mutex:
        run = _Parts.runs.get(key)
        if run is None:
            run = ActiveRun(run_id=call.run_id, attempt=call.attempt, process=new_process_id())
            run.is_decided = True
            own = runtime.current.own
            run.owner = own(run) if own is not None else None
            _Parts.runs[key] = run
        _Parts.runs.move_to_end(key)
        if len(_Parts.runs) > _MAX_PARTS:
            _Parts.runs.popitem(last=False)
    return run

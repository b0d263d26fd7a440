"""The trace context in a request's `_meta`: what a server does for a recorded call belongs to that call and its run.

mcp 2 writes and reads `traceparent` and `tracestate` itself, by OpenTelemetry's propagator; before 2.0 we do. The entry
in `tracestate` that names the run is that of `api.calls.trace_state`.
"""

from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any, cast

from opentelemetry import trace
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from playhead.api import runtime
from playhead.api.calls.lifecycle import current_span, inside
from playhead.api.calls.mirror_span import add_run_id_processor
from playhead.api.calls.span import ObservedSpan
from playhead.api.calls.trace_state import RemoteCall, remote_call, with_call
from playhead.api.run import ActiveRun
from playhead.capture.frameworks import none_on_error
from playhead.model import names

_propagator = TraceContextTextMapPropagator()
_under_way: dict[int, ObservedSpan] = {}
"""Calls of this process that a server is working on, by their span ids: the server may run in this process."""


@contextmanager
def under_way(span: ObservedSpan) -> Generator[None]:
    """Around the sending of a call and the wait for its answer."""
    number = span.span_id
    _under_way[number] = span
    try:
        yield
    finally:
        _under_way.pop(number, None)


async def handle_request(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Wraps the server's `_on_request(dctx, method, params)`."""
    with _as_part_of(_meta_of_params(args, kwargs)):
        return await wrapped(*args, **kwargs)


async def handle_request_v1(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Wraps the server's `_handle_request(message, ...)` of mcp 1."""
    with _as_part_of(_meta_of_message(args, kwargs)):
        return await wrapped(*args, **kwargs)


async def send_request_v1(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Wraps `send_request(request, ...)` of mcp 1: adds the trace context of a recorded call."""
    span = current_span()
    if span is not None and names.MCP_METHOD in span.attributes:
        _add_trace_context(span, args[0] if args else kwargs.get("request"))
    return await wrapped(*args, **kwargs)


def trace_context(span: ObservedSpan) -> dict[str, str]:
    """What a request's `_meta` says of the call that it is sent for."""
    headers: dict[str, str] = {}
    context = with_call(span.get_span_context(), span.run.id, span.run.attempt)
    _propagator.inject(headers, trace.set_span_in_context(trace.NonRecordingSpan(context)))
    return headers


@none_on_error
def _add_trace_context(span: ObservedSpan, request: Any) -> None:
    request = getattr(request, "root", request)
    params = getattr(request, "params", None)
    if getattr(request, "method", None) != span.attributes[names.MCP_METHOD] or params is None:
        return
    headers = trace_context(span)
    meta_type: Any = cast(Any, type(params)).Meta
    known: dict[str, Any] = {} if params.meta is None else params.meta.model_dump(by_alias=True, exclude_unset=True)
    params.meta = meta_type(**{**headers, **known})


def _as_part_of(meta: Any) -> Any:
    """Makes the call that a request's `_meta` names current for a block; a block without effect if it names none."""
    call = _remote_parent(meta)
    return nullcontext() if call is None else inside(call)


@none_on_error
def _meta_of_params(args: Any, kwargs: Any) -> Any:
    params: Any = args[2] if len(args) > 2 else kwargs.get("params")
    return None if params is None else params.get("_meta")


@none_on_error
def _meta_of_message(args: Any, kwargs: Any) -> Any:
    message: Any = args[0] if args else kwargs.get("message")
    meta = getattr(message, "request_meta", None)
    return None if meta is None else meta.model_extra


@none_on_error
def _remote_parent(meta: Any) -> ObservedSpan | None:
    found = remote_call(cast("Mapping[str, Any]", meta).get("tracestate")) if isinstance(meta, Mapping) else None
    if found is None:
        return None
    add_run_id_processor()  # before the library makes a span of its own for the request
    here = _under_way.get(found.span_id)
    if here is not None and here.run.id == found.run_id:
        return here
    recorder = runtime.current.recorder or runtime.recorder()
    return None if recorder is None else _standing_for(found, recorder)


def _standing_for(call: RemoteCall, recorder: Any) -> ObservedSpan:
    """A span with the ids of the other process's call. It is never written: the other process does that."""
    run = ActiveRun(run_id=call.run_id, attempt=call.attempt)
    run.is_remote = run.is_decided = (
        True  # by the other process, which sends no such entry for a run that it does not record
    )
    span = ObservedSpan(recorder, run, "tool", "remote call", call.trace_id, call.span_id, None)
    span.path = "remote call"
    return span

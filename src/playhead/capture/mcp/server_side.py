"""The trace context in a request's `_meta`: a server's work for a recorded call belongs to that call and its run.

mcp 2 writes and reads `traceparent` and `tracestate` itself, by OpenTelemetry's propagator; before 2.0 we do. As in any
other request, `api.calls.trace_state` writes the entry in `tracestate` that names the run.
"""

from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any, cast

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from playhead.calls import runtime
from playhead.calls.joining import joined_call
from playhead.calls.lifecycle import current_span, inside
from playhead.calls.mirror_span import add_run_id_processor
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks import none_on_error
from playhead.model import names

_propagator = TraceContextTextMapPropagator()
_HEADERS = ("traceparent", "tracestate")


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
    """Returns the trace context headers of this call, for a request's `_meta`."""
    headers: dict[str, str] = {}
    _propagator.inject(headers, trace.set_span_in_context(span, Context()))
    return headers


@none_on_error
def _add_trace_context(span: ObservedSpan, request: Any) -> None:
    request = getattr(request, "root", request)
    params = getattr(request, "params", None)
    if getattr(request, "method", None) != span.attributes[names.MCP_METHOD] or params is None:
        return
    headers = trace_context(span)
    meta_type: Any = cast(Any, type(params)).Meta
    fields: dict[str, Any] = {} if params.meta is None else params.meta.model_dump(by_alias=True, exclude_unset=True)
    params.meta = meta_type(**{**headers, **fields})


def _as_part_of(meta: Any) -> Any:
    """Returns the context in which the call named in a request's `_meta` is current; does nothing if none is named."""
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
    if not isinstance(meta, Mapping):
        return None
    fields = cast("Mapping[str, Any]", meta)
    headers = {name: fields[name] for name in _HEADERS if isinstance(fields.get(name), str)}
    context = trace.get_current_span(_propagator.extract(headers, Context())).get_span_context()
    recorder = runtime.current.recorder or runtime.recorder()
    call = None if recorder is None else joined_call(context, recorder)
    if call is not None:
        add_run_id_processor()  # before the library makes a span of its own for the request
    return call

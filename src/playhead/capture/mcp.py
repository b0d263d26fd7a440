"""The `mcp` library: a client's tool calls, resources and prompts. The server's work is part of the client's run.

A client's call is not recorded if a framework's tool call around it already records it. Not recorded either:
`list_tools` and the like, `initialize`, `ping` and `complete`, which are cheap and have no effect; also a server's
requests to its client (sampling, elicitation, roots) and progress.

A request's `_meta` has the trace context, by which a server's work for a recorded call belongs to that call and its
run. mcp 2 writes and reads `traceparent` and `tracestate` itself, by OpenTelemetry's propagator; before 2.0 we do. As
in any other request, `calls.trace_state` writes the entry in `tracestate` that names the run.
"""

import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Protocol
from weakref import WeakKeyDictionary

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from playhead.api.observe import ObserveOptions
from playhead.calls import runtime
from playhead.calls.functions import call_async
from playhead.calls.joining import joined_call
from playhead.calls.lifecycle import as_current, current_span
from playhead.calls.mirror_span import add_run_id_processor
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import enclosing_tool_call, log_errors_and_return_none
from playhead.capture.patching import Instrumentation, Wrap, Wrapper, instrumentor
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.model import names
from playhead.model.json_value import object_of
from playhead.model.span import STATUS_ERROR

SUPPORTS = "mcp >= 1.10"


# --- a client's calls: what is asked ----------------------------------------------------------------------------------

_TOOL = ObserveOptions(None, "tool", True, True, None, {}, None)
_RETRIEVER = ObserveOptions(None, "retriever", True, True, None, {}, None)
_RESOURCE = "read_resource"
_CLIENT_KIND = 3  # OTLP's SpanKind for a call to another service
_EXTENSION = "extension"  # the conventions' word for a tool that the agent's side runs by calling another system

servers: "WeakKeyDictionary[object, str]" = WeakKeyDictionary()
"""Session → name of its server, for sessions that do not keep it (before mcp 2.0)."""


@dataclass(frozen=True, slots=True)
class ServerCall:
    """A call of an MCP server: `name` is the tool's or the prompt's name, or `read_resource` for all resources."""

    kind: str
    name: str
    arguments: Mapping[str, object]
    attributes: dict[str, object]

    def begin(self) -> ObservedSpan | None:
        """Begins the span of the call; returns None if the call is not recorded."""
        observation = _TOOL if self.kind == "tool" else _RETRIEVER
        span = observation.begin(self.name, self.arguments, self.attributes)
        if span is not None:
            span.otel_kind = _CLIENT_KIND
        return span


@log_errors_and_return_none
def read_tool_call(called: MethodCall) -> ServerCall:
    """Reads `call_tool(name, arguments, ...)`."""
    parameters = called.arguments("name", "arguments")
    about = {names.TOOL_TYPE: _EXTENSION, **_mcp_attributes(called.client, "tools/call")}
    return ServerCall("tool", str(parameters["name"]), _mapping(parameters.get("arguments")), about)


@log_errors_and_return_none
def read_resource(called: MethodCall) -> ServerCall:
    """Reads `read_resource(uri, ...)`."""
    uri = str(called.arguments("uri")["uri"])
    about = {names.MCP_RESOURCE: uri, names.IDEMPOTENT: True, **_mcp_attributes(called.client, "resources/read")}
    return ServerCall("retriever", _RESOURCE, {"uri": uri}, about)  # addresses are many, and have slashes


@log_errors_and_return_none
def read_prompt(called: MethodCall) -> ServerCall:
    """Reads `get_prompt(name, arguments, ...)`."""
    parameters = called.arguments("name", "arguments")
    name, arguments = str(parameters["name"]), _mapping(parameters.get("arguments"))
    about = {names.PROMPT_NAME: name, names.IDEMPOTENT: True, **_mcp_attributes(called.client, "prompts/get")}
    return ServerCall("retriever", name, {"name": name, "arguments": arguments}, about)


def _mapping(arguments: Mapping[str, object] | None) -> Mapping[str, object]:
    return arguments if isinstance(arguments, Mapping) else {}


def _mcp_attributes(client: object, method: str) -> dict[str, object]:
    attributes = {names.MCP_METHOD: method, names.MCP_SERVER: _server_name(client)}
    attributes[names.MCP_PROTOCOL] = getattr(client, "protocol_version", None)
    return {name: value for name, value in attributes.items() if isinstance(value, str)}


def _server_name(client: object) -> object:
    try:
        server_info = getattr(client, "server_info", None)
    except RuntimeError:  # of a client that is not connected: the library will say so
        return None
    return servers.get(client) if server_info is None else getattr(server_info, "name", None)


@intercepted
async def remember_server(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    """Wraps `initialize`: stores the server's name, for sessions that do not keep it."""
    result = await called.make(function)
    _remember(called.client, result)
    return result


@log_errors_and_return_none
def _remember(session: object, result: object) -> None:
    name = getattr(getattr(result, "serverInfo", None), "name", None)
    if isinstance(name, str):
        servers[session] = name


# --- a client's calls: recorded ---------------------------------------------------------------------------------------

_TOOL_ERROR = "tool_error"  # the conventions' `error.type` of a result marked as an error
_MAX_ERROR_TEXT = 256


def recording_request(read: Callable[[MethodCall], ServerCall | None]) -> Wrapper:
    """Returns a wrapper for one of a client's methods.  `read` reads its arguments; None: the call is not recorded."""

    def handle(function: Callable[..., Awaitable[object]], called: MethodCall) -> Awaitable[object]:
        call = read(called)
        return called.make(function) if call is None else _recorded_request(call, function, called)

    return intercepted(handle)


async def _recorded_request(call: ServerCall, function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    outer = _same_call(call)
    sending = _send(function, called)
    if outer is not None:
        _add_attributes(outer, call)
        return await sending
    output = names.TOOL_RESULT_REF if call.kind == "tool" else names.OUTPUT_REF
    return await call_async(call.begin, output, sending, partial(_as_result, call))


def _as_result(call: ServerCall, value: object) -> object:
    """Converts a plain value to the library's result with this text, or with the value's JSON.  For a tool, a
    dictionary with `content` is the result itself."""
    from mcp import types  # noqa: PLC0415 - of the library that is in use

    if isinstance(value, types.Result):
        return value
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
    if names.MCP_RESOURCE in call.attributes:
        return types.ReadResourceResult.model_validate({"contents": [{"uri": call.arguments["uri"], "text": text}]})
    block = {"type": "text", "text": text}
    if names.PROMPT_NAME in call.attributes:
        return types.GetPromptResult.model_validate({"messages": [{"role": "user", "content": block}]})
    fields = object_of(value)
    return types.CallToolResult.model_validate(fields if "content" in fields else {"content": [block]})


@log_errors_and_return_none
def _same_call(call: ServerCall) -> ObservedSpan | None:
    """Returns the enclosing span if it records this same call (of a framework, or of `Client` around its session)."""
    if call.kind == "tool":
        return enclosing_tool_call(call.name, call.arguments)
    span = current_span()
    same = (names.MCP_METHOD, names.MCP_RESOURCE, names.PROMPT_NAME)
    if span is None or any(span.attributes.get(name) != call.attributes.get(name) for name in same):
        return None
    return span


@log_errors_and_return_none
def _add_attributes(span: ObservedSpan, call: ServerCall) -> None:
    """Adds the server's attributes to the span of a framework's tool call."""
    for name, value in call.attributes.items():
        span.attributes.setdefault(name, value)


async def _send(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    span = current_span()
    result = await called.make(function)
    if span is not None and names.MCP_METHOD in span.attributes:  # else it is not recorded
        _note_error(span, result)
    return result


@log_errors_and_return_none
def _note_error(span: ObservedSpan, result: object) -> None:
    """Marks a tool call as failed if its result is an error; the program gets that result, also on resume."""
    if getattr(result, "is_error", None) is not True and getattr(result, "isError", None) is not True:
        return
    parts: Iterable[object] = getattr(result, "content", None) or ()
    text = " ".join(text for part in parts if isinstance(text := getattr(part, "text", None), str))
    span.attributes[names.ERROR_TYPE] = _TOOL_ERROR
    span.status = STATUS_ERROR
    span.status_message = span.recorder.text(text, span.redact)[:_MAX_ERROR_TEXT]


# --- the trace context in `_meta` -------------------------------------------------------------------------------------

_propagator = TraceContextTextMapPropagator()
_HEADERS = ("traceparent", "tracestate")


@intercepted
async def handle_request(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    """Wraps the server's `_on_request(dctx, method, params)`."""
    with _as_part_of(_meta_of_params(called)):
        return await called.make(function)


@intercepted
async def handle_request_v1(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    """Wraps the server's `_handle_request(message, ...)` of mcp 1."""
    with _as_part_of(_meta_of_message(called)):
        return await called.make(function)


@intercepted
async def send_request_v1(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    """Wraps `send_request(request, ...)` of mcp 1: adds the trace context of a recorded call."""
    span = current_span()
    if span is not None and names.MCP_METHOD in span.attributes:
        _add_trace_context(span, called.argument(0, "request"))
    return await called.make(function)


def trace_context(span: ObservedSpan) -> dict[str, str]:
    """Returns the trace context headers of this call, for a request's `_meta`."""
    headers: dict[str, str] = {}
    _propagator.inject(headers, trace.set_span_in_context(span, Context()))
    return headers


@log_errors_and_return_none
def _add_trace_context(span: ObservedSpan, request: object) -> None:
    request = getattr(request, "root", request)
    params: _RequestParams | None = getattr(request, "params", None)
    if getattr(request, "method", None) != span.attributes[names.MCP_METHOD] or params is None:
        return
    make_meta: Callable[..., _RequestMeta] | None = getattr(type(params), "Meta", None)
    if make_meta is not None:
        fields = {} if params.meta is None else params.meta.model_dump(by_alias=True, exclude_unset=True)
        params.meta = make_meta(**{**trace_context(span), **fields})


class _RequestMeta(Protocol):
    """The `_meta` of a request, an object of pydantic's."""

    def model_dump(self, *, by_alias: bool, exclude_unset: bool) -> dict[str, object]: ...


class _RequestParams(Protocol):
    """The parameters of a request of mcp 1."""

    meta: _RequestMeta | None


def _as_part_of(meta: Mapping[str, object] | None) -> AbstractContextManager[None]:
    """Returns the context in which the call named in a request's `_meta` is current; does nothing if none is named."""
    call = _remote_parent(meta)
    return nullcontext() if call is None else as_current(call)


@log_errors_and_return_none
def _meta_of_params(called: MethodCall) -> Mapping[str, object] | None:
    params: Mapping[str, Mapping[str, object]] | None = called.argument(2, "params")
    return None if params is None else params.get("_meta")


@log_errors_and_return_none
def _meta_of_message(called: MethodCall) -> Mapping[str, object] | None:
    meta = getattr(called.argument(0, "message"), "request_meta", None)
    return None if meta is None else getattr(meta, "model_extra", None)


@log_errors_and_return_none
def _remote_parent(meta: Mapping[str, object] | None) -> ObservedSpan | None:
    if meta is None:
        return None
    headers = {name: value for name in _HEADERS if isinstance(value := meta.get(name), str)}
    context = trace.get_current_span(_propagator.extract(headers, Context())).get_span_context()
    recorder = runtime.current.recorder or runtime.recorder()
    call = None if recorder is None else joined_call(context, recorder)
    if call is not None:
        add_run_id_processor()  # before the library makes a span of its own for the request
    return call


# --- what is wrapped --------------------------------------------------------------------------------------------------

_READERS = {"call_tool": read_tool_call, "read_resource": read_resource, "get_prompt": read_prompt}
_CLIENTS = (
    ("mcp.client.session", "ClientSession", False),
    # Since mcp 2.0; repeats a session's call until the server has everything it asks for.
    ("mcp.client.client", "Client", True),
)

_mcp = Instrumentation(
    [
        *(
            Wrap(module, f"{owner}.{method}", recording_request(read), is_optional=is_optional)
            for module, owner, is_optional in _CLIENTS
            for method, read in _READERS.items()
        ),
        Wrap("mcp.client.session", "ClientSession.initialize", remember_server, is_optional=True),
        Wrap("mcp.server.runner", "ServerRunner._on_request", handle_request, is_optional=True),
        # Before mcp 2.0:
        Wrap("mcp.shared.session", "BaseSession.send_request", send_request_v1, is_optional=True),
        Wrap("mcp.server.lowlevel.server", "Server._handle_request", handle_request_v1, is_optional=True),
    ]
)
patch, unpatch = _mcp.patch, _mcp.unpatch
McpInstrumentor = instrumentor("McpInstrumentor", SUPPORTS, patch, unpatch)

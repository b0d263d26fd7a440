"""Records a client's call of an MCP server, unless a framework's tool call around it already records it."""

import json
from collections.abc import Callable
from functools import partial
from typing import Any, cast

from playhead.calls.functions import call_async
from playhead.calls.lifecycle import current_span
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks import enclosing_tool_call, none_on_error
from playhead.capture.mcp.reading import ServerCall, servers
from playhead.capture.patching import Wrapper
from playhead.model import names

_ERROR = 2  # OTLP's status code
_TOOL_ERROR = "tool_error"  # the conventions' `error.type` of a result marked as an error
_MAX_ERROR_TEXT = 256


def observing(read: Callable[[Any, Any, Any], ServerCall | None]) -> Wrapper:
    """Returns a wrapper for one of a client's methods.  `read` reads its arguments; None: the call is not recorded."""

    def wrapper(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
        call = read(instance, args, kwargs)
        return wrapped(*args, **kwargs) if call is None else _observed(call, wrapped, args, kwargs)

    return wrapper


async def _observed(call: ServerCall, wrapped: Any, args: Any, kwargs: Any) -> Any:
    outer = _same_call(call)
    sending = _send(wrapped, args, kwargs)
    if outer is not None:
        _describe(outer, call)
        return await sending
    output = names.TOOL_RESULT_REF if call.kind == "tool" else names.OUTPUT_REF
    return await call_async(call.begin, output, sending, partial(_as_result, call))


def _as_result(call: ServerCall, value: Any) -> Any:
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
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    return types.CallToolResult.model_validate(fields if "content" in fields else {"content": [block]})


@none_on_error
def _same_call(call: ServerCall) -> ObservedSpan | None:
    """Returns the enclosing span if it records this same call (of a framework, or of `Client` around its session)."""
    if call.kind == "tool":
        return enclosing_tool_call(call.name, call.arguments)
    span = current_span()
    same = (names.MCP_METHOD, names.MCP_RESOURCE, names.PROMPT_NAME)
    if span is None or any(span.attributes.get(name) != call.attributes.get(name) for name in same):
        return None
    return span


@none_on_error
def _describe(span: ObservedSpan, call: ServerCall) -> None:
    """Adds the server's attributes to the span of a framework's tool call."""
    for name, value in call.attributes.items():
        span.attributes.setdefault(name, value)


async def _send(wrapped: Any, args: Any, kwargs: Any) -> Any:
    span = current_span()
    if span is None or names.MCP_METHOD not in span.attributes:  # not recorded
        return await wrapped(*args, **kwargs)
    result = await wrapped(*args, **kwargs)
    _note_error(span, result)
    return result


@none_on_error
def _note_error(span: ObservedSpan, result: Any) -> None:
    """Marks a tool call as failed if its result is an error; the program gets that result, also on resume."""
    if getattr(result, "is_error", None) is not True and getattr(result, "isError", None) is not True:
        return
    text = " ".join(str(part.text) for part in result.content if isinstance(getattr(part, "text", None), str))
    span.attributes[names.ERROR_TYPE] = _TOOL_ERROR
    span.status = _ERROR
    span.status_message = span.recorder.text(text, span.redact)[:_MAX_ERROR_TEXT]


async def remember_server(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    """Wraps `initialize`: stores the server's name, for sessions that do not keep it."""
    result = await wrapped(*args, **kwargs)
    _remember(instance, result)
    return result


@none_on_error
def _remember(session: Any, result: Any) -> None:
    name = getattr(getattr(result, "serverInfo", None), "name", None)
    if isinstance(name, str):
        servers[session] = name

"""The `anthropic` library: Messages and its beta, synchronous, asynchronous, streamed, `stream()`, `parse()`, raw
responses; also of the clients for Bedrock, Vertex and Foundry.

The client's own retries happen inside the wrapped method, so they are one call here. Function tools (`@beta_tool`),
called by the tool runner or by the program, are recorded as tool calls. Token counting and batches are not recorded.
"""

from collections.abc import Iterator
from itertools import product
from typing import Protocol

from playhead.capture.anthropic import messages as messages_api
from playhead.capture.anthropic.message_stream import observing_async_helper, observing_helper
from playhead.capture.anthropic.messages import read_request, read_response, restore, with_message
from playhead.capture.client_methods import ClientApi, recording_method, recording_method_async
from playhead.capture.frameworks.observing import (
    StartSpan,
    answered_wrappers,
    arguments_by_name,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    tool,
)
from playhead.capture.patching import Instrumentation, Wrap, Wrapper, instrumentor
from playhead.capture.stainless import end_with_result
from playhead.capture.wrapping import MethodCall
from playhead.model.json_value import Json, JsonValue

__all__ = ["SUPPORTS", "AnthropicInstrumentor", "patch", "read_request", "read_response", "unpatch"]

SUPPORTS = "anthropic >= 0.60"

_MESSAGES_MODULES = (
    "anthropic.resources.messages.messages",
    "anthropic.resources.beta.messages.messages",
    # The classes of these copy the methods of the beta's class, before or after it is patched.
    "anthropic.lib.bedrock._beta_messages",
    "anthropic.lib.vertex._beta_messages",
)
_TOOLS_MODULE = "anthropic.lib.tools._beta_functions"


# --- messages ---------------------------------------------------------------------------------------------------------


def _is_streamed(call: MethodCall) -> bool:
    return call.method == "stream" or bool(call.kwargs.get("stream"))


def _restore(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    return restore(raw, call.kwargs, call.client, method=call.method, is_async=call.is_async, ending=ending)


def _with_message(raw: object, message: JsonValue, call: MethodCall) -> Json:
    return with_message(raw, message, model=str(call.kwargs.get("model", "")), streamed=_is_streamed(call))


def _with_edit(call: MethodCall, messages: list[JsonValue] | None, system: str | None) -> MethodCall | None:
    """`system` is not used: the system prompt is the first of `messages`."""
    kwargs = messages_api.with_edit(call.kwargs, messages)
    return None if kwargs is None else call.with_kwargs(kwargs)


_MESSAGES = ClientApi(
    read_request=lambda call: read_request(call.client, call.kwargs, call.method),
    is_streamed=_is_streamed,
    read_response=lambda response, run, call: read_response(response, run, call.kwargs),
    assemble=lambda events, run, call: messages_api.assemble(events, run, call.kwargs),
    read_recorded=lambda raw, run, call: messages_api.read_recorded(raw, run, call.kwargs),
    restore=_restore,
    with_message=_with_message,
    with_edit=_with_edit,
    end_with_result=end_with_result,
    keep_chunk=messages_api.copy_of_event,
    one_shot=("messages", "tools", "system"),
)


# --- function tools ---------------------------------------------------------------------------------------------------


class _FunctionTool(Protocol):
    name: str
    func: object


@log_errors_and_return_none
def _begin_tool(called: MethodCall) -> StartSpan | None:
    its_tool: _FunctionTool = called.client
    if not is_inside_run() or is_observed(its_tool.func):
        return None
    return tool(its_tool.name, arguments_by_name(called.argument(0, "input")), None)


# `call` of function tools.  The tool call gets the id of the model's request for it.
_call_tool, _call_tool_async = answered_wrappers(_begin_tool)


# --- what is wrapped --------------------------------------------------------------------------------------------------


def _wraps() -> Iterator[Wrap]:
    """Yields the methods with their wrappers; not every version of the library has all of them."""
    plain, later = recording_method(_MESSAGES), recording_method_async(_MESSAGES)
    wrappers: dict[tuple[str, str], Wrapper] = {
        ("Messages", "create"): plain,
        ("Messages", "parse"): plain,
        ("Messages", "stream"): observing_helper(_MESSAGES),
        ("AsyncMessages", "create"): later,
        ("AsyncMessages", "parse"): later,
        ("AsyncMessages", "stream"): observing_async_helper(_MESSAGES),
    }
    for module, ((owner, method), wrapper) in product(_MESSAGES_MODULES, wrappers.items()):
        yield Wrap(module, f"{owner}.{method}", wrapper, is_optional=True)
    yield Wrap(_TOOLS_MODULE, "BetaFunctionTool.call", _call_tool, is_optional=True)
    yield Wrap(_TOOLS_MODULE, "BetaAsyncFunctionTool.call", _call_tool_async, is_optional=True)


_anthropic = Instrumentation(_wraps())
patch, unpatch = _anthropic.patch, _anthropic.unpatch
AnthropicInstrumentor = instrumentor("AnthropicInstrumentor", SUPPORTS, patch, unpatch)

"""Semantic Kernel: agents, also those that are functions of another one's kernel; group chats and handoffs of
orchestrations; functions of the kernel, called by a model or by the program; prompts that call functions.

Models run on clients that are recorded themselves, such as `openai`.

The framework takes a model's answer and calls functions in one loop, which agents, prompts and services share.  Where
no run is current, that loop is the run: else its functions would be outside of any.
"""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from functools import partial
from importlib import import_module
from typing import Any, Protocol, cast

from playhead.api import scope
from playhead.api.observe import ObserveOptions
from playhead.calls import functions
from playhead.calls.lifecycle import current_span, set_payload
from playhead.capture.frameworks.observing import (
    Named,
    StartSpan,
    agent,
    as_items,
    call_async,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    record_returned,
    tool,
)
from playhead.capture.patching import Instrumentation, Wrap, WrapSubclasses
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.model import names
from playhead.model.json_value import object_of

SUPPORTS = "semantic-kernel >= 1.40"


# --- what is read of the framework's objects --------------------------------------------------------------------------


class _KernelFunction(Named, Protocol):
    fully_qualified_name: str
    is_prompt: bool
    metadata: object

    @property
    def parameters(self) -> Sequence[Named]: ...


class _FunctionResult(Protocol):
    value: object


class _PromptSettings(Protocol):
    function_choice_behavior: object


# --- agents and group chats -------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _agent(called: MethodCall) -> StartSpan | None:
    """Returns None if another method of the same agent calls this one: the outer call is recorded already."""
    running: Named = called.client
    name, outer = str(running.name), current_span()
    if outer is not None and outer.kind == "agent" and outer.attributes.get(names.AGENT_NAME) == name:
        return None
    session: object = getattr(called.kwargs.get("thread"), "id", None)
    return agent(name, _plain(called.argument(0, "messages")), session=session)


@log_errors_and_return_none
def _group_chat(called: MethodCall) -> StartSpan:
    history: Sequence[object] = called.client.history.messages
    return agent(type(called.client).__name__, _plain(history[-1]) if history else None)


def _plain(value: object) -> object:
    """Returns the text of a message, of an agent's response or of a prompt's result; of a list, that of the only item,
    or all.  Any other value is returned as it is."""
    if isinstance(value, list):
        plain = [_plain(each) for each in cast("list[object]", value)]
        return plain[0] if len(plain) == 1 else plain
    if type(value).__name__ == "FunctionResult":
        return _plain(getattr(value, "value", None))
    message = getattr(value, "message", value)
    return str(message) if _is_content(message) else value


def _is_content(value: object) -> bool:
    return any(kind.__name__ == "KernelContent" for kind in type(value).__mro__)


def _call_agent(begin: StartSpan, made: Awaitable[object]) -> object:
    return functions.call_async(begin, None, _with_output(made))


async def _with_output(made: Awaitable[object]) -> object:
    result = await made
    _note_output(result)
    return result


@log_errors_and_return_none
def _note_output(result: object) -> None:
    span = current_span()
    if span is not None and result is not None:
        set_payload(span, names.OUTPUT_REF, _plain(result))


def _stream_messages(begin: StartSpan, made: AsyncGenerator[object, object]) -> object:
    return functions.iterate_async(begin, None, _with_last_output(made)) if hasattr(made, "asend") else made


async def _with_last_output(steps: AsyncGenerator[object, object]) -> AsyncGenerator[object, object]:
    """Yields whole messages, and records the last one as the output."""
    last: object = None
    try:
        async for last in steps:
            yield last
    finally:
        _note_output(last)
        await steps.aclose()


def _stream_chunks(begin: StartSpan, made: AsyncGenerator[object, object]) -> object:
    return functions.iterate_async(begin, None, _with_joined_output(made)) if hasattr(made, "asend") else made


async def _with_joined_output(steps: AsyncGenerator[object, object]) -> AsyncGenerator[object, object]:
    """Yields chunks of messages, and records their texts as the output."""
    texts: list[str] = []
    try:
        async for step in steps:
            texts += _texts(step) or []
            yield step
    finally:
        if texts:
            _note_output("".join(texts))
        await steps.aclose()


@log_errors_and_return_none
def _texts(step: object) -> list[str]:
    return [text for text in map(_plain, as_items(step)) if isinstance(text, str)]


# --- prompts, and services that call functions ------------------------------------------------------------------------


@log_errors_and_return_none
def _service(called: MethodCall) -> StartSpan | None:
    """Returns None inside of a run, or where no function may be called: then only the model call is recorded."""
    settings: _PromptSettings = called.argument(1, "settings")
    if is_inside_run() or not getattr(settings.function_choice_behavior, "auto_invoke_kernel_functions", False):
        return None
    messages: Sequence[object] = called.argument(0, "chat_history").messages
    return agent(type(called.client).__name__, _plain(messages[-1]) if messages else None)


# Without a kind: an agent if a run begins here, else a step.
_PROMPT = ObserveOptions(None, None, True, True, None, {}, None)


@log_errors_and_return_none
def _prompt(called: MethodCall) -> StartSpan | None:
    """Returns None for a function that is no prompt."""
    function: _KernelFunction = called.client
    given: Mapping[str, object] = called.argument(1, "arguments") or {}
    return partial(_PROMPT.begin, function.fully_qualified_name, dict(given), {}) if function.is_prompt else None


# --- functions of the kernel ------------------------------------------------------------------------------------------

_HANDOFFS = "semantic_kernel.agents.orchestration.handoffs"


@log_errors_and_return_none
def _tool(called: MethodCall) -> StartSpan | None:
    function: _KernelFunction = called.client
    method = getattr(function, "method", None)
    if not is_inside_run() or is_observed(method) or _note_handoff(method):
        return None
    requested = object_of(called.argument(2, "metadata"))
    is_agent = function.is_prompt or str(getattr(method, "__qualname__", "")).endswith("._as_kernel_function")
    return tool(function.fully_qualified_name, _arguments(called), requested.get("id"), is_agent=is_agent)


def _note_handoff(method: object) -> bool:
    """Whether the function is one of an orchestration's own, which change where it goes on: they run again on resume.
    If the function hands over to another agent, the handoff is recorded."""
    function: object = getattr(method, "func", method)
    if getattr(function, "__module__", None) != _HANDOFFS:
        return False
    if isinstance(method, partial) and method.args:
        scope.handoff(str(method.args[0]))
    return True


def _arguments(called: MethodCall) -> dict[str, object]:
    function: _KernelFunction = called.client
    given: Mapping[str, object] | None = called.argument(1, "arguments")
    if given is None:
        given = called.kwargs
    return {each.name: given[each.name] for each in function.parameters if each.name in given}


class _KernelFunctionCall:
    """One call of a function.  Of its result, the value is recorded: of a message its text, which the model gets."""

    def __init__(self, function: Callable[..., Awaitable[_FunctionResult | None]], called: MethodCall):
        self._function = function
        self._called = called
        self._has_run = False
        self._result: _FunctionResult | None = None

    async def record(self, begin: StartSpan) -> object:
        """Calls the function and returns its result, recorded; or returns a result with the recorded value."""
        recorded = await call_async(begin, self._run(), names.TOOL_RESULT_REF)
        return self._result if self._has_run else self._restored(recorded)

    async def _run(self) -> object:
        self._result = await self._called.make(self._function)
        self._has_run = True
        value = None if self._result is None else self._result.value
        return str(value) if _is_content(value) else value

    def _restored(self, recorded: object) -> object:
        make: Callable[..., object] = import_module("semantic_kernel.functions.function_result").FunctionResult
        arguments = self._called.argument(1, "arguments")
        used = {"arguments": arguments, "used_arguments": _arguments(self._called)}
        return make(function=self._called.client.metadata, value=recorded, metadata=used)


@intercepted
def _invoke(function: Callable[..., Awaitable[Any]], called: MethodCall) -> object:
    prompt = _prompt(called) if "id" not in object_of(called.argument(2, "metadata")) else None
    if prompt is not None:
        return _call_agent(prompt, called.make(function))
    begin = _tool(called)
    return called.make(function) if begin is None else _KernelFunctionCall(function, called).record(begin)


# --- what is wrapped --------------------------------------------------------------------------------------------------

_CHAT = "semantic_kernel.connectors.ai.chat_completion_client_base"
_GROUP_CHAT = "semantic_kernel.agents.group_chat.agent_group_chat"
_semantic_kernel = Instrumentation(
    [
        WrapSubclasses(
            "semantic_kernel.agents.agent",
            "Agent",
            {
                "get_response": record_returned(_agent, _call_agent),
                "invoke": record_returned(_agent, _stream_messages),
                "invoke_stream": record_returned(_agent, _stream_chunks),
            },
        ),
        Wrap(_GROUP_CHAT, "AgentGroupChat.invoke", record_returned(_group_chat, _stream_messages), is_optional=True),
        Wrap(
            _GROUP_CHAT, "AgentGroupChat.invoke_stream", record_returned(_group_chat, _stream_chunks), is_optional=True
        ),
        Wrap("semantic_kernel.functions.kernel_function", "KernelFunction.invoke", _invoke),
        Wrap(
            "semantic_kernel.functions.kernel_function",
            "KernelFunction.invoke_stream",
            record_returned(_prompt, _stream_chunks),
        ),
        Wrap(_CHAT, "ChatCompletionClientBase.get_chat_message_contents", record_returned(_service, _call_agent)),
        Wrap(
            _CHAT,
            "ChatCompletionClientBase.get_streaming_chat_message_contents",
            record_returned(_service, _stream_chunks),
        ),
    ]
)
patch, unpatch = _semantic_kernel.patch, _semantic_kernel.unpatch

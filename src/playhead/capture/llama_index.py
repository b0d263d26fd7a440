"""LlamaIndex: agents and other workflows, the tools that they call, handoffs between them, and retrievers.

Models run on clients that are recorded themselves, such as `openai`.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Protocol

from playhead.api import scope
from playhead.calls.lifecycle import detach, fail, finish
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    StartSpan,
    agent,
    answered_wrappers,
    as_items,
    begun,
    call,
    call_async,
    enclosing_tool_call,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    retriever,
    tool,
    with_span,
)
from playhead.capture.patching import Instrumentation, Wrap, WrapSubclasses
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.model import names

SUPPORTS = "llama-index-core >= 0.14.10"


class _StartMessage(Protocol):
    content: str | None


class _StartEvent(Protocol):
    def get(self, key: str, default: None) -> str | _StartMessage | None: ...

    def model_dump(self) -> Mapping[str, object]: ...


class _ToolMetadata(Protocol):
    def get_name(self) -> str: ...


class _LlamaTool(Protocol):
    metadata: _ToolMetadata


@log_errors_and_return_none
def _workflow(called: MethodCall) -> StartSpan | None:
    parameters = called.arguments("ctx", "start_event")
    context, event = parameters.pop("ctx", None), parameters.pop("start_event", None)
    if getattr(context, "is_running", False):
        return None  # no new run: the call returns a handler for a running one
    parameters.pop("run_id", None)
    name: object = getattr(called.client, "name", None)
    started = parameters if event is None else _question(event)
    return agent(name if isinstance(name, str) else type(called.client).__name__, started or None)


def _question(event: _StartEvent) -> object:
    """Returns the input of a workflow's start event: an agent's question, else all fields of the event."""
    message = event.get("user_msg", None)
    if message is not None:
        return message if isinstance(message, str) else message.content
    return {name: value for name, value in event.model_dump().items() if value is not None}


def _started(span: ObservedSpan, handler: object, _: MethodCall) -> None:
    detach(span)  # the tasks that it has started have copies of the context, in which the span stays current
    _await_end(span, handler)


@log_errors_and_return_none
def _await_end(span: ObservedSpan, handler: Any) -> None:
    handler._result_task.add_done_callback(partial(_ended, span))


def _ended(span: ObservedSpan, task: "asyncio.Task[object]") -> None:
    raised = asyncio.CancelledError() if task.cancelled() else task.exception()
    if raised is not None:
        fail(span, raised)
    else:
        finish(span, names.OUTPUT_REF, _output(task.result()))


@log_errors_and_return_none
def _output(event: object) -> object:
    """Returns the result of a workflow; for an agent, its structured answer or its text."""
    result: object = getattr(event, "result", None)
    structured: object = getattr(result, "structured_response", None)
    content: object = getattr(getattr(result, "response", None), "content", None)
    return next((value for value in (structured, content, result) if value is not None), event)


@log_errors_and_return_none
def _tool(called: MethodCall) -> StartSpan | None:
    its_tool: _LlamaTool = called.client
    args, kwargs, function = called.args, called.kwargs, getattr(its_tool, "real_fn", None)
    if not is_inside_run() or is_observed(function):
        return None
    if getattr(function, "__module__", None) == "llama_index.core.agent.workflow.multi_agent_workflow":
        # The workflow's own tool changes the workflow's state, so it has to run on resume, too.
        scope.handoff(kwargs["to_agent"], reason=kwargs.get("reason"))
        return None
    injected = getattr(its_tool, "ctx_param_name", None)
    arguments = {name: value for name, value in kwargs.items() if name != injected}
    if args:
        arguments["input"] = args[0] if len(args) == 1 else list(args)
    name = str(its_tool.metadata.get_name())
    return None if enclosing_tool_call(name, arguments) is not None else tool(name, arguments, None)


@intercepted
def _call(function: Callable[..., object], called: MethodCall) -> object:
    begin = _tool(called)
    if begin is None:
        return called.make(function)
    live: list[object] = []

    def noting(*args: object, **kwargs: object) -> object:
        live.append(function(*args, **kwargs))
        return live[0]

    result = call(begin, names.TOOL_RESULT_REF, noting, called)
    return result if live else _as_tool_output(called, result)


@intercepted
async def _acall(function: Callable[..., Awaitable[object]], called: MethodCall) -> object:
    begin = _tool(called)
    if begin is None:
        return await called.make(function)
    live: list[object] = []

    async def noting() -> object:
        live.append(await called.make(function))
        return live[0]

    result = await call_async(begin, noting(), names.TOOL_RESULT_REF)
    return result if live else _as_tool_output(called, result)


def _as_tool_output(called: MethodCall, result: object) -> object:
    """Converts a plain value that a fork sets as a tool's result to the ToolOutput that agents expect."""
    kind: type = import_module("llama_index.core.tools.types").ToolOutput
    if isinstance(result, kind):
        return result
    its_tool: _LlamaTool = called.client
    name = str(its_tool.metadata.get_name())
    return kind(tool_name=name, content=str(result), raw_input={"kwargs": called.kwargs}, raw_output=result)


@log_errors_and_return_none
def _retriever(called: MethodCall) -> StartSpan | None:
    str_or_bundle: object = called.argument(0, "str_or_query_bundle")
    query = str_or_bundle if isinstance(str_or_bundle, str) else getattr(str_or_bundle, "query_str", None)
    return retriever(type(called.client).__name__, {"query": query})


def _as_nodes(value: object) -> list[object]:
    """Converts texts that a fork sets as a retriever's result to the nodes that it returns."""
    schema = import_module("llama_index.core.schema")
    make_node: Callable[..., object] = schema.NodeWithScore
    make_text: Callable[..., object] = schema.TextNode
    return [make_node(node=make_text(text=item)) if isinstance(item, str) else item for item in as_items(value)]


_retrieve, _aretrieve = answered_wrappers(_retriever, names.OUTPUT_REF, lambda _: _as_nodes)

_RETRIEVERS = "llama_index.core.base.base_retriever"
_llama_index = Instrumentation(
    [
        Wrap(
            "workflows.workflow", "Workflow.run", with_span(begun(_workflow), _started)
        ),  # which agents' own `run` goes through
        WrapSubclasses("llama_index.core.tools.types", "AsyncBaseTool", {"call": _call, "acall": _acall}),
        Wrap(_RETRIEVERS, "BaseRetriever.retrieve", _retrieve),
        Wrap(_RETRIEVERS, "BaseRetriever.aretrieve", _aretrieve),
    ]
)
patch, unpatch = _llama_index.patch, _llama_index.unpatch

"""LlamaIndex: agents and other workflows, the tools that they call, handoffs between them, and retrievers.

Models run on clients that are recorded themselves, such as `openai`.
"""

import asyncio
import sys
from functools import partial
from typing import Any, cast

from playhead.api import scope
from playhead.calls.lifecycle import detach, fail, finish
from playhead.calls.span import ObservedSpan
from playhead.capture.frameworks.observing import (
    StartSpan,
    agent,
    answered_wrappers,
    as_items,
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
from playhead.model import names

SUPPORTS = "llama-index-core >= 0.14.10"


@log_errors_and_return_none
def _workflow(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    parameters = {**dict(zip(("ctx", "start_event"), args, strict=False)), **kwargs}
    context, event = parameters.pop("ctx", None), parameters.pop("start_event", None)
    if getattr(context, "is_running", False):
        return None  # no new run: the call returns a handler for a running one
    parameters.pop("run_id", None)
    name = getattr(instance, "name", None)
    started = parameters if event is None else _question(event)
    return agent(name if isinstance(name, str) else type(instance).__name__, started or None)


def _question(event: Any) -> Any:
    """Returns the input of a workflow's start event: an agent's question, else all fields of the event."""
    message = event.get("user_msg", None)
    if message is not None:
        return message if isinstance(message, str) else message.content
    return {name: value for name, value in event.model_dump().items() if value is not None}


def _begin_run(instance: Any, args: Any, kwargs: Any) -> ObservedSpan | None:
    begin = _workflow(instance, args, kwargs)
    return None if begin is None else begin()


def _started(span: ObservedSpan, handler: Any, _args: Any, _kwargs: Any) -> None:
    detach(span)  # the tasks that it has started have copies of the context, in which the span stays current
    _await_end(span, handler)


@log_errors_and_return_none
def _await_end(span: ObservedSpan, handler: Any) -> None:
    handler._result_task.add_done_callback(partial(_ended, span))


def _ended(span: ObservedSpan, task: Any) -> None:
    raised = asyncio.CancelledError() if task.cancelled() else task.exception()
    if raised is not None:
        fail(span, raised)
    else:
        finish(span, names.OUTPUT_REF, _output(task.result()))


@log_errors_and_return_none
def _output(event: Any) -> Any:
    """Returns the result of a workflow; for an agent, its structured answer or its text."""
    result = getattr(event, "result", None)
    structured = getattr(result, "structured_response", None)
    content = getattr(getattr(result, "response", None), "content", None)
    return next((value for value in (structured, content, result) if value is not None), event)


@log_errors_and_return_none
def _tool(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    function = getattr(instance, "real_fn", None)
    if not is_inside_run() or is_observed(function):
        return None
    if getattr(function, "__module__", None) == "llama_index.core.agent.workflow.multi_agent_workflow":
        # The workflow's own tool changes the workflow's state, so it has to run on resume, too.
        scope.handoff(kwargs["to_agent"], reason=kwargs.get("reason"))
        return None
    injected = getattr(instance, "ctx_param_name", None)
    arguments = {name: value for name, value in kwargs.items() if name != injected}
    if args:
        arguments["input"] = args[0] if len(args) == 1 else list(cast("tuple[Any, ...]", args))
    name = str(instance.metadata.get_name())
    return None if enclosing_tool_call(name, arguments) is not None else tool(name, arguments, None)


def _call(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin = _tool(instance, args, kwargs)
    if begin is None:
        return wrapped(*args, **kwargs)
    live: list[Any] = []

    def noting() -> Any:
        live.append(wrapped(*args, **kwargs))
        return live[0]

    result = call(begin, names.TOOL_RESULT_REF, noting, (), {})
    return result if live else _as_tool_output(instance, kwargs, result)


async def _acall(wrapped: Any, instance: Any, args: Any, kwargs: Any) -> Any:
    begin = _tool(instance, args, kwargs)
    if begin is None:
        return await wrapped(*args, **kwargs)
    live: list[Any] = []

    async def noting() -> Any:
        live.append(await wrapped(*args, **kwargs))
        return live[0]

    result = await call_async(begin, noting(), names.TOOL_RESULT_REF)
    return result if live else _as_tool_output(instance, kwargs, result)


def _as_tool_output(instance: Any, kwargs: dict[str, Any], result: Any) -> Any:
    """Converts a plain value that a fork sets as a tool's result to the ToolOutput that agents expect."""
    kind: Any = sys.modules["llama_index.core.tools.types"].ToolOutput
    if isinstance(result, kind):
        return result
    name = str(instance.metadata.get_name())
    return kind(tool_name=name, content=str(result), raw_input={"kwargs": kwargs}, raw_output=result)


@log_errors_and_return_none
def _retriever(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    str_or_bundle = args[0] if args else kwargs.get("str_or_query_bundle")
    query = str_or_bundle if isinstance(str_or_bundle, str) else getattr(str_or_bundle, "query_str", None)
    return retriever(type(instance).__name__, {"query": query})


def _as_nodes(value: Any) -> Any:
    """Converts texts that a fork sets as a retriever's result to the nodes that it returns."""
    from llama_index.core.schema import NodeWithScore, TextNode  # noqa: PLC0415 # pyright: ignore[reportMissingImports, reportUnknownVariableType]

    items = as_items(value)
    make_node, make_text = cast(Any, NodeWithScore), cast(Any, TextNode)
    return [make_node(node=make_text(text=item)) if isinstance(item, str) else item for item in items]


_retrieve, _aretrieve = answered_wrappers(_retriever, names.OUTPUT_REF, lambda instance, kwargs: _as_nodes)

_RETRIEVERS = "llama_index.core.base.base_retriever"
_llama_index = Instrumentation(
    [
        Wrap(
            "workflows.workflow", "Workflow.run", with_span(_begin_run, _started)
        ),  # which agents' own `run` goes through
        WrapSubclasses("llama_index.core.tools.types", "AsyncBaseTool", {"call": _call, "acall": _acall}),
        Wrap(_RETRIEVERS, "BaseRetriever.retrieve", _retrieve),
        Wrap(_RETRIEVERS, "BaseRetriever.aretrieve", _aretrieve),
    ]
)
patch, unpatch = _llama_index.patch, _llama_index.unpatch

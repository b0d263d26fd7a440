"""LangChain's tools, models, retrievers and embeddings: in LangGraph, in LangChain's agents, or called directly.

Of a retrieval, the query and the found documents are recorded. Models and embeddings are recorded here only if no
instrumented client inside records them (see `capture.frameworks.model_calls`).
"""

import json
from collections.abc import Callable
from typing import Any, cast

from playhead.capture.frameworks.observing import (
    StartSpan,
    answered_wrappers,
    as_items,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    retriever,
    tool,
)
from playhead.capture.langchain.chat_models import CHAT_MODELS
from playhead.capture.langchain.embeddings import EMBEDDINGS
from playhead.capture.patching import Instrumentation, Wrap
from playhead.model import names
from playhead.model.json_value import text_at, value_at

SUPPORTS = "langchain-core >= 1.0"


# --- tools ------------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _begin_tool(instance: Any, args: Any, kwargs: Any) -> StartSpan | None:
    if not is_inside_run():
        return None
    kind = cast(Any, type(instance))
    functions = (getattr(instance, "func", None), getattr(instance, "coroutine", None), kind._run, kind._arun)
    if any(map(is_observed, functions)):
        return None
    tool_input = args[0] if args else kwargs.get("tool_input")
    fields = cast("dict[str, Any]", tool_input) if isinstance(tool_input, dict) else None
    arguments: dict[str, Any] = {"input": tool_input} if fields is None else _without_injected(instance, fields)
    return tool(instance.name, arguments, kwargs.get("tool_call_id"))


def _without_injected(instance: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the model's arguments, without the state, stores and contexts that the framework adds."""
    own_filter = getattr(instance, "_filter_injected_args", None)  # since langchain-core 1.1
    if own_filter is not None:
        return own_filter(arguments)
    schema: Any = instance.tool_call_schema
    parameters: Any = schema.model_fields if hasattr(schema, "model_fields") else schema.get("properties", {})
    return {name: value for name, value in arguments.items() if name in parameters}


def _as_tool_output(instance: Any, kwargs: Any) -> Callable[[Any], Any]:
    """Returns a function that converts a plain value to a `ToolMessage` with the id of the call, if it has one."""
    call_id = text_at(kwargs, "tool_call_id", None)

    def fit(value: Any) -> Any:
        from langchain_core.messages import ToolMessage  # noqa: PLC0415 - of the library that is in use
        from langchain_core.messages.tool import ToolOutputMixin  # noqa: PLC0415 - as above

        if call_id is None:
            return value
        if isinstance(value, ToolMessage):
            return value.model_copy(update={"tool_call_id": call_id, "name": value.name or str(instance.name)})
        items = as_items(value)
        if items and all(isinstance(item, ToolOutputMixin) for item in items):
            return value  # a LangGraph command, or several
        content: Any
        content, artifact = cast("tuple[Any, Any]", (value, None))
        if instance.response_format == "content_and_artifact" and isinstance(value, tuple | list) and len(value) == 2:  # pyright: ignore[reportUnknownArgumentType]
            content, artifact = cast("tuple[Any, Any]", value)
        body = _as_message_content(content)
        return ToolMessage(body, artifact=artifact, tool_call_id=call_id, name=str(instance.name), status="success")

    return fit


def _as_message_content(value: Any) -> Any:
    """Converts a tool's return value to the content of its message, as the library does: a text, or content blocks."""
    from langchain_core.tools.base import TOOL_MESSAGE_BLOCK_TYPES  # noqa: PLC0415 - of the library that is in use

    if isinstance(value, str):
        return value
    items = cast("list[Any]", value) if isinstance(value, list) else [None]
    if all(isinstance(item, str) or _type_of(item) in TOOL_MESSAGE_BLOCK_TYPES for item in items):
        return items
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(cast(Any, value))


def _type_of(block: Any) -> Any:
    return value_at(block, "type")


_run_tool, _arun_tool = answered_wrappers(_begin_tool, fit=_as_tool_output)

_TOOLS_MODULE = "langchain_core.tools.base"
TOOLS = (Wrap(_TOOLS_MODULE, "BaseTool.run", _run_tool), Wrap(_TOOLS_MODULE, "BaseTool.arun", _arun_tool))


# --- retrievers -------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _begin_retriever(instance: Any, args: Any, kwargs: Any) -> StartSpan:
    query = {"query": args[0] if args else kwargs.get("input")}
    options = {name: value for name, value in kwargs.items() if name not in ("input", "config")}
    return retriever(str(instance.get_name()), query | options)


def _as_documents(value: Any) -> Any:
    """Converts texts to documents; a fork may set texts as the result."""
    from langchain_core.documents import Document  # noqa: PLC0415 - of the library that is in use

    items = as_items(value)
    return [Document(page_content=item) if isinstance(item, str) else item for item in items]


_invoke_retriever, _ainvoke_retriever = answered_wrappers(
    _begin_retriever, names.OUTPUT_REF, lambda instance, kwargs: _as_documents
)

_RETRIEVERS_MODULE = "langchain_core.retrievers"
RETRIEVERS = (
    Wrap(_RETRIEVERS_MODULE, "BaseRetriever.invoke", _invoke_retriever),
    Wrap(_RETRIEVERS_MODULE, "BaseRetriever.ainvoke", _ainvoke_retriever),
)


# --- what is wrapped --------------------------------------------------------------------------------------------------

_langchain = Instrumentation([*TOOLS, *CHAT_MODELS, *RETRIEVERS, *EMBEDDINGS])
patch, unpatch = _langchain.patch, _langchain.unpatch

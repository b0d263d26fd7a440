"""LangChain's tools, models, retrievers and embeddings: in LangGraph, in LangChain's agents, or called directly.

Of a retrieval, the query and the found documents are recorded. Models and embeddings are recorded here only if no
instrumented client inside records them (see `capture.frameworks.model_calls`).
"""

import json
from collections.abc import Callable, Container, Mapping
from typing import Any, Protocol

from playhead.capture.frameworks.observing import (
    StartSpan,
    answered_wrappers,
    arguments_by_name,
    as_items,
    is_inside_run,
    is_observed,
    log_errors_and_return_none,
    retriever,
    tool,
)
from playhead.capture.langchain.chat_models import CHAT_MODELS
from playhead.capture.langchain.embeddings import EMBEDDINGS
from playhead.capture.langchain.mistral import MISTRAL
from playhead.capture.patching import Instrumentation, Wrap
from playhead.capture.wrapping import MethodCall
from playhead.model import names
from playhead.model.json_value import list_of, object_at, text_at, value_at

SUPPORTS = "langchain-core >= 1.0"


class _LangChainTool(Protocol):
    name: str
    response_format: str
    tool_call_schema: object


class _Retriever(Protocol):
    def get_name(self) -> str: ...


# --- tools ------------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _begin_tool(called: MethodCall) -> StartSpan | None:
    if not is_inside_run():
        return None
    its_tool: _LangChainTool = called.client
    places = ((its_tool, "func"), (its_tool, "coroutine"), (type(its_tool), "_run"), (type(its_tool), "_arun"))
    if any(is_observed(getattr(owner, name, None)) for owner, name in places):
        return None
    tool_input: object = called.argument(0, "tool_input")
    arguments = arguments_by_name(tool_input)
    if isinstance(tool_input, dict):
        arguments = _without_injected(its_tool, arguments)
    return tool(its_tool.name, arguments, called.kwargs.get("tool_call_id"))


def _without_injected(its_tool: _LangChainTool, arguments: Mapping[str, object]) -> Mapping[str, object]:
    """Returns the model's arguments, without the state, stores and contexts that the framework adds."""
    own_filter = getattr(its_tool, "_filter_injected_args", None)  # since langchain-core 1.1
    if own_filter is not None:
        return own_filter(arguments)
    schema = its_tool.tool_call_schema
    parameters: Container[str] = getattr(schema, "model_fields", None) or object_at(schema, "properties")
    return {name: value for name, value in arguments.items() if name in parameters}


def _as_tool_output(called: MethodCall) -> Callable[[object], object]:
    """Returns a function that converts a plain value to a `ToolMessage` with the id of the call, if it has one."""
    call_id = text_at(called.kwargs, "tool_call_id", None)
    its_tool: _LangChainTool = called.client

    def fit(value: Any) -> object:
        from langchain_core.messages import ToolMessage  # noqa: PLC0415 - of the library that is in use
        from langchain_core.messages.tool import ToolOutputMixin  # noqa: PLC0415 - as above

        if call_id is None:
            return value
        if isinstance(value, ToolMessage):
            return value.model_copy(update={"tool_call_id": call_id, "name": value.name or str(its_tool.name)})
        items = as_items(value)
        if items and all(isinstance(item, ToolOutputMixin) for item in items):
            return value  # a LangGraph command, or several
        content, artifact, pair = value, None, value
        if its_tool.response_format == "content_and_artifact" and isinstance(value, tuple | list) and len(value) == 2:  # pyright: ignore[reportUnknownArgumentType]
            content, artifact = pair
        body = _as_message_content(content)
        return ToolMessage(body, artifact=artifact, tool_call_id=call_id, name=str(its_tool.name), status="success")

    return fit


def _as_message_content(value: Any) -> Any:
    """Converts a tool's return value to the content of its message, as the library does: a text, or content blocks."""
    from langchain_core.tools.base import TOOL_MESSAGE_BLOCK_TYPES  # noqa: PLC0415 - of the library that is in use

    if isinstance(value, str):
        return value
    blocks = list_of(value)
    is_block = (isinstance(item, str) or value_at(item, "type") in TOOL_MESSAGE_BLOCK_TYPES for item in blocks)
    if blocks is value and all(is_block):
        return blocks
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        return str(value)


_run_tool, _arun_tool = answered_wrappers(_begin_tool, fit=_as_tool_output)

_TOOLS_MODULE = "langchain_core.tools.base"
TOOLS = (Wrap(_TOOLS_MODULE, "BaseTool.run", _run_tool), Wrap(_TOOLS_MODULE, "BaseTool.arun", _arun_tool))


# --- retrievers -------------------------------------------------------------------------------------------------------


@log_errors_and_return_none
def _begin_retriever(called: MethodCall) -> StartSpan:
    its_retriever: _Retriever = called.client
    options = {name: value for name, value in called.kwargs.items() if name not in ("input", "config")}
    return retriever(str(its_retriever.get_name()), {"query": called.argument(0, "input"), **options})


def _as_documents(value: object) -> list[object]:
    """Converts texts to documents; a fork may set texts as the result."""
    from langchain_core.documents import Document  # noqa: PLC0415 - of the library that is in use

    return [Document(page_content=item) if isinstance(item, str) else item for item in as_items(value)]


_invoke_retriever, _ainvoke_retriever = answered_wrappers(_begin_retriever, names.OUTPUT_REF, lambda _: _as_documents)

_RETRIEVERS_MODULE = "langchain_core.retrievers"
RETRIEVERS = (
    Wrap(_RETRIEVERS_MODULE, "BaseRetriever.invoke", _invoke_retriever),
    Wrap(_RETRIEVERS_MODULE, "BaseRetriever.ainvoke", _ainvoke_retriever),
)


# --- what is wrapped --------------------------------------------------------------------------------------------------

_langchain = Instrumentation([*TOOLS, *CHAT_MODELS, *RETRIEVERS, *EMBEDDINGS, *MISTRAL])
patch, unpatch = _langchain.patch, _langchain.unpatch

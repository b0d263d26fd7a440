"""Reads requests and answers of Messages for the capture stage. Changes nothing."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

from playhead.calls.lifecycle import current_span
from playhead.calls.run import ActiveRun
from playhead.capture.anthropic.events import whole_message
from playhead.capture.anthropic.threads import earlier_messages, remember
from playhead.capture.model_values import ModelRequest, ModelResponse
from playhead.capture.stainless.reading import (
    LEFT_OUT,
    TRANSPORT,
    answer_json,
    described,
    dumped,
    settings_of,
    usage_of,
)
from playhead.dialect import anthropic as dialect
from playhead.dialect.parts import provider_edits
from playhead.model import names
from playhead.model.objects.interrupts import let_through

# Sent as headers.
_HEADERS = frozenset({"betas", "user_profile_id", "workspace_id"})
_NOT_SETTINGS = TRANSPORT | {"messages", "tools", "system"}
_ELSEWHERE = _HEADERS | {"output_format"}
_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "max_tokens": names.REQUEST_MAX_TOKENS,
    "stream": names.REQUEST_STREAM,
}
_USAGE = (
    ("", "output_tokens", names.OUTPUT_TOKENS),
    ("", "cache_read_input_tokens", names.CACHE_READ_TOKENS),
    ("", "cache_creation_input_tokens", names.CACHE_WRITE_TOKENS),
    ("output_tokens_details", "thinking_tokens", names.REASONING_TOKENS),
)
# Anthropic's reason → the reason's name in Chat Completions; others are kept.
_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "content_filter",
}
_PLATFORMS = {"Bedrock": "aws.bedrock", "Vertex": "gcp.vertex_ai", "Foundry": "azure.ai.inference"}
_SHAPE = {"dialect": dialect.NAME}
_CUT_SYSTEM = frozenset({str, list, tuple})


def read_request(client: Any, kwargs: Mapping[str, Any], method: str = "create") -> ModelRequest:
    """Reads a request from its keyword arguments (the client takes no positional ones)."""
    arguments = kwargs
    if not kwargs.keys().isdisjoint(_ELSEWHERE):
        arguments = _with_output_format({key: value for key, value in kwargs.items() if key not in _HEADERS})
    settings, attributes = settings_of(arguments, _NOT_SETTINGS, _REQUEST_ATTRIBUTES, described)
    if method == "stream":
        settings["stream"] = attributes[names.REQUEST_STREAM] = True
    system = kwargs.get("system")
    if system is not None and type(system) not in _CUT_SYSTEM and type(system).__name__ not in LEFT_OUT:
        settings["system"] = system
    (messages, whole), shape = sent_messages(kwargs), _SHAPE
    if "thread" in kwargs and isinstance(kwargs["thread"], Mapping):
        above = current_span()
        earlier = earlier_messages(above.run if above is not None else None, kwargs)
        messages, whole, shape = [*earlier, *messages], 0, {**_SHAPE, "before": len(earlier)}
    return ModelRequest(
        provider=provider_of(client),
        operation="chat",
        model=str(kwargs.get("model", "")),
        messages=messages,
        to_message=dialect.to_message,
        from_message=dialect.from_message,
        tools=_tools(kwargs.get("tools")),
        settings=settings,
        attributes=attributes,
        shape=shape,
        whole=whole,
    )


def sent_messages(kwargs: Mapping[str, Any]) -> tuple[list[Any], int]:
    """Returns the system prompt and the messages as the client sends them, cut (see `dialect.anthropic`), and the
    number of leading messages that are known to need no cutting."""
    system = kwargs.get("system")
    prompt = system if type(system) is str else _sent_content(system) if type(system) in _CUT_SYSTEM else None
    natives: Any = kwargs.get("messages") or ()
    messages: list[Any] = natives if type(natives) is list else [*natives]  # pyright: ignore[reportUnknownVariableType]
    begin = _known_turns(messages, prompt)
    cut = dialect.cut_plain_turns(messages, prompt, begin)
    return (dialect.cut_turns(map(_sent, messages), prompt), 0) if cut is None else cut


def _known_turns(messages: list[Any], prompt: Any) -> list[Any] | None:
    """Returns the prompt and the first messages, as far as an earlier call of the run began with the same ones and they
    need no cutting; None if there are none.  Comparing with the earlier call takes half the time of checking each
    block.

    Returns the remembered copies, which the recorder recognizes without comparing them again.
    """
    span = current_span()
    if span is None:
        return None
    first = 0 if prompt is None else 1
    for thread in span.run.threads.threads[:]:
        begin: list[Any] = thread.messages[:]
        if thread.whole < len(begin):
            thread.whole = whole = dialect.count_whole(begin, thread.whole)
            del begin[whole:]
        if len(begin) > first and _begins_with(messages, prompt, begin):
            for index in thread.numeric:  # in Python `1 == True`, so the recorder has to compare these itself
                if first <= index < len(begin):
                    begin[index] = messages[index - first]
            return begin
    return None


def _begins_with(messages: list[Any], prompt: Any, begin: list[Any]) -> bool:
    if (begin[0].get("role") == "system") is (prompt is None):
        return False
    try:
        if prompt is None:
            return messages[: len(begin)] == begin
        return begin[0]["content"] == prompt and len(begin[0]) == 2 and [begin[0], *messages[: len(begin) - 1]] == begin
    except BaseException as error:  # noqa: BLE001 - it is the user's code, and may raise anything
        let_through(error)
        return False


def _sent(message: Any) -> Any:
    if type(message) is not dict:
        message = dumped(message)
    native = cast("dict[str, Any]", message)
    content = native.get("content")
    if type(content) is str or content is None:
        return native
    sent = _sent_content(content)
    return native if sent is content else {**native, "content": sent}


def _sent_content(content: Any) -> Any:
    """Returns content blocks as dictionaries; any other content unchanged."""
    if not isinstance(content, list | tuple):
        return content
    blocks = cast("Sequence[Any]", content)
    if all(type(block) is dict and block.get("type") != "tool_result" for block in blocks):
        return blocks
    return [_sent_block(block) for block in blocks]


def _sent_block(block: Any) -> Any:
    sent = cast("object", block) if type(block) is dict else dumped(block)
    if not isinstance(sent, dict):
        return sent
    fields = cast("dict[str, Any]", sent)
    inner = fields.get("content")
    if type(inner) is not list or all(type(item) is dict for item in cast("list[Any]", inner)):
        return fields
    return {**fields, "content": [dumped(item) for item in cast("list[Any]", inner)]}


def _tools(tools: Any) -> list[Any] | None:
    """Returns the tool definitions as sent; function tools make their definition themselves. None if there are none."""
    if tools is None or type(tools).__name__ in LEFT_OUT:
        return None
    definitions: list[Any] = tools if type(tools) is list else list(tools)  # pyright: ignore[reportUnknownVariableType]
    return definitions if all(type(tool) is dict for tool in definitions) else [_tool(tool) for tool in definitions]


def _tool(tool: Any) -> Any:
    return tool.to_dict() if type(tool) is not dict and hasattr(tool, "to_dict") else dumped(tool)


def _with_output_format(kwargs: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments with the schema that the client sends for the class in `output_format`."""
    kind = kwargs.pop("output_format", None)
    if kind is None or type(kind).__name__ in LEFT_OUT:
        return kwargs
    config = kwargs.get("output_config")
    settings = cast("dict[str, Any]", config) if isinstance(config, dict) else {}
    return {**kwargs, "output_config": {**settings, "format": output_format(kind)}}


def output_format(kind: Any) -> Any:
    """Returns the schema that the client sends for a class."""
    try:
        # The library is the user's.
        from anthropic.lib._parse._transform import transform_schema  # noqa: PLC0415 # pyright: ignore[reportMissingTypeStubs]
        from pydantic import TypeAdapter  # noqa: PLC0415

        return {"type": "json_schema", "schema": transform_schema(TypeAdapter(kind).json_schema())}
    except BaseException as error:  # noqa: BLE001 - another version of the library, or a class that it does not take
        let_through(error)
        return described(kind) if isinstance(kind, type) else kind


def read_response(response: Any, run: ActiveRun, kwargs: Mapping[str, Any]) -> ModelResponse | None:
    """Reads a `Message`; None for anything else."""
    if not hasattr(response, "content") or not hasattr(response, "stop_reason"):
        return None
    return _response(_dumped(response), run, kwargs)


def assemble(events: list[Any], run: ActiveRun, kwargs: Mapping[str, Any]) -> ModelResponse | None:
    """Reads the events of a stream, or the results of `kept_event`; None if there are none."""
    return _streamed([kept_event(event) for event in events], run, kwargs) if events else None


def kept_event(event: Any) -> Any:
    """Returns the JSON of an event as received: programs change events in place, by adding deltas to earlier blocks."""
    return event if type(event) is dict else _dumped(event)  # pyright: ignore[reportUnknownVariableType]


def read_recorded(raw: dict[str, Any], run: ActiveRun, kwargs: Mapping[str, Any]) -> ModelResponse:
    """Reads a recorded response, streamed or not."""
    return _streamed(raw["stream"], run, kwargs) if "stream" in raw else _response(raw, run, kwargs)


def with_edit(kwargs: Mapping[str, Any], messages: list[Any] | None) -> dict[str, Any] | None:
    """Returns the arguments with these cut messages, joined again; None if the server keeps some of the messages."""
    if messages is None:
        return dict(kwargs)
    if isinstance(kwargs.get("thread"), Mapping):
        return None
    system, joined = dialect.join_turns(messages)
    changed: dict[str, Any] = {**kwargs, "messages": joined}
    if system is None:
        changed.pop("system", None)
    else:
        changed["system"] = system
    return changed


def provider_of(client: Any) -> str:
    """Returns the name of the provider whose API a resource of the client calls."""
    kind: Any = type(getattr(client, "_client", None))  # pyright: ignore[reportUnknownVariableType]
    return _provider_of_kind(kind)


@lru_cache(maxsize=256)
def _provider_of_kind(kind: type[Any]) -> str:
    platform = next((platform for key, platform in _PLATFORMS.items() if key in kind.__name__), None)
    return platform or str(getattr(kind, "_gen_ai_provider_name", "anthropic"))


def _streamed(events: list[dict[str, Any]], run: ActiveRun, kwargs: Mapping[str, Any]) -> ModelResponse:
    response = _response(whole_message(events), run, kwargs)
    return ModelResponse(response.messages, {"stream": events}, response.reasoning, response.attributes)


def _response(answer: dict[str, Any], run: ActiveRun, kwargs: Mapping[str, Any]) -> ModelResponse:
    message, reasoning = dialect.output_message(answer)
    usage: Mapping[str, Any] = answer.get("usage") or {}
    attributes: dict[str, Any] = usage_of(usage, _USAGE)
    if usage.get("input_tokens") is not None:
        read, written = usage.get("cache_read_input_tokens"), usage.get("cache_creation_input_tokens")
        attributes[names.INPUT_TOKENS] = usage["input_tokens"] + (read or 0) + (written or 0)
    stopped = answer.get("stop_reason")
    attributes[names.FINISH_REASONS] = [_FINISH_REASONS.get(stopped, stopped)] if stopped else []
    for key, name in (("id", names.RESPONSE_ID), ("model", names.RESPONSE_MODEL)):
        if answer.get(key):
            attributes[name] = answer[key]
    attributes |= provider_edits([message], answer)
    if "thread" in kwargs and isinstance(kwargs["thread"], Mapping):
        remember(run, kwargs, sent_messages(kwargs)[0], answer)
    return ModelResponse([message], answer, reasoning, attributes)


def _dumped(value: Any) -> Any:
    """Returns the JSON of one of the client's objects, without the parsed values that the client adds."""
    native: Any = answer_json(value)
    blocks: Any = native.get("content")
    if type(blocks) is list:
        for block in blocks:  # pyright: ignore[reportUnknownVariableType]
            block.pop("parsed_output", None)  # pyright: ignore[reportUnknownMemberType]
    return native

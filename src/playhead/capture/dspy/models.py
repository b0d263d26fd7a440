"""DSPy's own client of models, which `dspy.LM` calls providers with since 3.4 unless it goes through LiteLLM.

Requests and answers are converted to the form of Chat Completions, and back. The body that is sent is not recorded: it
is made where no instrumented client is.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from importlib import import_module
from typing import Any, Protocol

from playhead.capture.frameworks.chat import chat_request, chat_response
from playhead.capture.frameworks.model_calls import (
    FrameworkModelApi,
    observing_model,
    observing_model_async,
    observing_model_stream,
    observing_model_stream_async,
)
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.patching import Wrap
from playhead.capture.wrapping import MethodCall
from playhead.compat.dspy import serializer
from playhead.model import names
from playhead.model.json_value import Json, JsonMapping, JsonValue, object_at, object_of, objects_at, text_at

# --- requests ---------------------------------------------------------------------------------------------------------


class _Lm15Request(Protocol):
    model: str


class _Lm15Resolution(Protocol):
    provider: str


class _Lm15Engine(Protocol):
    def resolve(self, model: str) -> _Lm15Resolution: ...


def _read_request(call: MethodCall) -> ObservedRequest:
    engine: _Lm15Engine = call.client
    request: _Lm15Request = call.argument(0, "request")
    fields: Json = serializer().request_to_dict(request)
    settings = dict(object_at(fields, "config"))
    if call.method == "stream":
        settings["stream"] = True
    return chat_request(
        engine,
        provider=engine.resolve(request.model).provider.removesuffix("-chat"),
        model_name=request.model.rpartition("/")[2],
        messages=_chat_messages(fields),
        tools=[_definition(tool) for tool in objects_at(fields, "tools")],
        settings=settings,
    )


def _definition(tool: JsonMapping) -> JsonMapping:
    if tool.get("type") != "function":
        return tool
    return {"type": "function", "function": {name: value for name, value in tool.items() if name != "type"}}


def _with_messages(call: MethodCall, messages: list[JsonValue]) -> MethodCall:
    request: Any = call.argument(0, "request")
    read: Callable[[JsonMapping], Any] = import_module("dspy.lm15").request_from_openai_chat
    edited = read({"model": request.model, "messages": messages})
    changed = replace(request, messages=edited.messages, system=edited.system)
    return MethodCall(call.client, call.method, (changed,), {}, call.is_async)


def _chat_messages(request: JsonMapping) -> list[JsonMapping]:
    system = request.get("system")
    first: list[JsonMapping] = []
    if system:
        first = [
            {
                "role": "system",
                "content": system if isinstance(system, str) else _content(objects_at(request, "system")),
            }
        ]
    return [*first, *(each for message in objects_at(request, "messages") for each in _chat_message(message))]


def _chat_message(message: JsonMapping) -> Iterable[JsonMapping]:
    """Yields one message, or one for each result of a tool."""
    parts, role = objects_at(message, "parts"), text_at(message, "role")
    results = [part for part in parts if part.get("type") == "tool_result"]
    for part in results:
        content = _content(objects_at(part, "content"))
        yield {"role": "tool", "tool_call_id": part.get("id"), "content": content}
    others = [part for part in parts if part.get("type") != "tool_result"]
    if others:
        yield _answer(others) if role == "assistant" else {"role": role, "content": _content(others)}


def _answer(parts: list[Json]) -> Json:
    """Returns the message of a model with these parts."""
    thoughts = "".join(text_at(part, "text") for part in parts if part.get("type") == "thinking")
    calls: list[JsonValue] = [_tool_call(part) for part in parts if part.get("type") == "tool_call"]
    rest = [part for part in parts if part.get("type") not in {"thinking", "tool_call"}]
    message: Json = {"role": "assistant", "content": _content(rest) if rest else None}
    if calls:
        message["tool_calls"] = calls
    if thoughts:
        message["reasoning_content"] = thoughts
    return message


def _tool_call(part: JsonMapping) -> Json:
    arguments = json.dumps(part.get("input"), ensure_ascii=False)
    return {"id": part.get("id"), "type": "function", "function": {"name": part.get("name"), "arguments": arguments}}


def _content(parts: list[Json]) -> JsonValue:
    """Returns the text if it is one text, else the parts."""
    match parts:
        case [{"type": "text", "text": str(text)}]:
            return text
        case _:
            return [_content_part(part) for part in parts]


def _content_part(part: Json) -> Json:
    if part.get("type") == "image":
        data, media_type = part.get("data"), text_at(part, "media_type")
        url = part.get("url") if data is None else f"data:{media_type};base64,{data}"
        return {"type": "image_url", "image_url": {"url": url}}
    return part


# --- answers ----------------------------------------------------------------------------------------------------------

_FINISH_REASONS = {"tool_call": "tool_calls"}


def _dump_response(response: object) -> Json:
    return object_of(serializer().response_to_dict(response, include_provider_data=True))


def _load_response(raw: JsonValue) -> object:
    return serializer().response_from_dict(raw)


def _read_response(raw: JsonValue) -> ObservedResponse:
    usage, reason = object_at(raw, "usage"), text_at(raw, "finish_reason")
    return chat_response(
        raw,
        _answer(objects_at(object_at(raw, "message"), "parts")),
        usage={attribute: _count(usage.get(name)) for name, attribute in _USAGE.items()},
        finish_reason=_FINISH_REASONS.get(reason, reason or None),
        model_name=text_at(raw, "model", None),
        response_id=text_at(raw, "id", None),
    )


_USAGE: Mapping[str, str] = {
    "input_tokens": names.INPUT_TOKENS,
    "output_tokens": names.OUTPUT_TOKENS,
    "cache_read_tokens": names.CACHE_READ_TOKENS,
    "cache_write_tokens": names.CACHE_WRITE_TOKENS,
    "reasoning_tokens": names.REASONING_TOKENS,
    "input_audio_tokens": names.AUDIO_INPUT_TOKENS,
    "output_audio_tokens": names.AUDIO_OUTPUT_TOKENS,
}


def _count(value: JsonValue) -> int | None:
    return value if isinstance(value, int) else None


def _response_of(message: JsonMapping, call: MethodCall) -> Any:
    """Returns the framework's answer with this message of Chat Completions."""
    request: _Lm15Request = call.argument(0, "request")
    read: Callable[..., Any] = import_module("dspy.lm15").response_from_openai_chat
    finish = "tool_calls" if message.get("tool_calls") else "stop"
    return read({"model": request.model, "choices": [{"index": 0, "message": message, "finish_reason": finish}]})


# --- streams ----------------------------------------------------------------------------------------------------------


def _dump_event(event: object) -> Json:
    return object_of(serializer().stream_event_to_dict(event))


def _join(events: list[Json]) -> Json:
    """Joins events to one answer, which may not be whole: an `end` may be missing."""
    answer: Json = {"message": {"role": "assistant", "parts": _joined_parts(events)}}
    for event in events:
        answer |= {name: value for name, value in event.items() if name not in {"type", "delta"}}
    return answer


def _joined_parts(events: list[Json]) -> list[JsonValue]:
    parts: dict[JsonValue, Json] = {}
    for event in events:
        delta = object_at(event, "delta")
        kind = delta.get("type")
        if kind in {"text", "thinking", "tool_call"}:
            part = parts.setdefault(delta.get("part_index", 0), {"type": kind})
            part |= {name: value for name, value in delta.items() if name in {"id", "name"}}
            text = "input" if kind == "tool_call" else "text"
            part[text] = text_at(part, text) + text_at(delta, text)
    return [_with_arguments(part) for _, part in sorted(parts.items(), key=lambda item: str(item[0]).zfill(6))]


def _with_arguments(part: Json) -> Json:
    if part.get("type") != "tool_call":
        return part
    try:
        return {**part, "input": json.loads(text_at(part, "input") or "{}")}
    except ValueError:  # the stream broke inside
        return part


def _split(raw: JsonValue) -> list[JsonValue]:
    events: Iterable[object] = import_module("dspy.lm15").response_to_events(_load_response(raw))
    return [_dump_event(event) for event in events]


# --- what is wrapped --------------------------------------------------------------------------------------------------

_WHOLE = FrameworkModelApi(
    read_request=_read_request,
    with_messages=_with_messages,
    dump=_dump_response,
    load=_load_response,
    read=_read_response,
    from_message=lambda message, call: _dump_response(_response_of(message, call)),
    is_client=True,
)
_STREAMED = FrameworkModelApi(
    read_request=_read_request,
    with_messages=_with_messages,
    dump=_dump_event,
    load=lambda raw: serializer().stream_event_from_dict(raw),
    read=_read_response,
    from_message=lambda message, call: _dump_response(_response_of(message, call)),
    is_client=True,
    join=_join,
    split=_split,
)

_ENGINES = "dspy.clients.engines.lm15_engine"
MODELS = (
    Wrap(_ENGINES, "LM15Engine.complete", observing_model(_WHOLE)),
    Wrap(_ENGINES, "LM15Engine.stream", observing_model_stream(_STREAMED)),
    Wrap(_ENGINES, "AsyncLM15Engine.complete", observing_model_async(_WHOLE)),
    Wrap(_ENGINES, "AsyncLM15Engine.stream", observing_model_stream_async(_STREAMED)),
)

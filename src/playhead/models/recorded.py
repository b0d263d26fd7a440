"""Asks a model so that the call is in the record once: an instrumented client inside records it, else it is recorded
here; in a resumed run it is answered from the record.

Outside a run, nothing is recorded here. All raise what the model raises."""

from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import asdict, fields, replace
from typing import Any, cast

from playhead.calls.lifecycle import current_span
from playhead.capture.frameworks.chat import chat_request, chat_response
from playhead.capture.frameworks.model_calls import (
    FrameworkModelApi,
    observing_model,
    observing_model_async,
    observing_model_stream,
    observing_model_stream_async,
)
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.wrapping import MethodCall
from playhead.dialect import openai_chat as dialect
from playhead.model.event import TokenUsage
from playhead.model.json_value import Json, JsonMapping, JsonValue, int_at, object_at, text_at
from playhead.model.message import Message, Part
from playhead.models.apis import USAGE_ATTRIBUTES
from playhead.models.model import Model, ModelChunk, ModelRequest, ModelResponse, StopReason, stop_reason_of, tool_json


def ask(model: Model, request: ModelRequest) -> ModelResponse:
    """Returns the model's answer, or the recorded one."""
    if current_span() is None:
        return model.complete(request)
    return _observed(model.complete, model, (request,), {})


async def ask_async(model: Model, request: ModelRequest) -> ModelResponse:
    """The same, without blocking the event loop."""
    if current_span() is None:
        return await model.complete_async(request)
    return await _observed_async(model.complete_async, model, (request,), {})


def ask_stream(model: Model, request: ModelRequest) -> Iterator[ModelChunk]:
    """Yields the model's answer in pieces, or the recorded pieces."""
    if current_span() is None:
        return model.stream(request)
    return _observed_stream(model.stream, model, (request,), {})


def ask_stream_async(model: Model, request: ModelRequest) -> AsyncIterator[ModelChunk]:
    """The same, without blocking the event loop."""
    if current_span() is None:
        return model.stream_async(request)
    return _observed_stream_async(model.stream_async, model, (request,), {})


# --- requests ---------------------------------------------------------------------------------------------------------


def _read_request(call: MethodCall) -> ObservedRequest:
    model: Model = call.client
    request: ModelRequest = call.args[0]
    settings: Json = {
        "max_tokens": request.max_tokens,
        "temperature": request.temperature,
        "top_p": request.top_p,
        "thinking": request.thinking or None,
        "output": None if request.output is None else dict(request.output),
        "stream": True if call.method.startswith("stream") else None,
    }
    return chat_request(
        model,
        provider="playhead",
        model_name=request.model or model.name,
        messages=[dialect.from_message(message) for message in request.thread],
        tools=[tool_json(tool) for tool in request.tools],
        settings=settings,
    )


def _with_messages(call: MethodCall, messages: list[JsonValue]) -> MethodCall:
    request: ModelRequest = call.args[0]
    natives = [message for message in messages if isinstance(message, dict)]
    edited = replace(request, messages=dialect.to_messages(natives), system=None)
    return replace(call, args=(edited,))


# --- answers ----------------------------------------------------------------------------------------------------------


def _dump(response: ModelResponse) -> JsonValue:
    raw: Json = {name: getattr(response, name) for name in _TEXTS}
    usage = {name: count for name, count in asdict(response.usage).items() if count is not None}
    return {"message": cast("Json", response.message), "usage": usage, **raw}


_TEXTS = ("model", "stop_reason", "provider_stop_reason", "provider", "thoughts")


def _load(raw: JsonValue) -> ModelResponse:
    usage = object_at(raw, "usage")
    counts = {field.name: int_at(usage, field.name, None) for field in fields(TokenUsage)}
    return ModelResponse(
        cast("Message", object_at(raw, "message")),
        text_at(raw, "model"),
        TokenUsage(**counts),
        cast("StopReason | None", text_at(raw, "stop_reason", None)),
        text_at(raw, "provider_stop_reason", None),
        text_at(raw, "provider"),
        text_at(raw, "thoughts"),
    )


def _read(raw: JsonValue) -> ObservedResponse:
    usage = object_at(raw, "usage")
    counts = {attribute: int_at(usage, name, None) for name, attribute in USAGE_ATTRIBUTES.items()}
    message = dialect.from_message(cast("Message", object_at(raw, "message")))
    reason = text_at(raw, "provider_stop_reason", None) or text_at(raw, "stop_reason", None)
    thoughts, model = text_at(raw, "thoughts") or None, text_at(raw, "model")
    return chat_response(raw, message, usage=counts, finish_reason=reason, model_name=model, reasoning=thoughts)


def _from_message(message: JsonMapping, call: MethodCall) -> JsonValue:
    model: Model = call.client
    canonical = dialect.to_message(message)
    return _dump(ModelResponse(canonical, model.name, stop_reason=stop_reason_of("stop", canonical)))


def _dump_chunk(chunk: ModelChunk) -> JsonValue:
    if chunk.response is not None:
        return {"response": _dump(chunk.response)}
    texts: Json = {"text": chunk.text, "reasoning": chunk.reasoning}
    return {name: text for name, text in texts.items() if text}


def _load_chunk(raw: JsonValue) -> ModelChunk:
    response = object_at(raw, "response")
    return ModelChunk(text_at(raw, "text"), text_at(raw, "reasoning"), _load(response) if response else None)


def _join(chunks: list[Json]) -> JsonValue:
    """Returns the whole answer; of a stream that did not end, what had arrived."""
    if chunks and (response := object_at(chunks[-1], "response")):
        return response
    parts: list[Part] = []
    for kind, key in (("reasoning", "reasoning"), ("text", "text")):
        if joined := "".join(text_at(chunk, key) for chunk in chunks):
            parts.append({"type": kind, "content": joined})
    return _dump(ModelResponse({"role": "assistant", "parts": parts}, ""))


def _split(raw: JsonValue) -> list[JsonValue]:
    text = _load(raw).text
    return [*([{"text": text}] if text else []), {"response": raw}]


_API = FrameworkModelApi(_read_request, _with_messages, _dump, _load, _read, _from_message)
_STREAMED = FrameworkModelApi(
    _read_request, _with_messages, _dump_chunk, _load_chunk, _read, _from_message, _join, _split
)
_observed: Any = observing_model(_API)
_observed_async: Any = observing_model_async(_API)
_observed_stream: Callable[..., Iterator[ModelChunk]] = observing_model_stream(_STREAMED)
_observed_stream_async: Callable[..., AsyncIterator[ModelChunk]] = observing_model_stream_async(_STREAMED)

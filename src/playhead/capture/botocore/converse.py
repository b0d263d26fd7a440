"""Reads requests and answers of Converse and ConverseStream for the capture stage. Changes nothing."""

from collections.abc import Mapping
from typing import Any, cast

from playhead.capture.botocore.converse_events import events_of, whole_answer
from playhead.capture.botocore.wire_values import given_message, sent, sent_message
from playhead.capture.client_methods import MethodCall
from playhead.capture.model_values import ModelRequest, ModelResponse
from playhead.dialect import bedrock as dialect
from playhead.model import names

PROVIDER = "aws.bedrock"
_NOT_SETTINGS = frozenset({"modelId", "messages", "system", "toolConfig"})
_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "topP": names.REQUEST_TOP_P,
    "maxTokens": names.REQUEST_MAX_TOKENS,
}
_USAGE = {
    "outputTokens": names.OUTPUT_TOKENS,
    "cacheReadInputTokens": names.CACHE_READ_TOKENS,
    "cacheWriteInputTokens": names.CACHE_WRITE_TOKENS,
}
_INPUT = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
# Nova's own API has other names than Converse for the tokens that were cached.
_OTHER_NAMES = {
    "cacheReadInputTokenCount": "cacheReadInputTokens",
    "cacheWriteInputTokenCount": "cacheWriteInputTokens",
}
# Converse's reason → the reason's name in Chat Completions; others are kept.
FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "content_filtered": "content_filter",
}
_SHAPE = {"dialect": dialect.NAME}


def read_request(call: MethodCall) -> ModelRequest:
    """Reads a request from the client's parameters."""
    operation, parameters = call.args
    return request_of(parameters.get("modelId"), parameters, streamed=operation == "ConverseStream")


def request_of(model: Any, body: Mapping[str, Any], *, streamed: bool) -> ModelRequest:
    """Reads a request's body."""
    settings = {name: sent(value) for name, value in body.items() if name not in _NOT_SETTINGS}
    config = body.get("toolConfig")
    tools = config.get("tools") if isinstance(config, Mapping) else None  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    if config is not None:
        members = cast("Mapping[str, Any]", config)
        settings["toolConfig"] = {name: sent(value) for name, value in members.items() if name != "tools"}
    inference: Mapping[str, Any] = body.get("inferenceConfig") or {}
    attributes = {to: inference[name] for name, to in _REQUEST_ATTRIBUTES.items() if inference.get(name) is not None}
    if streamed:
        attributes[names.REQUEST_STREAM] = True
    messages = [sent_message(message) for message in body.get("messages") or ()]
    return ModelRequest(
        provider=PROVIDER,
        operation="chat",
        model=str(model or ""),
        messages=dialect.cut_turns(messages, sent(body.get("system"))),
        to_message=dialect.to_message,
        from_message=dialect.from_message,
        tools=None if tools is None else sent(tools),
        settings=settings,
        attributes=attributes,
        shape=_SHAPE,
    )


def read_recorded(raw: Mapping[str, Any]) -> ModelResponse:
    """Reads a recorded answer: `{"headers", "body"}`, or `{"headers", "stream"}` with its events."""
    body = whole_answer(raw["stream"]) if "stream" in raw else raw["body"]
    response = response_of(body, raw)
    headers: Mapping[str, str] = raw.get("headers") or {}
    if request_id := headers.get("x-amzn-requestid"):
        response.attributes = {names.RESPONSE_ID: request_id, **response.attributes}
    return response


def response_of(body: Mapping[str, Any], raw: Any) -> ModelResponse:
    """Reads an answer's body."""
    output: Mapping[str, Any] = body.get("output") or {}
    message, reasoning = dialect.output_message(output.get("message") or {})
    attributes: dict[str, Any] = usage_attributes(body.get("usage") or {})
    if reason := body.get("stopReason"):
        attributes[names.FINISH_REASONS] = [FINISH_REASONS.get(reason, reason)]
    trace: Mapping[str, Any] = body.get("trace") or {}
    router: Mapping[str, Any] = trace.get("promptRouter") or {}
    if model := router.get("invokedModelId"):
        attributes[names.RESPONSE_MODEL] = model
    return ModelResponse([message], raw, reasoning, attributes)


def usage_attributes(usage: Mapping[str, Any]) -> dict[str, Any]:
    """Returns token counts under the conventions' names; input tokens include cached ones."""
    counts = {_OTHER_NAMES.get(name, name): count for name, count in usage.items() if isinstance(count, int)}
    attributes: dict[str, Any] = {to: counts[name] for name, to in _USAGE.items() if name in counts}
    if _INPUT[0] in counts:
        attributes[names.INPUT_TOKENS] = sum(counts.get(name, 0) for name in _INPUT)
    return attributes


def with_message(raw: Any, message: Any, *, streamed: bool) -> dict[str, Any]:
    """Returns the recorded answer with this message: a text, a list of blocks, or a message in Converse's form."""
    recorded = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    fields = cast("Mapping[str, Any]", message) if isinstance(message, Mapping) else {"content": message}
    content = sent(fields.get("content"))
    blocks: list[Any] = [{"text": content}] if isinstance(content, str) else list(content or ())
    calls = any(isinstance(block, dict) and "toolUse" in block for block in blocks)
    answer: dict[str, Any] = {
        "output": {"message": {"role": "assistant", "content": blocks}},
        "stopReason": "tool_use" if calls else "end_turn",
        "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0},
        "metrics": {"latencyMs": 0},
    }
    body = {"stream": events_of(answer)} if streamed else {"body": answer}
    return {"headers": recorded.get("headers") or {}, **body}


def with_edit(call: MethodCall, messages: list[Any] | None, system: str | None) -> MethodCall:
    """Returns the call with other messages, which include the system prompt."""
    if messages is None:
        return call
    operation, parameters = call.args
    prompt, joined = dialect.join_turns(map(given_message, messages))
    changed = {**parameters, "messages": joined, "system": prompt}
    if prompt is None:
        del changed["system"]
    return MethodCall(call.client, call.method, (operation, changed), call.kwargs)

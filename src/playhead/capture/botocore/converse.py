"""Converse and ConverseStream: reads requests and answers, joins and splits streamed events, converts bytes to base64
and back. Changes none of the program's objects.
"""

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.wrapping import MethodCall
from playhead.dialect import bedrock as dialect
from playhead.model import names
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.json_value import (
    Json,
    JsonMapping,
    JsonOrBytes,
    JsonValue,
    int_at,
    list_at,
    list_of,
    object_at,
    object_of,
    objects_at,
    text_at,
    value_at,
)

# --- requests and answers ---------------------------------------------------------------------------------------------

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
_INPUT_COUNTS = ("inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens")
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


def read_request(call: MethodCall) -> ObservedRequest:
    """Reads a request from the client's parameters."""
    operation, parameters = call.args
    return request_of(parameters.get("modelId"), parameters, streamed=operation == "ConverseStream")


def request_of(model: object, body: Mapping[str, Any], *, streamed: bool) -> ObservedRequest:
    """Reads a request's body."""
    settings = {name: sent(value) for name, value in body.items() if name not in _NOT_SETTINGS}
    config: Mapping[str, object] | None = body.get("toolConfig")
    tools = None
    if config is not None:
        tools = config.get("tools")
        settings["toolConfig"] = {name: sent(value) for name, value in config.items() if name != "tools"}
    inference: Mapping[str, object] = body.get("inferenceConfig") or {}
    attributes = {to: inference[name] for name, to in _REQUEST_ATTRIBUTES.items() if inference.get(name) is not None}
    if streamed:
        attributes[names.REQUEST_STREAM] = True
    messages = [sent_message(message) for message in body.get("messages") or ()]
    return ObservedRequest(
        provider=PROVIDER,
        operation="chat",
        model=str(model or ""),
        messages=dialect.split_turns(messages, sent(body.get("system"))),
        to_message=dialect.to_message,
        from_message=dialect.from_message,
        tools=None if tools is None else sent(tools),
        settings=settings,
        attributes=attributes,
        shape=_SHAPE,
    )


def read_recorded(raw: JsonMapping) -> ObservedResponse:
    """Reads a recorded answer: `{"headers", "body"}`, or `{"headers", "stream"}` with its events."""
    body = joined_answer(objects_at(raw, "stream")) if "stream" in raw else object_at(raw, "body")
    response = response_of(body, raw)
    if request_id := text_at(object_at(raw, "headers"), "x-amzn-requestid"):
        response.attributes = {names.RESPONSE_ID: request_id, **response.attributes}
    return response


def response_of(body: JsonMapping, raw: object) -> ObservedResponse:
    """Reads an answer's body."""
    output = object_at(body, "output")
    message, reasoning = dialect.output_message(object_at(output, "message"))
    attributes = usage_attributes(object_at(body, "usage"))
    if reason := text_at(body, "stopReason"):
        attributes[names.FINISH_REASONS] = [FINISH_REASONS.get(reason, reason)]
    trace = object_at(body, "trace")
    router = object_at(trace, "promptRouter")
    if model := router.get("invokedModelId"):
        attributes[names.RESPONSE_MODEL] = model
    return ObservedResponse([message], raw, reasoning, attributes)


def usage_attributes(usage: JsonMapping) -> dict[str, object]:
    """Returns token counts under the conventions' names; input tokens include cached ones."""
    counts = {_OTHER_NAMES.get(name, name): count for name, count in usage.items() if isinstance(count, int)}
    attributes: dict[str, object] = {to: counts[name] for name, to in _USAGE.items() if name in counts}
    if _INPUT_COUNTS[0] in counts:
        attributes[names.INPUT_TOKENS] = sum(counts.get(name, 0) for name in _INPUT_COUNTS)
    return attributes


def with_message(raw: object, message: JsonValue, *, streamed: bool) -> Json:
    """Returns the recorded answer with this message: a text, a list of blocks, or a message in Converse's form."""
    recorded = object_of(raw)
    fields: JsonMapping = message if isinstance(message, Mapping) else {"content": message}
    content = sent(fields.get("content"))
    blocks: list[JsonValue] = [{"text": content}] if isinstance(content, str) else [*list_of(content)]
    calls = any(isinstance(block, dict) and "toolUse" in block for block in blocks)
    answer: Json = {
        "output": {"message": {"role": "assistant", "content": blocks}},
        "stopReason": "tool_use" if calls else "end_turn",
        "usage": {"inputTokens": 0, "outputTokens": 0, "totalTokens": 0},
        "metrics": {"latencyMs": 0},
    }
    headers = object_at(recorded, "headers")
    return {"headers": headers, "stream": [*events_of(answer)]} if streamed else {"headers": headers, "body": answer}


def with_edit(call: MethodCall, messages: list[JsonValue] | None, system: str | None) -> MethodCall:
    """Returns the call with other messages, which include the system prompt."""
    if messages is None:
        return call
    operation, parameters = call.args
    prompt, joined = dialect.merge_turns(map(given_message, messages))
    changed = {**parameters, "messages": joined, "system": prompt}
    if prompt is None:
        del changed["system"]
    return MethodCall(call.client, call.method, (operation, changed), call.kwargs)


# --- events of a stream -----------------------------------------------------------------------------------------------

_METADATA = ("usage", "metrics", "trace", "performanceConfig", "serviceTier")


def joined_answer(events: Sequence[JsonMapping]) -> Json:
    """Returns the answer in its unstreamed form, as far as it was received."""
    answer: Json = {}
    role = "assistant"
    blocks: dict[int, Json] = {}
    for event in events:
        for kind, value in event.items():
            body, index = object_of(value), int_at(value, "contentBlockIndex")
            match kind:
                case "messageStart":
                    role = text_at(body, "role", role)
                case "contentBlockStart":
                    blocks[index] = _started_block(object_at(body, "start"))
                case "contentBlockDelta":
                    _add_delta(blocks.setdefault(index, {}), object_at(body, "delta"))
                case "messageStop":
                    answer |= body
                case "metadata":
                    answer |= {name: body[name] for name in _METADATA if name in body}
                case _:
                    pass
    content: list[JsonValue] = [_finished_block(blocks[index]) for index in sorted(blocks)]
    return {"output": {"message": {"role": role, "content": content}}, **answer}


def events_of(answer: JsonMapping) -> list[Json]:
    """Returns the events of a stream of this answer, as few as possible."""
    message = object_at(object_at(answer, "output"), "message")
    events: list[Json] = [{"messageStart": {"role": message["role"]}}]
    for index, block in enumerate(objects_at(message, "content")):
        block_index: Json = {"contentBlockIndex": index}
        if "toolUse" in block:
            use = object_at(block, "toolUse")
            start: Json = {name: use[name] for name in ("toolUseId", "name", "type") if name in use}
            events.append({"contentBlockStart": {"start": {"toolUse": start}, **block_index}})
        events.extend({"contentBlockDelta": {"delta": delta, **block_index}} for delta in _deltas(block))
        events.append({"contentBlockStop": block_index})
    events.append({"messageStop": {"stopReason": answer["stopReason"]}})
    return [*events, {"metadata": {name: answer[name] for name in _METADATA if name in answer}}]


def _started_block(start: JsonMapping) -> Json:
    return {kind: dict(body) for kind, body in start.items() if isinstance(body, Mapping)}


def _add_delta(block: Json, delta: JsonMapping) -> None:
    for kind, more in delta.items():
        match kind:
            case "text":
                block["text"] = text_at(block, "text") + text_at(delta, kind)
            case "toolUse":
                use = object_at(block, kind)
                block[kind] = {**use, "input": text_at(use, "input") + text_at(more, "input")}
            case "reasoningContent":
                block[kind] = _with_reasoning(object_at(block, kind), object_of(more))
            case "citation":
                block["citations"] = [*list_at(block, "citations"), more]
            case _ if isinstance(more, list):
                whole = object_at(block, kind)
                block[kind] = {**whole, "content": [*list_at(whole, "content"), *more]}
            case _ if isinstance(more, dict):
                block[kind] = {**object_at(block, kind), **more}
            case _:
                block[kind] = more


def _with_reasoning(block: Json, more: JsonMapping) -> Json:
    if "redactedContent" in more:
        pieces = (text_at(block, "redactedContent"), text_at(more, "redactedContent"))
        return {**block, "redactedContent": base64.b64encode(b"".join(map(base64.b64decode, pieces))).decode()}
    reasoning: Json = {"text": "", **object_at(block, "reasoningText")}
    for name in more:
        reasoning[name] = text_at(reasoning, name) + text_at(more, name)
    return {**block, "reasoningText": reasoning}


def _finished_block(block: Json) -> Json:
    if isinstance(block.get("toolUse"), dict):
        use = object_at(block, "toolUse")
        return {**block, "toolUse": {**use, "input": _parsed_input(use.get("input"))}}
    if "citations" in block:
        content: list[JsonValue] = [{"text": block["text"]}] if "text" in block else []
        return {"citationsContent": {"content": content, "citations": block["citations"]}}
    return block


def _parsed_input(text: JsonValue) -> JsonValue:
    """Parses a tool's input; returns the text itself if it is not JSON, e.g. because the stream broke off in it."""
    if not text or not isinstance(text, str):
        return text or {}
    try:
        return parse_json(text)
    except ValueError:
        return text


def _deltas(block: JsonMapping) -> list[JsonValue]:
    match block:
        case {"toolUse": {"input": tool_input}}:
            return [{"toolUse": {"input": canonical_json(tool_input).decode()}}]
        case {"reasoningContent": {"reasoningText": reasoning}}:
            return [{"reasoningContent": {name: text}} for name, text in object_of(reasoning).items()]
        case {"citationsContent": {"content": content, "citations": citations}}:
            return [*list_of(content), *({"citation": citation} for citation in list_of(citations))]
        case _:
            return [dict(block)]


# --- bytes are base64 in JSON -----------------------------------------------------------------------------------------

# Keys whose values cannot hold bytes.  Nearly all blocks have no others.
_PLAIN_BLOCKS = frozenset({"text", "toolUse", "cachePoint"})
# Keys under which the API has bytes: `bytes` in a `source`, and reasoning that the model encrypted.
_SOURCE, _BYTES, _REDACTED = "source", "bytes", "redactedContent"


def sent_message(message: Any) -> JsonValue:
    """Converts one of a request's messages to the JSON that is sent."""
    content = value_at(message, "content")
    if type(content) is list and all(map(_is_plain, content)):
        return message
    return sent(message)


def _is_plain(block: JsonValue) -> bool:
    return type(block) is dict and block.keys() <= _PLAIN_BLOCKS


def sent(value: Any) -> JsonValue:
    """Converts any value to the JSON that is sent."""
    fields: Mapping[str, object] = value
    items: Iterable[object] = value
    if isinstance(value, bytes | bytearray):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return {key: sent(item) for key, item in fields.items()}
    if isinstance(value, list | tuple):
        return [sent(item) for item in items]
    return value


def given_message(message: JsonValue) -> Any:
    """Reverses `sent` for a message, so that the client accepts it: base64 to bytes, and a text to a block."""
    if isinstance(message, Mapping) and isinstance(text := message.get("content"), str):
        return {**message, "content": [{"text": text}]}
    return _given(message)


def _given(value: JsonValue, key: str = "") -> object:
    if isinstance(value, Mapping):
        return {
            name: _given_bytes(item) if name == _REDACTED or (key == _SOURCE and name == _BYTES) else _given(item, name)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_given(item) for item in value]
    return value


def _given_bytes(value: JsonValue) -> JsonOrBytes:
    try:
        return base64.b64decode(value, validate=True) if isinstance(value, str) else value
    except binascii.Error:
        return value

"""Reads requests and answers of InvokeModel for the capture stage: each family of models has an API of its own.

A request is read if its body is a JSON object of a known family.  Any other body (of an image model, or a file to read
from) is recorded as a call without messages.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from playhead.capture.botocore.converse import PROVIDER, usage_attributes
from playhead.capture.botocore.families import Family, family_of
from playhead.capture.botocore.replay import STREAMED, body_bytes
from playhead.capture.botocore.wire_values import sent
from playhead.capture.client_methods import MethodCall
from playhead.capture.model_values import ModelRequest, ModelResponse
from playhead.dialect import openai_chat
from playhead.errors import CannotRestore
from playhead.model import names
from playhead.model.canonical import canonical_json, parse_json

# Sent as headers, so not part of the body that `context` shows.
_HEADERS = ("contentType", "accept")
_METRICS = "amazon-bedrock-invocationMetrics"
_COUNTS = {
    "x-amzn-bedrock-input-token-count": "inputTokens",
    "x-amzn-bedrock-output-token-count": "outputTokens",
    "x-amzn-bedrock-cache-read-input-token-count": "cacheReadInputTokens",
    "x-amzn-bedrock-cache-write-input-token-count": "cacheWriteInputTokens",
}
_METRIC_COUNTS = {
    "inputTokenCount": "inputTokens",
    "outputTokenCount": "outputTokens",
    "cacheReadInputTokenCount": "cacheReadInputTokens",
    "cacheWriteInputTokenCount": "cacheWriteInputTokens",
}


def read_request(call: MethodCall) -> ModelRequest:
    """Reads a request from the client's parameters."""
    operation, parameters = call.args
    model, body = str(parameters.get("modelId") or ""), _body(parameters)
    family = family_of(model, body)
    if body is None or family is None:
        rest = {name: sent(value) for name, value in parameters.items() if name not in ("modelId", "body", *_HEADERS)}
        return ModelRequest(
            PROVIDER,
            "chat",
            model,
            (),
            openai_chat.to_message,
            openai_chat.from_message,
            settings=body if body else rest,
        )
    request = family.read_request(model, body)
    if operation in STREAMED:
        request.attributes = {**request.attributes, names.REQUEST_STREAM: True}
    return request


def read_recorded(raw: Mapping[str, Any], call: MethodCall) -> ModelResponse:
    """Reads a recorded answer: the bytes of its body, or the chunks of a stream."""
    chunks = _chunks(raw["stream"]) if "stream" in raw else None
    answer = _parsed(body_bytes(raw)) if chunks is None else None
    family = _family(call)
    headers: Mapping[str, str] = raw.get("headers") or {}
    response = ModelResponse([], raw)
    if family is not None and (chunks or isinstance(answer, dict)):
        whole = cast("dict[str, Any]", answer) if chunks is None else family.whole(chunks)
        response = family.read_answer(whole, raw)
    counts = {to: int(headers[name]) for name, to in _COUNTS.items() if headers.get(name, "").isdecimal()}
    metrics: Mapping[str, Any] = chunks[-1].get(_METRICS) or {} if chunks else {}
    counts |= {to: metrics[name] for name, to in _METRIC_COUNTS.items() if name in metrics}
    about: dict[str, Any] = {} if names.INPUT_TOKENS in response.attributes else usage_attributes(counts)
    if request_id := headers.get("x-amzn-requestid"):
        about[names.RESPONSE_ID] = request_id
    response.attributes = {**about, **response.attributes}
    return response


def with_message(raw: Any, message: Any, call: MethodCall) -> Any:
    """Returns the recorded answer with this message: a text, or a message in the model's own form.  Raises
    CannotRestore."""
    family, streamed = _family(call), call.args[0] in STREAMED
    if family is None:
        raise CannotRestore('the form of this model\'s answers is not known: give the outcome as {"result": ...}')
    recorded = cast("dict[str, Any]", raw) if isinstance(raw, dict) else {}
    recorded_headers: Mapping[str, str] = recorded.get("headers") or {}
    headers = {name: value for name, value in recorded_headers.items() if name not in _COUNTS}
    answers = _chunks(recorded["stream"]) if "stream" in recorded else [_parsed(body_bytes(recorded))] if raw else []
    new_answers = family.with_message(answers, message, streamed=streamed)
    texts = [canonical_json(answer).decode() for answer in new_answers]
    if streamed:
        return {"headers": headers, "stream": [{"chunk": {"text": text}} for text in texts]}
    return {"headers": headers, "text": texts[0]}


def with_edit(call: MethodCall, messages: list[Any] | None) -> MethodCall | None:
    """Returns the call with other messages, which include the system prompt; None if it cannot be edited."""
    operation, parameters = call.args
    body, family = _body(parameters), _family(call)
    if messages is None:
        return call
    changed = family.with_messages(body, messages) if body is not None and family is not None else None
    if changed is None:
        return None
    return MethodCall(call.client, call.method, (operation, {**parameters, "body": canonical_json(changed)}), {})


def _family(call: MethodCall) -> Family | None:
    parameters = call.args[1]
    return family_of(str(parameters.get("modelId") or ""), _body(parameters))


def _body(parameters: Mapping[str, Any]) -> dict[str, Any] | None:
    body = parameters.get("body")
    if isinstance(body, bytearray):
        body = bytes(body)
    value = _parsed(body) if isinstance(body, str | bytes) else None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


def _parsed(data: str | bytes) -> Any:
    try:
        return parse_json(data)
    except ValueError:
        return None


def _chunks(events: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Returns the JSON objects of a stream's chunks."""
    chunks = [_parsed(body_bytes(event["chunk"])) for event in events if "chunk" in event]
    return [cast("dict[str, Any]", chunk) for chunk in chunks if isinstance(chunk, dict)]

"""completion → [wire] → http_response.  Anthropic's Messages on the wire: JSON bodies, typed events, errors.  Pure."""

from __future__ import annotations

from typing import Any, cast

from playhead.capture.anthropic.messages import events_of
from playhead.dialect import anthropic, openai_chat
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import EVENTS_TYPE, Response, json_response, server_sent_event
from playhead.testing.protocols.anthropic_messages.request import MessagesRequest, signature_of
from playhead.testing.request import JsonObject

_STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
_ERRORS = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "request_too_large",
    429: "rate_limit_error",
    529: "overloaded_error",
}


def message_object(completion: Completion, request: MessagesRequest) -> JsonObject:
    """Returns the completion as a `message` object."""
    content = content_blocks(completion.messages[0])
    reason = completion.finish_reasons[0]
    if reason == "stop" and any(block.get("type") == "tool_use" for block in content):
        reason = "tool_calls"
    return {
        "id": f"msg_{completion.number}",
        "type": "message",
        "role": "assistant",
        "model": completion.model,
        "content": content,
        "stop_reason": _STOP_REASONS.get(reason, reason),
        "stop_sequence": None,
        "usage": _usage(completion, request),
    }


def content_blocks(message: JsonObject) -> list[JsonObject]:
    """Translates a chat message into blocks: thinking with its signature, texts, tool calls. Blocks in its content stay
    unchanged."""
    native = anthropic.from_message(openai_chat.to_message(message))
    content: Any = native.get("content")
    blocks: list[JsonObject] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [_said(block) for block in blocks if block.get("text") != ""]


def _said(block: JsonObject) -> JsonObject:
    if block.get("type") == "thinking" and "signature" not in block:
        return {**block, "signature": signature_of(block["thinking"])}
    if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict):
        return {**block, "input": {"INVALID_JSON": block.get("input")}}  # arguments that are no JSON
    return block


def whole(message: JsonObject) -> Response:
    """The message as one JSON body."""
    return json_response(message, headers=_headers(message))


def streamed(message: JsonObject, piece_characters: int) -> Response:
    """The message as typed events, and a ping among them."""
    events = [server_sent_event(event, event["type"]) for event in events_of(message, piece_characters)]
    events.insert(1, server_sent_event({"type": "ping"}, "ping"))
    return Response(200, events, EVENTS_TYPE, _headers(message))


def error_response(failed: Failed, param: str | None = None) -> Response:
    """Returns the failure as Anthropic's error object, in which only the message names the field at fault (`param` is
    not used)."""
    kind = _ERRORS.get(failed.status, "api_error")
    error = {"type": kind, "message": failed.message}
    return json_response({"type": "error", "error": error, "request_id": None}, failed.status, failed.headers)


def _headers(message: JsonObject) -> dict[str, str]:
    return {"request-id": f"req_{cast('str', message['id']).removeprefix('msg_')}"}


def _usage(completion: Completion, request: MessagesRequest) -> JsonObject:
    """Returns the usage. No input count includes another one. With caching, all messages but the last are cached."""
    usage = completion.usage
    read = usage.cached if request.caches else 0
    cacheable = request.prefixes[-2][1] if request.caches and len(request.prefixes) > 1 else 0
    written = max(0, cacheable - read)
    return {
        "input_tokens": usage.input - read - written,
        "cache_creation_input_tokens": written,
        "cache_read_input_tokens": read,
        "output_tokens": usage.output,
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
        "service_tier": "standard",
    }

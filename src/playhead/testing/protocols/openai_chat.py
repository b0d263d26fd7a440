"""HTTP body → [openai_chat] → HTTP response.  OpenAI's Chat Completions: `POST /v1/chat/completions`.

Answers are JSON bodies or server-sent events. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from playhead.testing.answers import Failed
from playhead.testing.completion import Completion, EstimatedUsage
from playhead.testing.http_response import EVENTS_TYPE, Response, in_pieces, json_response, server_sent_event
from playhead.testing.protocols.openai_http import api_key, error_response, is_azure_path
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import (
    ChatRequest,
    InvalidRequest,
    JsonObject,
    check_messages,
    check_optional_fields,
    json_object,
    text_of,
)

# --- the answer -------------------------------------------------------------------------------------------------------


def usage_object(usage: EstimatedUsage) -> JsonObject:
    """Returns the usage, as this API names it."""
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning},
    }


def whole(completion: Completion) -> Response:
    """The completion as one JSON body."""
    choices = [
        {"index": index, "message": message, "logprobs": None, "finish_reason": reason}
        for index, (message, reason) in enumerate(zip(completion.messages, completion.finish_reasons, strict=True))
    ]
    head = _head(completion, "chat.completion")
    return json_response({**head, "choices": choices, "usage": usage_object(completion.usage)})


def streamed(completion: Completion, *, include_usage: bool, piece_characters: int) -> Response:
    """The completion as server-sent events: a role, pieces, a finish reason, usage if wanted, and `[DONE]`."""
    # OpenAI sends `usage: null` on every chunk before the one that has it, and no key at all if it was not requested.
    head = _head(completion, "chat.completion.chunk") | ({"usage": None} if include_usage else {})
    events: list[bytes] = []
    for index, (message, reason) in enumerate(zip(completion.messages, completion.finish_reasons, strict=True)):
        pieces = deltas(message, piece_characters)
        events += [server_sent_event({**head, "choices": [_chunk_choice(index, piece, None)]}) for piece in pieces]
        events.append(server_sent_event({**head, "choices": [_chunk_choice(index, {}, reason)]}))
    if include_usage:
        events.append(server_sent_event({**head, "choices": [], "usage": usage_object(completion.usage)}))
    return Response(200, [*events, b"data: [DONE]\n\n"], EVENTS_TYPE)


def deltas(message: JsonObject, piece_characters: int) -> Iterator[JsonObject]:
    """Yields the message as deltas. Their sum is the message, including null content and unknown keys."""
    text, thinking, call = text_of(message), message.get("reasoning_content"), message.get("function_call")
    first = {key: value for key, value in message.items() if key not in _IN_PIECES}
    if "content" in message:
        first["content"] = None if message["content"] is None else ""
    yield first
    for piece in in_pieces(thinking, piece_characters):
        yield {"reasoning_content": piece}
    for piece in in_pieces(text, piece_characters):
        yield {"content": piece}
    calls: list[JsonObject] = message.get("tool_calls") or []
    for index, made in enumerate(calls):
        for piece, function in enumerate(_call_deltas(made.get("function"), piece_characters)):
            rest = made if piece == 0 else {}
            yield {"tool_calls": [{**rest, "index": index, **({"function": function} if function else {})}]}
    if call:
        yield from ({"function_call": function} for function in _call_deltas(call, piece_characters))


_IN_PIECES = {"content", "reasoning_content", "tool_calls", "function_call"}


def _head(completion: Completion, kind: str) -> JsonObject:
    head = {
        "id": f"chatcmpl-{completion.number}",
        "object": kind,
        "created": completion.created,
        "model": completion.model,
    }
    return {**head, "system_fingerprint": "fp_playhead_mock"}


def _chunk_choice(index: int, delta: JsonObject, finish_reason: str | None) -> JsonObject:
    return {"index": index, "delta": delta, "logprobs": None, "finish_reason": finish_reason}


def _call_deltas(function: JsonObject | None, piece_characters: int) -> Iterator[JsonObject]:
    """Yields the call without its arguments, then the arguments in pieces; a call whose arguments are not a text is
    yielded whole."""
    arguments: Any = (function or {}).get("arguments")
    if not function or not isinstance(arguments, str):
        yield function or {}
        return
    yield {**function, "arguments": ""}
    for piece in in_pieces(arguments, piece_characters):
        yield {"arguments": piece}


# --- the protocol -----------------------------------------------------------------------------------------------------


class OpenAIChat:
    """Implements `ModelProtocol`. Rules see the requests of all protocols in this one's form."""

    def takes(self, path: str) -> bool:
        return path == "/v1/chat/completions" or is_azure_path(path, "chat/completions")

    def api_key(self, incoming: Incoming) -> str | None:
        return api_key(incoming.headers)

    def read(self, number: int, incoming: Incoming) -> ChatRequest:
        body = json_object(incoming.body)
        if not isinstance(body.get("model"), str):
            raise InvalidRequest("You must provide a model parameter, a string.", "model")
        if not body.get("messages"):
            raise InvalidRequest("'messages' must be a list of at least one message.", "messages")
        check_messages(body["messages"])
        check_optional_fields(body)
        return ChatRequest(number, body, incoming.headers)

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        if not request.stream:
            return whole(completion)
        return streamed(completion, include_usage=request.include_usage, piece_characters=piece_characters)

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return error_response(failed, param)

"""HTTP body → [anthropic] → HTTP response.  Anthropic's Messages: `POST /v1/messages`, beta or not.

Rules see the equivalent chat completion request: the system prompt is the first message, and each tool result is a
message of its own. The server remembers the conversations of its threads; all else is pure.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from playhead.capture.anthropic.messages import events_of
from playhead.dialect import anthropic, openai_chat
from playhead.model.json_value import is_list, is_object, text_at
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import EVENTS_TYPE, Response, json_response, server_sent_event
from playhead.testing.protocols.openai_http import bearer_token
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, check_optional_fields, json_object

# --- the request ------------------------------------------------------------------------------------------------------

_ROLES = ("user", "assistant", "system")
_SIGNATURE_PREFIX = "mock-"


@dataclass(frozen=True)
class MessagesRequest(ChatRequest):
    """A request of Messages; `before`: the turns of the thread that it continues."""

    before: Sequence[JsonObject] = ()

    @cached_property
    def turns(self) -> list[JsonObject]:
        """The whole conversation in the form of `anthropic.split_turns`: the turns that the server remembers, then the
        system prompt and the messages that were sent."""
        return [*self.before, *cast("list[JsonObject]", anthropic.split_turns(*self._sent()))]

    def _sent(self) -> tuple[Any, Any]:
        return self.body["messages"], self.body.get("system")

    @property
    def messages(self) -> list[JsonObject]:
        return self._messages

    @cached_property
    def _messages(self) -> list[JsonObject]:
        return [openai_chat.from_message(anthropic.to_message(message)) for message in self.turns]

    def check(self) -> None:
        """Raises InvalidRequest with a sentence about the first message that the API would refuse."""
        requested_ids: set[str] = set()
        whole = anthropic.merge_turns(self.before)[1]
        for index, message in enumerate([*whole, *self.body["messages"]]):
            requested_ids = _check_message(message, f"messages.{index - len(whole)}", requested_ids)

    @property
    def choices(self) -> int:
        return 1

    @property
    def wants_thinking(self) -> bool:
        thinking: JsonObject = self.body.get("thinking") or {}
        return thinking.get("type") in ("enabled", "adaptive")

    @cached_property
    def caches(self) -> bool:
        """Whether the request has a `cache_control` anywhere."""
        return _has_cache_control(self.body)


def signature_of(thought: str) -> str:
    """Returns the signature by which the server recognises its own thinking."""
    return _SIGNATURE_PREFIX + hashlib.blake2b(thought.encode(), digest_size=24).hexdigest()


def read_messages_body(body: bytes) -> JsonObject:
    """Parses the body of a request of Messages. Raises InvalidRequest with a sentence about the first error."""
    fields = json_object(body)
    if not isinstance(fields.get("model"), str):
        raise InvalidRequest("model: Field required", "model")
    if type(fields.get("max_tokens")) is not int:
        raise InvalidRequest("max_tokens: Field required", "max_tokens")
    messages: object = fields.get("messages")
    thread: JsonObject = fields.get("thread") or {}
    is_continued = thread.get("previous_message_id") is not None
    if not is_list(messages) or not (messages or is_continued):
        raise InvalidRequest("messages: at least one message is required", "messages")
    check_optional_fields(fields)
    return fields


def _check_message(message: object, where: str, requested_ids: set[str]) -> set[str]:
    """Checks a message. Returns the ids of its tool calls. `requested_ids`: those of the previous message. Raises
    InvalidRequest."""
    if not is_object(message):
        raise InvalidRequest(f"{where}: Input should be an object", where)
    fields = message
    if fields.get("role") not in _ROLES:
        raise InvalidRequest(f"{where}.role: Input should be 'user' or 'assistant'", f"{where}.role")
    ids: set[str] = set()
    for index, block in enumerate(_checked_blocks(fields.get("content"), where)):
        path = f"{where}.content.{index}"
        if not isinstance(block.get("type"), str):
            raise InvalidRequest(f"{path}.type: Field required", path)
        if block["type"] == "tool_use":
            ids.add(str(block.get("id")))
        if block["type"] == "tool_result" and block.get("tool_use_id") not in requested_ids:
            raise InvalidRequest(f"{path}: unexpected `tool_use_id` found in `tool_result` blocks", path)
        signature = str(block.get("signature", ""))
        is_ours = block["type"] == "thinking" and signature.startswith(_SIGNATURE_PREFIX)
        if is_ours and signature != signature_of(str(block.get("thinking"))):
            raise InvalidRequest(f"{path}: Invalid `signature` in `thinking` block", path)
    return ids


def _checked_blocks(content: object, where: str) -> Iterator[JsonObject]:
    if isinstance(content, str):
        return
    if not is_list(content):
        raise InvalidRequest(f"{where}.content: Input should be a string or a list of blocks", f"{where}.content")
    for block in content:
        if not is_object(block):
            raise InvalidRequest(f"{where}.content: a block has to be an object", f"{where}.content")
        yield block


def _has_cache_control(value: object) -> bool:
    if is_object(value):
        fields = value
        return fields.get("cache_control") is not None or any(map(_has_cache_control, fields.values()))
    return is_list(value) and any(map(_has_cache_control, value))


# --- the answer -------------------------------------------------------------------------------------------------------

_STOP_REASONS = {
    "stop": "end_turn",
    "tool_calls": "tool_use",
    "length": "max_tokens",
    "content_filter": "refusal",
}
_ERROR_TYPES = {
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
        "usage": _usage_object(completion, request),
    }


def content_blocks(message: JsonObject) -> list[JsonObject]:
    """Translates a chat message into blocks: thinking with its signature, texts, tool calls. Blocks in its content stay
    unchanged."""
    native = anthropic.from_message(openai_chat.to_message(message))
    content: Any = native.get("content")
    blocks: list[JsonObject] = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return [_sent_block(block) for block in blocks if block.get("text") != ""]


def _sent_block(block: JsonObject) -> JsonObject:
    if block.get("type") == "thinking" and "signature" not in block:
        return {**block, "signature": signature_of(block["thinking"])}
    if block.get("type") == "tool_use" and not isinstance(block.get("input"), dict):
        return {**block, "input": {"INVALID_JSON": block.get("input")}}  # arguments that are no JSON
    return block


def whole(message: JsonObject) -> Response:
    """The message as one JSON body."""
    return json_response(message, headers=_request_id_header(message))


def streamed(message: JsonObject, piece_characters: int) -> Response:
    """The message as typed events, and a ping among them."""
    events = [server_sent_event(event, text_at(event, "type")) for event in events_of(message, piece_characters)]
    events.insert(1, server_sent_event({"type": "ping"}, "ping"))
    return Response(200, events, EVENTS_TYPE, _request_id_header(message))


def error_response(failed: Failed, param: str | None = None) -> Response:
    """Returns the failure as Anthropic's error object, in which only the message names the field at fault (`param` is
    not used)."""
    kind = _ERROR_TYPES.get(failed.status, "api_error")
    error = {"type": kind, "message": failed.message}
    return json_response({"type": "error", "error": error, "request_id": None}, failed.status, failed.headers)


def _request_id_header(message: JsonObject) -> dict[str, str]:
    return {"request-id": f"req_{cast('str', message['id']).removeprefix('msg_')}"}


def _usage_object(completion: Completion, request: MessagesRequest) -> JsonObject:
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


# --- the protocol -----------------------------------------------------------------------------------------------------

# Conversations that are never continued must not fill the memory. Each one holds all messages that it needs itself.
_MAX_REMEMBERED = 1024


class AnthropicMessages:
    """Implements `ModelProtocol`, and remembers the threads of one server. Answers contain thinking if the request asks
    for `thinking`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._remembered: dict[str, list[JsonObject]] = {}

    def takes(self, path: str) -> bool:
        return path == "/v1/messages"

    def api_key(self, incoming: Incoming) -> str | None:
        return incoming.headers.get("x-api-key") or bearer_token(incoming.headers)

    def read(self, number: int, incoming: Incoming) -> MessagesRequest:
        body = read_messages_body(incoming.body)
        request = MessagesRequest(number, body, incoming.headers, self._before(body))
        request.check()
        return request

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        assert isinstance(request, MessagesRequest)  # noqa: S101 - made by `read`
        message = message_object(completion, request)
        if request.body.get("thread"):
            self._remember(message["id"], [*request.turns, {"role": "assistant", "content": message["content"]}])
        return streamed(message, piece_characters) if request.stream else whole(message)

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return error_response(failed, param)

    def _before(self, body: JsonObject) -> list[JsonObject]:
        """Returns the messages of the thread that this request continues. Raises InvalidRequest."""
        thread: JsonObject = body.get("thread") or {}
        previous = thread.get("previous_message_id")
        if previous is None:
            return []
        with self._lock:
            if previous not in self._remembered:
                raise InvalidRequest(f"thread.previous_message_id: '{previous}' was not found", "thread")
            return self._remembered[previous]

    def _remember(self, message_id: str, turns: list[JsonObject]) -> None:
        with self._lock:
            self._remembered[message_id] = turns
            if len(self._remembered) > _MAX_REMEMBERED:
                del self._remembered[next(iter(self._remembered))]

"""HTTP body → [request] → rules → answers → wire. One request of Anthropic's Messages.

Rules see the equivalent chat completion request: the system prompt is the first message, and each tool result is a
message of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from playhead.dialect import anthropic, openai_chat
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, check_optional_fields, json_object

_ROLES = ("user", "assistant", "system")
_SIGNED = "mock-"


@dataclass(frozen=True)
class MessagesRequest(ChatRequest):
    """A request of Messages; `before`: the turns of the thread that it continues."""

    before: Sequence[JsonObject] = ()

    @cached_property
    def turns(self) -> list[JsonObject]:
        """The whole conversation in the form of `anthropic.cut_turns`: the turns that the server remembers, then the
        system prompt and the messages that were sent."""
        return [*self.before, *cast("list[JsonObject]", anthropic.cut_turns(*self._sent()))]

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
        whole = anthropic.join_turns(self.before)[1]
        for index, message in enumerate([*whole, *self.body["messages"]]):
            requested_ids = _check(message, f"messages.{index - len(whole)}", requested_ids)

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
    return _SIGNED + hashlib.blake2b(thought.encode(), digest_size=24).hexdigest()


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
    if not isinstance(messages, list) or not (messages or is_continued):
        raise InvalidRequest("messages: at least one message is required", "messages")
    check_optional_fields(fields)
    return fields


def _check(message: object, where: str, requested_ids: set[str]) -> set[str]:
    """Checks a message. Returns the ids of its tool calls. `requested_ids`: those of the previous message. Raises
    InvalidRequest."""
    if not isinstance(message, dict):
        raise InvalidRequest(f"{where}: Input should be an object", where)
    fields = cast("JsonObject", message)
    if fields.get("role") not in _ROLES:
        raise InvalidRequest(f"{where}.role: Input should be 'user' or 'assistant'", f"{where}.role")
    ids: set[str] = set()
    for index, block in enumerate(_blocks(fields.get("content"), where)):
        path = f"{where}.content.{index}"
        if not isinstance(block.get("type"), str):
            raise InvalidRequest(f"{path}.type: Field required", path)
        if block["type"] == "tool_use":
            ids.add(str(block.get("id")))
        if block["type"] == "tool_result" and block.get("tool_use_id") not in requested_ids:
            raise InvalidRequest(f"{path}: unexpected `tool_use_id` found in `tool_result` blocks", path)
        signature = str(block.get("signature", ""))
        is_ours = block["type"] == "thinking" and signature.startswith(_SIGNED)
        if is_ours and signature != signature_of(str(block.get("thinking"))):
            raise InvalidRequest(f"{path}: Invalid `signature` in `thinking` block", path)
    return ids


def _blocks(content: Any, where: str) -> Iterator[JsonObject]:
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise InvalidRequest(f"{where}.content: Input should be a string or a list of blocks", f"{where}.content")
    for block in cast("list[object]", content):
        if not isinstance(block, dict):
            raise InvalidRequest(f"{where}.content: a block has to be an object", f"{where}.content")
        yield cast("JsonObject", block)


def _has_cache_control(value: object) -> bool:
    if isinstance(value, dict):
        fields = cast("JsonObject", value)
        return fields.get("cache_control") is not None or any(map(_has_cache_control, fields.values()))
    return isinstance(value, list) and any(map(_has_cache_control, cast("list[object]", value)))

"""HTTP body → [request] → rules → answers → wire.  One request of Anthropic's Messages.

Rules see it as the chat completion request that would ask the same: the system prompt as the first message, each tool
result as a message of its own.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from playhead.dialect import anthropic, openai
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, check_optional_fields, json_object

_ROLES = ("user", "assistant", "system")
_SIGNED = "mock-"


@dataclass(frozen=True)
class MessagesRequest(ChatRequest):
    """A request of Messages as the server saw it; `before` are the turns of the thread that it continues."""

    before: Sequence[JsonObject] = ()

    @cached_property
    def turns(self) -> list[JsonObject]:
        """The whole conversation, cut: the system prompt, what the server remembers, what was sent."""
        return [*self.before, *cast("list[JsonObject]", anthropic.cut_turns(*self._sent()))]

    def _sent(self) -> tuple[Any, Any]:
        return self.body["messages"], self.body.get("system")

    @property
    def messages(self) -> list[JsonObject]:
        return self._messages

    @cached_property
    def _messages(self) -> list[JsonObject]:
        return [openai.from_message(anthropic.to_message(message)) for message in self.turns]

    def check(self) -> None:
        """Raises InvalidRequest with a sentence about the first message that the API would refuse."""
        asked: set[str] = set()
        whole = anthropic.join_turns(self.before)[1]
        for index, message in enumerate([*whole, *self.body["messages"]]):
            asked = _check(message, f"messages.{index - len(whole)}", asked)

    @property
    def choices(self) -> int:
        return 1

    @property
    def wants_thinking(self) -> bool:
        thinking: JsonObject = self.body.get("thinking") or {}
        return thinking.get("type") in ("enabled", "adaptive")

    @cached_property
    def caches(self) -> bool:
        """Whether anything in it is to be kept for later requests."""
        return _has_cache_control(self.body)


def signature_of(thought: str) -> str:
    """What proves that a thought is the server's own."""
    return _SIGNED + hashlib.blake2b(thought.encode(), digest_size=24).hexdigest()


def read_messages_body(body: bytes) -> JsonObject:
    """The body of a request of Messages; raises InvalidRequest with a sentence about the first thing wrong."""
    found = json_object(body)
    if not isinstance(found.get("model"), str):
        raise InvalidRequest("model: Field required", "model")
    if type(found.get("max_tokens")) is not int:
        raise InvalidRequest("max_tokens: Field required", "max_tokens")
    messages: object = found.get("messages")
    thread: JsonObject = found.get("thread") or {}
    is_continued = thread.get("previous_message_id") is not None
    if not isinstance(messages, list) or not (messages or is_continued):
        raise InvalidRequest("messages: at least one message is required", "messages")
    check_optional_fields(found)
    return found


def _check(message: object, where: str, asked: set[str]) -> set[str]:
    """The ids of the tools that this message asks for; `asked`: those of the one before."""
    if not isinstance(message, dict):
        raise InvalidRequest(f"{where}: Input should be an object", where)
    given = cast("JsonObject", message)
    if given.get("role") not in _ROLES:
        raise InvalidRequest(f"{where}.role: Input should be 'user' or 'assistant'", f"{where}.role")
    ids: set[str] = set()
    for index, block in enumerate(_blocks(given.get("content"), where)):
        at = f"{where}.content.{index}"
        if not isinstance(block.get("type"), str):
            raise InvalidRequest(f"{at}.type: Field required", at)
        if block["type"] == "tool_use":
            ids.add(str(block.get("id")))
        if block["type"] == "tool_result" and block.get("tool_use_id") not in asked:
            raise InvalidRequest(f"{at}: unexpected `tool_use_id` found in `tool_result` blocks", at)
        signature = str(block.get("signature", ""))
        is_ours = block["type"] == "thinking" and signature.startswith(_SIGNED)
        if is_ours and signature != signature_of(str(block.get("thinking"))):
            raise InvalidRequest(f"{at}: Invalid `signature` in `thinking` block", at)
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
        found = cast("JsonObject", value)
        return found.get("cache_control") is not None or any(map(_has_cache_control, found.values()))
    return isinstance(value, list) and any(map(_has_cache_control, cast("list[object]", value)))

"""HTTP body → [request] → rules → answers → wire.  One request of OpenAI's Responses API.

Rules see it as the chat completion request that would ask the same: items as messages, `instructions` as the first one,
and, after a `previous_response_id`, what the server remembers of that conversation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, check_optional_fields, json_object


@dataclass(frozen=True)
class ResponsesRequest(ChatRequest):
    """A request of the Responses API as the server saw it; `before` are the items of what it continues."""

    before: Sequence[JsonObject] = ()

    @cached_property
    def items(self) -> list[JsonObject]:
        """The whole conversation: what the server remembers, then what was sent."""
        return [*self.before, *items_of(self.body)]

    @property
    def messages(self) -> list[JsonObject]:
        return self._messages

    @cached_property
    def _messages(self) -> list[JsonObject]:
        instructions = self.body.get("instructions")
        system = [{"role": "system", "content": instructions}] if isinstance(instructions, str) else []
        return [*system, *map(_message, self.items)]

    @property
    def choices(self) -> int:
        return 1


def read_responses_body(body: bytes) -> JsonObject:
    """The body of a request of the Responses API; raises InvalidRequest with a sentence about the first thing wrong."""
    found = json_object(body)
    if not isinstance(found.get("model"), str):
        raise InvalidRequest("You must provide a model parameter, a string.", "model")
    given: object = found.get("input")
    if not isinstance(given, str) and not (isinstance(given, list) and given):
        raise InvalidRequest("'input' must be a text, or a list of at least one item.", "input")
    for index, item in enumerate(items_of(found)):
        if not isinstance(cast(object, item), dict):
            raise InvalidRequest(f"'input[{index}]' must be an object.", f"input[{index}]")
        if not isinstance(item.get("role", item.get("type")), str):
            raise InvalidRequest(f"'input[{index}]' must have a role or a type.", f"input[{index}]")
    check_optional_fields(found)
    return found


def items_of(body: JsonObject) -> list[JsonObject]:
    """What was sent, as items; a text is the user's message."""
    given: Any = body["input"]
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def _message(item: JsonObject) -> JsonObject:
    """The chat message that says the same; of an item that chats do not have, its type as the role."""
    match item.get("type", "message"):
        case "message":
            return {"role": item["role"], "content": item.get("content")}
        case "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            return _said(tool_calls=[{"id": item.get("call_id"), "type": "function", "function": function}])
        case "function_call_output":
            return {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
        case "reasoning":
            texts = [str(part.get("text", "")) for part in item.get("summary") or ()]
            return _said(reasoning_content="".join(texts))
        case other:
            return {"role": str(other), "content": None}


def _said(**more: Any) -> JsonObject:
    return {"role": "assistant", "content": None, **more}

"""HTTP body → [request] → rules → answers → wire. One request of OpenAI's Responses API.

Rules see the equivalent chat completion request: items are messages, `instructions` is the first one; with a
`previous_response_id`, the conversation that the server remembers comes before the request's own items.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, check_optional_fields, json_object


@dataclass(frozen=True)
class ResponsesRequest(ChatRequest):
    """A request of the Responses API; `before`: the items of the conversation that it continues."""

    before: Sequence[JsonObject] = ()

    @cached_property
    def items(self) -> list[JsonObject]:
        """The whole conversation: the items that the server remembers, then those that were sent."""
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
    """Parses the body of a request of the Responses API. Raises InvalidRequest with a sentence about the first
    error."""
    fields = json_object(body)
    if not isinstance(fields.get("model"), str):
        raise InvalidRequest("You must provide a model parameter, a string.", "model")
    value: object = fields.get("input")
    if not isinstance(value, str) and not (isinstance(value, list) and value):
        raise InvalidRequest("'input' must be a text, or a list of at least one item.", "input")
    for index, item in enumerate(items_of(fields)):
        if not isinstance(cast(object, item), dict):
            raise InvalidRequest(f"'input[{index}]' must be an object.", f"input[{index}]")
        if not isinstance(item.get("role", item.get("type")), str):
            raise InvalidRequest(f"'input[{index}]' must have a role or a type.", f"input[{index}]")
    check_optional_fields(fields)
    return fields


def items_of(body: JsonObject) -> list[JsonObject]:
    """Returns the request's input as items; a text is a message of the user."""
    value: Any = body["input"]
    return [{"role": "user", "content": value}] if isinstance(value, str) else value


def _message(item: JsonObject) -> JsonObject:
    """Returns the equivalent chat message; for an item that chats do not have, a message with the item's type as
    role."""
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

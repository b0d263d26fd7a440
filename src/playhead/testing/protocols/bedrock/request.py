"""HTTP body → [request] → rules → answers → wire. One request of Converse, and of an invoked model's own API.

Rules see the equivalent chat completion request: the system's blocks are the first message, and each tool result is a
message of role `tool`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast
from urllib.parse import unquote

from playhead.dialect import bedrock, openai_chat
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, json_object

_ROLES = ("user", "assistant")


@dataclass(frozen=True)
class ConverseRequest(ChatRequest):
    """A request of Converse. The path names the model, and says whether the answer is streamed."""

    path_model: str = ""
    is_streamed: bool = False

    @property
    def model(self) -> str:
        return self.path_model

    @property
    def stream(self) -> bool:
        return self.is_streamed

    @property
    def choices(self) -> int:
        return 1

    @property
    def wants_thinking(self) -> bool:
        more: JsonObject = self.body.get("additionalModelRequestFields") or self.body
        return any(more.get(name) for name in ("thinking", "reasoning_config", "reasoningConfig"))

    @property
    def messages(self) -> list[JsonObject]:
        return self._messages

    @property
    def tools(self) -> list[JsonObject]:
        config: JsonObject = self.body.get("toolConfig") or {}
        return [_tool(tool) for tool in config.get("tools") or ()]

    @property
    def trajectory(self) -> str | None:
        return None

    @cached_property
    def _messages(self) -> list[JsonObject]:
        cut = bedrock.cut_turns(self.body["messages"], self.body.get("system"))
        return openai_chat.from_messages(map(bedrock.to_message, cut))


def path_parts(path: str) -> tuple[str, str]:
    """Returns the model and the operation of a path `/model/MODEL/OPERATION`; two empty texts for other paths."""
    before, _, operation = path.rpartition("/")
    return (unquote(before.removeprefix("/model/")), operation) if before.startswith("/model/") else ("", "")


def read_converse_body(body: bytes) -> JsonObject:
    """Parses the body of a request. Raises InvalidRequest with a sentence about the first error."""
    fields = json_object(body)
    check_converse_messages(fields)
    config: object = fields.get("toolConfig", {})
    if not isinstance(config, dict) or not isinstance(cast("JsonObject", config).get("tools", []), list):
        raise InvalidRequest("The value at toolConfig.tools must be a list.", "toolConfig.tools")
    return fields


def check_converse_messages(body: JsonObject) -> None:
    """Checks that all messages have a role and a list of blocks, and that the first is the user's. Raises
    InvalidRequest."""
    messages: object = body.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InvalidRequest("The value at messages must be a list of at least one message.", "messages")
    for index, message in enumerate(cast("list[Any]", messages)):
        if not isinstance(message, dict) or cast("JsonObject", message).get("role") not in _ROLES:
            raise InvalidRequest(f"Value at 'messages.{index}.role' must be one of [user, assistant].", "messages")
        content: object = cast("JsonObject", message).get("content")
        if not isinstance(content, list) or not all(isinstance(block, dict) for block in cast("list[Any]", content)):
            raise InvalidRequest(f"Value at 'messages.{index}.content' must be a list of objects.", "messages")
    if cast("list[JsonObject]", messages)[0]["role"] != "user":
        raise InvalidRequest("A conversation must start with a user message.", "messages")


def _tool(native: JsonObject) -> JsonObject:
    specification: JsonObject | None = native.get("toolSpec")
    if specification is None:
        return {"type": next(iter(native), "")}
    schema: JsonObject = specification.get("inputSchema") or {}
    about: JsonObject = {
        "name": specification.get("name"),
        "description": specification.get("description"),
        "parameters": schema.get("json"),
    }
    return {"type": "function", "function": about}

"""HTTP body → [request] → rules → answers → wire.  One request of Converse, and of an invoked model's own API.

Rules see it as the chat completion request that would ask the same: the system's blocks as the first message, each
tool's result as a tool's message.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast
from urllib.parse import unquote

from playhead.dialect import bedrock, openai
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, json_object

_ROLES = ("user", "assistant")


@dataclass(frozen=True)
class ConverseRequest(ChatRequest):
    """A request as the server saw it.  The path says the model, and whether the answer is streamed."""

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
        return [_tool(each) for each in config.get("tools") or ()]

    @property
    def trajectory(self) -> str | None:
        return None

    @cached_property
    def _messages(self) -> list[JsonObject]:
        cut = bedrock.cut_turns(self.body["messages"], self.body.get("system"))
        return openai.from_messages(map(bedrock.to_message, cut))


def path_parts(path: str) -> tuple[str, str]:
    """The model and the operation of `/model/MODEL/OPERATION`; empty texts where a path is none."""
    before, _, operation = path.rpartition("/")
    return (unquote(before.removeprefix("/model/")), operation) if before.startswith("/model/") else ("", "")


def read_converse_body(body: bytes) -> JsonObject:
    """The body of a request; raises InvalidRequest with a sentence about the first thing wrong."""
    found = json_object(body)
    check_converse_messages(found)
    config: object = found.get("toolConfig", {})
    if not isinstance(config, dict) or not isinstance(cast("JsonObject", config).get("tools", []), list):
        raise InvalidRequest("The value at toolConfig.tools must be a list.", "toolConfig.tools")
    return found


def check_converse_messages(found: JsonObject) -> None:
    """Messages have a role and a list of blocks, and the first is the user's; raises InvalidRequest."""
    messages: object = found.get("messages")
    if not isinstance(messages, list) or not messages:
        raise InvalidRequest("The value at messages must be a list of at least one message.", "messages")
    for index, message in enumerate(cast("list[Any]", messages)):
        if not isinstance(message, dict) or cast("JsonObject", message).get("role") not in _ROLES:
            raise InvalidRequest(f"Value at 'messages.{index}.role' must be one of [user, assistant].", "messages")
        content: object = cast("JsonObject", message).get("content")
        if not isinstance(content, list) or not all(isinstance(each, dict) for each in cast("list[Any]", content)):
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

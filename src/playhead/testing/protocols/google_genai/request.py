"""HTTP body → [request] → rules → answers → wire.  One request of Gemini's `generateContent`.

Rules see it as the chat completion request that would ask the same: contents as messages, `systemInstruction` as the
first one, each function response as a tool's message.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import orjson

from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, json_object

_ROLES = ("user", "model", "function")
_MAX_CANDIDATES = 8
_PUBLISHED = "/models/"


@dataclass(frozen=True)
class GeminiRequest(ChatRequest):
    """A request as the server saw it.  The path says the model, and whether the answer is streamed; `as_events`: as
    server-sent events, instead of one JSON array."""

    path_model: str = ""
    is_streamed: bool = False
    as_events: bool = True

    @property
    def model(self) -> str:
        return self.path_model

    @property
    def stream(self) -> bool:
        return self.is_streamed

    @property
    def choices(self) -> int:
        return self._generation.get("candidateCount") or 1

    @property
    def wants_thinking(self) -> bool:
        thinking: JsonObject = self._generation.get("thinkingConfig") or {}
        # The client writes what is nested in snake case, other clients in camel case; the API takes both.
        return (thinking.get("includeThoughts") or thinking.get("include_thoughts")) is True

    @property
    def asks_for_thinking(self) -> bool:
        return self.wants_thinking

    @property
    def messages(self) -> list[JsonObject]:
        return self._messages

    @property
    def tools(self) -> list[JsonObject]:
        return self._tools

    @property
    def _generation(self) -> JsonObject:
        return self.body.get("generationConfig") or {}

    @cached_property
    def _messages(self) -> list[JsonObject]:
        system: Any = self.body.get("systemInstruction")
        first = [{"role": "system", "content": text_in(system)}] if system else []
        return [*first, *(message for content in self.body["contents"] for message in _messages_of(content))]

    @cached_property
    def _tools(self) -> list[JsonObject]:
        tools: list[JsonObject] = self.body.get("tools") or []
        functions = [each for tool in tools for each in tool.get("functionDeclarations") or ()]
        other = [{"type": name} for tool in tools for name in tool if name != "functionDeclarations"]
        return [*({"type": "function", "function": each} for each in functions), *other]


def method_of(path: str) -> str:
    """What is asked of the model that a path names: `generateContent`, or another."""
    return path.rpartition(":")[2] if "/" not in path.rpartition(":")[2] else ""


def model_of(path: str) -> str:
    """The model that a path names; a tuned model or an endpoint with its kind and collection."""
    resource = path.rpartition(":")[0]
    before, published, name = resource.rpartition(_PUBLISHED)
    if published:
        return name
    return "/".join(resource.split("/")[-2:]) if before or "/" in resource else resource


def read_gemini_body(body: bytes) -> JsonObject:
    """The body of a request; raises InvalidRequest with a sentence about the first thing wrong."""
    found = json_object(body)
    contents: object = found.get("contents")
    if not isinstance(contents, list) or not contents:
        raise InvalidRequest("* GenerateContentRequest.contents: contents is not specified", "contents")
    for index, content in enumerate(cast("list[object]", contents)):
        check_content(content, f"contents[{index}]")
    if "systemInstruction" in found:
        check_content(found["systemInstruction"], "systemInstruction", roles=None)
    _check_objects(found.get("tools"), "tools")
    generation: object = found.get("generationConfig", {})
    if not isinstance(generation, dict):
        raise InvalidRequest("Invalid value at 'generation_config': it is an object.", "generationConfig")
    candidates: object = cast("JsonObject", generation).get("candidateCount", 1)
    if not isinstance(candidates, int) or not 1 <= candidates <= _MAX_CANDIDATES:
        sentence = f"Invalid value at 'generation_config.candidate_count': it is from 1 to {_MAX_CANDIDATES}."
        raise InvalidRequest(sentence, "generationConfig.candidateCount")
    return found


def check_content(content: object, name: str, roles: tuple[str, ...] | None = _ROLES) -> None:
    """A content has a list of parts, and a role if it is of a conversation; raises InvalidRequest."""
    if not isinstance(content, dict):
        raise InvalidRequest(f"Invalid value at '{name}': it is an object.", name)
    found = cast("JsonObject", content)
    if roles is not None and found.get("role", roles[0]) not in roles:
        raise InvalidRequest("Please use a valid role: user, model.", f"{name}.role")
    _check_objects(found.get("parts"), f"{name}.parts")


def text_in(content: JsonObject) -> str:
    """The texts of a content, without its thoughts."""
    parts: list[JsonObject] = content.get("parts") or []
    return "".join(part.get("text") or "" for part in parts if not part.get("thought"))


def _check_objects(values: object, name: str) -> None:
    if values is None:
        return
    listed = cast("list[object]", values) if isinstance(values, list) else [None]
    if not all(isinstance(value, dict) for value in listed):
        raise InvalidRequest(f"Invalid value at '{name}': it is a list of objects.", name)


def _messages_of(content: JsonObject) -> Iterator[JsonObject]:
    """The chat messages that say what a content says."""
    parts: list[JsonObject] = content.get("parts") or []
    for response in [part["functionResponse"] for part in parts if part.get("functionResponse")]:
        yield {
            "role": "tool",
            "name": response.get("name"),
            "tool_call_id": response.get("id"),
            "content": _result(response.get("response")),
        }
    spoken = [part for part in parts if not part.get("functionResponse")]
    if not spoken and parts:
        return
    if content.get("role") != "model":
        yield {"role": "user", "content": text_in(content)}
        return
    message: JsonObject = {"role": "assistant", "content": text_in(content)}
    if thought := "".join(part.get("text") or "" for part in parts if part.get("thought")):
        message["reasoning_content"] = thought
    if calls := [part["functionCall"] for part in parts if part.get("functionCall")]:
        message["tool_calls"] = [_call(call) for call in calls]
    yield message


def _call(call: JsonObject) -> JsonObject:
    function = {"name": call.get("name"), "arguments": orjson.dumps(call.get("args") or {}).decode()}
    return {"id": call.get("id"), "type": "function", "function": function}


def _result(response: object) -> str:
    """A function's result as text: what stands alone under `result` or `output`, as clients write texts."""
    if isinstance(response, dict) and len(cast("JsonObject", response)) == 1:
        key, value = next(iter(cast("JsonObject", response).items()))
        if key in ("result", "output") and isinstance(value, str):
            return value
    return orjson.dumps(response).decode()

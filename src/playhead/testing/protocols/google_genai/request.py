"""HTTP body → [request] → rules → answers → wire. One request of Gemini's `generateContent`.

Rules see the equivalent chat completion request: contents are messages, `systemInstruction` is the first one, and each
function response is a message of role `tool`.
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
    """A request of Gemini. The path names the model, and says whether the answer is streamed; `as_events`: as
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
        # Google's client sends nested fields in snake case, other clients in camel case; the API accepts both.
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
        functions = [declaration for tool in tools for declaration in tool.get("functionDeclarations") or ()]
        other = [{"type": name} for tool in tools for name in tool if name != "functionDeclarations"]
        return [*({"type": "function", "function": declaration} for declaration in functions), *other]


def method_of(path: str) -> str:
    """Returns the method in a path: `generateContent`, or another; empty if there is none."""
    return path.rpartition(":")[2] if "/" not in path.rpartition(":")[2] else ""


def model_of(path: str) -> str:
    """Returns the model in a path; a tuned model or an endpoint with its collection (`tunedModels/NAME`)."""
    resource = path.rpartition(":")[0]
    before, published, name = resource.rpartition(_PUBLISHED)
    if published:
        return name
    return "/".join(resource.split("/")[-2:]) if before or "/" in resource else resource


def read_gemini_body(body: bytes) -> JsonObject:
    """Parses the body of a request. Raises InvalidRequest with a sentence about the first error."""
    fields = json_object(body)
    contents: object = fields.get("contents")
    if not isinstance(contents, list) or not contents:
        raise InvalidRequest("* GenerateContentRequest.contents: contents is not specified", "contents")
    for index, content in enumerate(cast("list[object]", contents)):
        check_content(content, f"contents[{index}]")
    if "systemInstruction" in fields:
        check_content(fields["systemInstruction"], "systemInstruction", roles=None)
    _check_objects(fields.get("tools"), "tools")
    generation: object = fields.get("generationConfig", {})
    if not isinstance(generation, dict):
        raise InvalidRequest("Invalid value at 'generation_config': it is an object.", "generationConfig")
    candidates: object = cast("JsonObject", generation).get("candidateCount", 1)
    if not isinstance(candidates, int) or not 1 <= candidates <= _MAX_CANDIDATES:
        sentence = f"Invalid value at 'generation_config.candidate_count': it is from 1 to {_MAX_CANDIDATES}."
        raise InvalidRequest(sentence, "generationConfig.candidateCount")
    return fields


def check_content(content: object, name: str, roles: tuple[str, ...] | None = _ROLES) -> None:
    """Checks that a content's parts are a list of objects and, unless `roles` is None, that its role is one of these.
    Raises InvalidRequest."""
    if not isinstance(content, dict):
        raise InvalidRequest(f"Invalid value at '{name}': it is an object.", name)
    fields = cast("JsonObject", content)
    if roles is not None and fields.get("role", roles[0]) not in roles:
        raise InvalidRequest("Please use a valid role: user, model.", f"{name}.role")
    _check_objects(fields.get("parts"), f"{name}.parts")


def text_in(content: JsonObject) -> str:
    """Returns the texts of a content, without thinking."""
    parts: list[JsonObject] = content.get("parts") or []
    return "".join(part.get("text") or "" for part in parts if not part.get("thought"))


def _check_objects(values: object, name: str) -> None:
    if values is None:
        return
    listed = cast("list[object]", values) if isinstance(values, list) else [None]
    if not all(isinstance(value, dict) for value in listed):
        raise InvalidRequest(f"Invalid value at '{name}': it is a list of objects.", name)


def _messages_of(content: JsonObject) -> Iterator[JsonObject]:
    """Yields the chat messages that are equivalent to a content."""
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
    """Returns a function's result as text: JSON, or a text that stands alone under `result` or `output`, as clients
    send texts."""
    if isinstance(response, dict) and len(cast("JsonObject", response)) == 1:
        key, value = next(iter(cast("JsonObject", response).items()))
        if key in ("result", "output") and isinstance(value, str):
            return value
    return orjson.dumps(response).decode()

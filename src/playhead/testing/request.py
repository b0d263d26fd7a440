"""protocols → [request] → rules → answers. One request, in the form of the equivalent chat completion request."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import orjson

from playhead.model.json_value import is_list, is_object, objects_of

JsonObject = dict[str, Any]

TRAJECTORY_HEADER = "x-playhead-trajectory"

# OpenAI's own limit; without one, a typing error in `n` would fill the memory.
MAX_CHOICES = 128


class InvalidRequest(Exception):
    """A request that the real API would refuse with 400; `param` names the field at fault."""

    def __init__(self, sentence: str, param: str | None = None) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.param = param


@dataclass(frozen=True)
class ChatRequest:
    """A request to the server.

    Other protocols have subclasses whose `messages`, `tools` and other properties are those of the equivalent chat
    completion request; `body` is always the original body.

    `number` counts the well-formed requests of this server from 1, whatever they were answered. `headers` has
    lower-case names, and is not in the repr: no real API key may get into a test report.
    """

    number: int
    body: JsonObject
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)

    @property
    def model(self) -> str:
        return self.body["model"]

    @property
    def messages(self) -> list[JsonObject]:
        return self.body["messages"]

    @property
    def tools(self) -> list[JsonObject]:
        return self.body.get("tools") or []

    @property
    def stream(self) -> bool:
        return bool(self.body.get("stream"))

    @property
    def include_usage(self) -> bool:
        options: JsonObject = self.body.get("stream_options") or {}
        return bool(options.get("include_usage"))

    @property
    def choices(self) -> int:
        return self.body.get("n") or 1

    @property
    def wants_thinking(self) -> bool:
        """Whether an answer may contain thinking."""
        return True

    @property
    def asks_for_thinking(self) -> bool:
        """Whether the request itself asks for thinking: by an effort, or by a setting for thinking."""
        effort: object = self.body.get("reasoning_effort")
        for name, setting in (("reasoning", "effort"), ("thinking", "type")):
            value: object = self.body.get(name)
            if is_object(value):
                effort = value.get(setting) or effort or "default"
        return effort not in (None, "none", "disabled") and self.wants_thinking

    @property
    def is_embedding(self) -> bool:
        """Whether this is a request for embeddings: only rules that fail or delay apply to it, since it gets no
        text."""
        return False

    @property
    def trajectory(self) -> str | None:
        """The recorded run that the client asked for: by header, or by `metadata` where headers cannot be set."""
        metadata: JsonObject = self.body.get("metadata") or {}
        return self.headers.get(TRAJECTORY_HEADER) or metadata.get(TRAJECTORY_HEADER)

    def texts(self, role: str | None = None, *, last: bool = False) -> Iterator[str]:
        """Yields the text of every message (of that role); with `last`, of the last such message only."""
        messages = [m for m in self.messages if role is None or m["role"] == role]
        for message in messages[-1:] if last else messages:
            yield text_of(message)

    @cached_property
    def prompt_tokens(self) -> int:
        """An estimate: the UTF-8 bytes of the tools and messages as compact JSON, divided by four, rounded up."""
        return self.prefixes[-1][1]

    @cached_property
    def prefixes(self) -> list[tuple[bytes, int]]:
        """For each message: a digest of the request up to and including it, and the tokens up to there."""
        tools = orjson.dumps(self.tools) if self.tools else b""
        digest = hashlib.blake2b(orjson.dumps(self.model) + tools, digest_size=16)
        size, entries = len(tools), list[tuple[bytes, int]]()
        for message in self.messages:
            encoded = orjson.dumps(message)
            digest.update(encoded)
            size += len(encoded)
            entries.append((digest.digest(), tokens_in(size)))
        return entries


def tokens_in(size_bytes: int) -> int:
    """Estimates tokens from bytes: four bytes are one token, rounded up."""
    return -(-size_bytes // 4)


def text_of(message: JsonObject) -> str:
    """Returns a message's content as text: the string, or the text parts of a list one after the other."""
    content: object = message.get("content")
    if isinstance(content, str):
        return content
    if not is_list(content):
        return ""
    parts = [part for part in content if is_object(part)]
    return "".join(text for part in parts if isinstance(text := part.get("text"), str))


def calls_of(message: JsonObject) -> list[JsonObject]:
    """Returns the tool calls of a message in today's form; a legacy `function_call` becomes a call without an id."""
    calls: list[JsonObject] = [*(message.get("tool_calls") or [])]
    legacy: JsonObject | None = message.get("function_call")
    return [*calls, {"function": legacy}] if legacy else calls


def json_object(body: bytes) -> JsonObject:
    """Parses a body as a JSON object. Raises InvalidRequest."""
    try:
        value: object = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequest(f"We could not parse the JSON body of your request: {error}") from None
    if not is_object(value):
        raise InvalidRequest("The body of the request must be a JSON object.")
    return value


def check_optional_fields(body: JsonObject) -> None:
    """Checks the types of the optional fields. Raises InvalidRequest."""
    for name, kind, wanted in _OPTIONAL_FIELDS:
        value: object = body.get(name)
        if value is not None and not isinstance(value, kind):
            raise InvalidRequest(f"Invalid type for '{name}': expected {wanted}.", name)
    _check_objects(body.get("tools") or [], "tools")
    if body.get("n") is not None and not 1 <= body["n"] <= MAX_CHOICES:
        raise InvalidRequest(f"'n' must be between 1 and {MAX_CHOICES}.", "n")


_OPTIONAL_FIELDS = (
    ("tools", list, "a list of tool definitions"),
    ("stream", bool, "a boolean"),
    ("stream_options", dict, "an object"),
    ("metadata", dict, "an object"),
    ("n", int, "an integer"),
)


def check_messages(messages: object, name: str = "messages") -> list[JsonObject]:
    """Checks the shape of messages, but not their content, and returns them. Raises InvalidRequest."""
    if not is_list(messages):
        raise InvalidRequest(f"'{name}' must be a list of messages.", name)
    checked = _check_objects(messages, name)
    for index, message in enumerate(checked):
        if not isinstance(message.get("role"), str):
            raise InvalidRequest(f"Missing required parameter: '{name}[{index}].role'.", f"{name}[{index}].role")
        _check_calls(message, f"{name}[{index}]")
    return checked


def _check_calls(message: JsonObject, where: str) -> None:
    calls: object = message.get("tool_calls")
    if calls is not None and not is_list(calls):
        raise InvalidRequest(f"'{where}.tool_calls' must be a list.", f"{where}.tool_calls")
    made = _check_objects(calls or [], f"{where}.tool_calls")
    functions = [(f"{where}.tool_calls[{index}].function", call.get("function")) for index, call in enumerate(made)]
    for field_name, function in [*functions, (f"{where}.function_call", message.get("function_call"))]:
        if not isinstance(function or {}, dict):
            raise InvalidRequest(f"'{field_name}' must be an object.", field_name)


def _check_objects(values: Sequence[object], name: str) -> list[JsonObject]:
    for index, value in enumerate(values):
        if not is_object(value):
            raise InvalidRequest(f"'{name}[{index}]' must be an object.", f"{name}[{index}]")
    return objects_of(values)

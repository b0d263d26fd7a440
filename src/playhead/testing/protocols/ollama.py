"""HTTP body → [ollama] → HTTP response.  Ollama's own API: `/api/chat`, `/api/generate`, `/api/embed`,
`/api/embeddings`.

Rules see the equivalent chat completion request.  A streamed answer is one JSON object per line.  Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import orjson

from playhead.model.json_value import is_list, is_object
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion, EstimatedUsage
from playhead.testing.http_response import Response, in_pieces, json_response
from playhead.testing.protocols.openai_embeddings import DIMENSIONS, vector
from playhead.testing.protocols.openai_http import api_key
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import (
    ChatRequest,
    InvalidRequest,
    JsonObject,
    calls_of,
    check_messages,
    json_object,
    text_of,
)

CHAT, GENERATE, EMBED, EMBEDDINGS = "/api/chat", "/api/generate", "/api/embed", "/api/embeddings"
_LINES_TYPE = "application/x-ndjson"


# --- requests ---------------------------------------------------------------------------------------------------------


class OllamaRequest(ChatRequest):
    """A request of `/api/chat`."""

    @property
    def stream(self) -> bool:
        return self.body.get("stream") is not False

    @property
    def wants_thinking(self) -> bool:
        return self.body.get("think") not in (None, False)

    @property
    def asks_for_thinking(self) -> bool:
        return self.wants_thinking

    @cached_property
    def _messages(self) -> list[JsonObject]:
        return [_chat_message(message) for message in self.body["messages"]]

    @property
    def messages(self) -> list[JsonObject]:
        return self._messages


class OllamaTextRequest(OllamaRequest):
    """A request of `/api/generate`: one prompt, which rules see as a message of the user."""

    @property
    def messages(self) -> list[JsonObject]:
        system = [{"role": "system", "content": self.body["system"]}] if self.body.get("system") else []
        return [*system, {"role": "user", "content": self.body.get("prompt") or ""}]


class OllamaEmbedRequest(ChatRequest):
    """A request for embeddings; rules see its inputs as messages of the user."""

    @property
    def inputs(self) -> list[Any]:
        value: Any = self.body.get("input", self.body.get("prompt"))
        return value if is_list(value) else [value]

    @property
    def messages(self) -> list[JsonObject]:
        return [{"role": "user", "content": str(item)} for item in self.inputs]

    @property
    def stream(self) -> bool:
        return False

    @property
    def is_embedding(self) -> bool:
        return True


def _chat_message(message: JsonObject) -> JsonObject:
    """Returns the equivalent message of Chat Completions: arguments are a text, results name their tool."""
    chat = {key: value for key, value in message.items() if key not in ("thinking", "tool_calls", "tool_name")}
    if message.get("thinking"):
        chat["reasoning_content"] = message["thinking"]
    if message.get("tool_name"):
        chat["name"] = message["tool_name"]
    if calls := message.get("tool_calls"):
        chat["tool_calls"] = [_chat_call(call) for call in calls]
    return chat


def _chat_call(call: JsonObject) -> JsonObject:
    function: JsonObject = call.get("function") or {}
    arguments = orjson.dumps(function.get("arguments") or {}).decode()
    return {"type": "function", "function": {"name": function.get("name"), "arguments": arguments}}


# --- answers ----------------------------------------------------------------------------------------------------------


def _about(completion: Completion) -> JsonObject:
    created = datetime.fromtimestamp(completion.created, UTC).isoformat().replace("+00:00", "Z")
    return {"model": completion.model, "created_at": created}


def _counts(usage: EstimatedUsage) -> JsonObject:
    return {"prompt_eval_count": usage.input, "eval_count": usage.output}


def _end(completion: Completion) -> JsonObject:
    reason = completion.finish_reasons[0]
    durations = {"total_duration": 1_000_000, "load_duration": 1000, "prompt_eval_duration": 1000}
    return {
        "done": True,
        "done_reason": "stop" if reason == "tool_calls" else reason,
        **durations,
        **_counts(completion.usage),
        "eval_duration": 1000,
    }


def _chat_pieces(message: JsonObject, characters: int) -> Iterator[JsonObject]:
    for piece in in_pieces(message.get("reasoning_content"), characters):
        yield {"message": {"role": "assistant", "content": "", "thinking": piece}}
    for piece in in_pieces(text_of(message), characters):
        yield {"message": {"role": "assistant", "content": piece}}
    for call in _calls(message):
        yield {"message": {"role": "assistant", "content": "", "tool_calls": [call]}}


def _calls(message: JsonObject) -> list[JsonObject]:
    return [
        {"function": {"name": call["function"].get("name"), "arguments": _arguments(call["function"])}}
        for call in calls_of(message)
    ]


def _arguments(function: JsonObject) -> JsonObject:
    try:
        value: object = orjson.loads(function.get("arguments") or "{}")
    except orjson.JSONDecodeError:
        return {}
    return value if is_object(value) else {}


def _text_pieces(message: JsonObject, characters: int) -> Iterator[JsonObject]:
    for piece in in_pieces(message.get("reasoning_content"), characters):
        yield {"response": "", "thinking": piece}
    for piece in in_pieces(text_of(message), characters):
        yield {"response": piece}


def _whole_message(message: JsonObject) -> JsonObject:
    whole: JsonObject = {"role": "assistant", "content": text_of(message)}
    if thought := message.get("reasoning_content"):
        whole["thinking"] = thought
    if calls := _calls(message):
        whole["tool_calls"] = calls
    return whole


# --- the protocol -----------------------------------------------------------------------------------------------------


class Ollama:
    """Implements `ModelProtocol`."""

    def takes(self, path: str) -> bool:
        return path in (CHAT, GENERATE, EMBED, EMBEDDINGS)

    def api_key(self, incoming: Incoming) -> str | None:
        return api_key(incoming.headers)

    def read(self, number: int, incoming: Incoming) -> ChatRequest:
        body = json_object(incoming.body)
        if not isinstance(body.get("model"), str):
            raise InvalidRequest("model is required", "model")
        if incoming.path == CHAT:
            check_messages(body.get("messages"))
            if not body["messages"]:
                raise InvalidRequest("messages is required", "messages")
            return OllamaRequest(number, body, incoming.headers)
        if incoming.path == GENERATE:  # an empty prompt only loads the model
            return OllamaTextRequest(number, body, incoming.headers)
        field = "input" if incoming.path == EMBED else "prompt"
        if not isinstance(body.get(field), str | list) or not body[field]:
            raise InvalidRequest(f"{field} is required", field)
        return OllamaEmbedRequest(number, body, incoming.headers)

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        if isinstance(request, OllamaEmbedRequest):
            return _embeddings(completion, request)
        message = completion.messages[0]
        is_chat = not isinstance(request, OllamaTextRequest)
        if not request.stream:
            thought = message.get("reasoning_content")
            text: JsonObject = {"response": text_of(message), **({"thinking": thought} if thought else {})}
            answer = {"message": _whole_message(message)} if is_chat else text
            return json_response({**_about(completion), **answer, **_end(completion)})
        pieces = (_chat_pieces if is_chat else _text_pieces)(message, piece_characters)
        last = {"message": {"role": "assistant", "content": ""}} if is_chat else {"response": ""}
        lines = [{**_about(completion), **piece, "done": False} for piece in pieces]
        lines.append({**_about(completion), **last, **_end(completion)})
        return Response(200, [orjson.dumps(line) + b"\n" for line in lines], _LINES_TYPE)

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return json_response({"error": failed.message}, failed.status, failed.headers)


def _embeddings(completion: Completion, request: OllamaEmbedRequest) -> Response:
    vectors = [vector(str(item), request.body.get("dimensions") or DIMENSIONS) for item in request.inputs]
    if "input" not in request.body:
        return json_response({"embedding": vectors[0]})
    counts = {"total_duration": 1000, "load_duration": 1000, "prompt_eval_count": completion.usage.input}
    return json_response({"model": completion.model, "embeddings": vectors, **counts})

"""HTTP body → [mistral] → HTTP response.  Mistral's chat and embeddings, under `/mistral`: the paths are OpenAI's.

The forms are OpenAI's, too, but for thinking, which is an element of the content.  Pure.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import orjson

from playhead.model.json_value import is_list, is_object
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import EVENTS_TYPE, Response, json_response, server_sent_event
from playhead.testing.protocols.openai_chat import OpenAIChat, deltas, whole
from playhead.testing.protocols.openai_embeddings import OpenAIEmbeddings
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import (
    ChatRequest,
    InvalidRequest,
    JsonObject,
    check_messages,
    check_optional_fields,
    json_object,
    text_of,
)

_ROOT = "/mistral"
_THINKING = "thinking"


class MistralRequest(ChatRequest):
    """A request of Mistral; rules see the thinking of its messages as that of Chat Completions."""

    @property
    def model(self) -> str:
        return self.body.get("model") or self.body["agent_id"]

    @cached_property
    def _messages(self) -> list[JsonObject]:
        return [_chat_message(message) for message in self.body["messages"]]

    @property
    def messages(self) -> list[JsonObject]:
        return self._messages


def _chat_message(message: JsonObject) -> JsonObject:
    content: Any = message.get("content")
    if not is_list(content):
        return message
    elements = [element for element in content if is_object(element)]
    thought = "".join(text_of({"content": each.get(_THINKING)}) for each in elements if each.get("type") == _THINKING)
    return {**message, **({"reasoning_content": thought} if thought else {})}


def thinking_element(thought: str) -> JsonObject:
    """Returns the element of a content that has thinking."""
    return {"type": _THINKING, _THINKING: [{"type": "text", "text": thought}]}


def _with_elements(message: JsonObject) -> JsonObject:
    """Returns the message with its thinking in the content."""
    thought = message.get("reasoning_content")
    message = {**message, "content": message.get("content") or ""}
    if calls := message.get("tool_calls"):
        message["tool_calls"] = [{**call, "index": place} for place, call in enumerate(calls)]
    if not thought:
        return message
    del message["reasoning_content"]
    text = text_of(message)
    return {**message, "content": [thinking_element(thought), *([{"type": "text", "text": text}] if text else [])]}


def _streamed(completion: Completion, piece_characters: int) -> Response:
    head = {
        "id": completion.number,
        "object": "chat.completion.chunk",
        "created": completion.created,
        "model": completion.model,
    }
    usage = orjson.loads(b"".join(whole(completion).parts))["usage"]
    events: list[JsonObject] = []
    for index, (message, reason) in enumerate(zip(completion.messages, completion.finish_reasons, strict=True)):
        calls: list[JsonObject] = message.get("tool_calls") or []
        spoken = {key: value for key, value in message.items() if key != "tool_calls"}
        for delta in deltas({**spoken, "content": message.get("content") or ""}, piece_characters):
            thought = delta.pop("reasoning_content", None)
            piece = {"content": [thinking_element(thought)]} if thought else delta
            events.append({**head, "choices": [{"index": index, "delta": piece, "finish_reason": None}]})
        # Tool calls come whole, with the end.
        whole_calls = [{**call, "index": place} for place, call in enumerate(calls)]
        delta = {"content": "", **({"tool_calls": whole_calls} if calls else {})}
        end = {"index": index, "delta": delta, "finish_reason": reason}
        events.append({**head, "choices": [end], "usage": usage})
    return Response(200, [*map(server_sent_event, events), b"data: [DONE]\n\n"], EVENTS_TYPE)


def _error(failed: Failed, param: str | None) -> Response:
    error = {"object": "error", "message": failed.message, "type": failed.type, "param": param, "code": failed.code}
    return json_response(error, failed.status, failed.headers)


class MistralChat(OpenAIChat):
    """Implements `ModelProtocol`."""

    def takes(self, path: str) -> bool:
        return path in (f"{_ROOT}/v1/chat/completions", f"{_ROOT}/v1/agents/completions")

    def read(self, number: int, incoming: Incoming) -> ChatRequest:
        body = json_object(incoming.body)
        name = "agent_id" if "agents" in incoming.path else "model"
        if not isinstance(body.get(name), str):
            raise InvalidRequest(f"Field required: {name}", name)
        if not check_messages(body.get("messages")):
            raise InvalidRequest("Field required: messages", "messages")
        check_optional_fields(body)
        return MistralRequest(number, body, incoming.headers)

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        if request.stream:
            return _streamed(completion, piece_characters)
        return whole(replace(completion, messages=[_with_elements(message) for message in completion.messages]))

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return _error(failed, param)


class MistralEmbeddings(OpenAIEmbeddings):
    """Implements `ModelProtocol`."""

    def takes(self, path: str) -> bool:
        return path == f"{_ROOT}/v1/embeddings"

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        response = super().render(completion, request, piece_characters)
        answer = orjson.loads(b"".join(response.parts))
        usage = {**answer["usage"], "completion_tokens": 0}
        return json_response({"id": completion.number, **answer, "usage": usage})

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return _error(failed, param)

"""HTTP body → [cohere] → HTTP response.  Cohere's chat and embeddings: `/v2/chat`, `/v2/embed`, `/v1/embed`.

Rules see the equivalent chat completion request.  Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from playhead.model.json_value import is_list, is_object, value_at
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion, EstimatedUsage
from playhead.testing.http_response import EVENTS_TYPE, Response, in_pieces, json_response, server_sent_event
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

CHAT, EMBED, OLD_EMBED = "/v2/chat", "/v2/embed", "/v1/embed"
_FINISH_REASONS = {"stop": "COMPLETE", "tool_calls": "TOOL_CALL", "length": "MAX_TOKENS"}
_THINKING = "thinking"


# --- requests ---------------------------------------------------------------------------------------------------------


class CohereRequest(ChatRequest):
    """A request of `/v2/chat`."""

    @property
    def wants_thinking(self) -> bool:
        setting: object = self.body.get(_THINKING)
        return value_at(setting, "type") != "disabled"

    @property
    def asks_for_thinking(self) -> bool:
        return self.body.get(_THINKING) is not None and self.wants_thinking

    @cached_property
    def _messages(self) -> list[JsonObject]:
        return [_chat_message(message) for message in self.body["messages"]]

    @property
    def messages(self) -> list[JsonObject]:
        return self._messages


class CohereEmbedRequest(ChatRequest):
    """A request for embeddings; rules see its inputs as messages of the user."""

    @property
    def inputs(self) -> list[Any]:
        return self.body.get("texts") or self.body.get("images") or self.body.get("inputs") or []

    @property
    def messages(self) -> list[JsonObject]:
        return [{"role": "user", "content": str(item)} for item in self.inputs]

    @property
    def is_embedding(self) -> bool:
        return True


def _chat_message(message: JsonObject) -> JsonObject:
    """Returns the equivalent message of Chat Completions: documents are texts, thinking is a text of its own."""
    content: Any = message.get("content")
    if not is_list(content):
        return message
    elements = [element for element in content if is_object(element)]
    documents = [element["document"] for element in elements if is_object(element.get("document"))]
    texts = [str(value_at(document, "data")) for document in documents] or [text_of(message)]
    thought = "".join(str(element[_THINKING]) for element in elements if element.get(_THINKING))
    return {**message, "content": "".join(texts), **({"reasoning_content": thought} if thought else {})}


# --- answers ----------------------------------------------------------------------------------------------------------


def _usage(usage: EstimatedUsage) -> JsonObject:
    counts = {"input_tokens": usage.input, "output_tokens": usage.output}
    return {"billed_units": counts, "tokens": counts, "cached_tokens": usage.cached}


def _content(message: JsonObject) -> list[JsonObject]:
    thought, text = message.get("reasoning_content"), text_of(message)
    elements = [{"type": _THINKING, _THINKING: thought}] if thought else []
    return [*elements, *([{"type": "text", "text": text}] if text else [])]


def _whole(completion: Completion) -> Response:
    message, calls = completion.messages[0], calls_of(completion.messages[0])
    answer: JsonObject = {"role": "assistant", "content": _content(message)}
    if calls:
        del answer["content"]
        answer |= {"tool_plan": _plan(message), "tool_calls": calls}
    reason = completion.finish_reasons[0]
    head = {"id": completion.number, "finish_reason": _FINISH_REASONS.get(reason, reason.upper()), "message": answer}
    return json_response({**head, "usage": _usage(completion.usage)})


def _plan(message: JsonObject) -> str:
    return f"{message.get('reasoning_content') or ''}{text_of(message)}"


def _events(completion: Completion, characters: int) -> Iterator[JsonObject]:
    message, calls = completion.messages[0], calls_of(completion.messages[0])
    start: JsonObject = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    yield {"type": "message-start", "id": completion.number, "delta": {"message": start}}
    if calls:
        for piece in in_pieces(_plan(message), characters):
            yield {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}}
        for index, call in enumerate(calls):
            yield from _call_events(index, call, characters)
    else:
        for index, element in enumerate(_content(message)):
            kind = element["type"]
            yield _indexed("content-start", index, {"content": {"type": kind, kind: ""}})
            for piece in in_pieces(element[kind], characters):
                yield _indexed("content-delta", index, {"content": {kind: piece}})
            yield {"type": "content-end", "index": index}
    reason = completion.finish_reasons[0]
    end = {"finish_reason": _FINISH_REASONS.get(reason, reason.upper()), "usage": _usage(completion.usage)}
    yield {"type": "message-end", "delta": end}


def _call_events(index: int, call: JsonObject, characters: int) -> Iterator[JsonObject]:
    function = call["function"]
    yield _indexed("tool-call-start", index, {"tool_calls": {**call, "function": {**function, "arguments": ""}}})
    for piece in in_pieces(function.get("arguments"), characters):
        yield _indexed("tool-call-delta", index, {"tool_calls": {"function": {"arguments": piece}}})
    yield {"type": "tool-call-end", "index": index}


def _indexed(kind: str, index: int, message: JsonObject) -> JsonObject:
    return {"type": kind, "index": index, "delta": {"message": message}}


# --- the protocol -----------------------------------------------------------------------------------------------------


class Cohere:
    """Implements `ModelProtocol`."""

    def takes(self, path: str) -> bool:
        return path in (CHAT, EMBED, OLD_EMBED)

    def api_key(self, incoming: Incoming) -> str | None:
        return api_key(incoming.headers)

    def read(self, number: int, incoming: Incoming) -> ChatRequest:
        body = json_object(incoming.body)
        if not isinstance(body.get("model"), str):
            raise InvalidRequest("model must be specified", "model")
        if incoming.path != CHAT:
            request = CohereEmbedRequest(number, body, incoming.headers)
            if not request.inputs:
                raise InvalidRequest("one of texts, images or inputs must be specified", "texts")
            return request
        check_messages(body.get("messages"))
        if not body["messages"]:
            raise InvalidRequest("messages must contain at least one message", "messages")
        return CohereRequest(number, body, incoming.headers)

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        if isinstance(request, CohereEmbedRequest):
            return _embeddings(completion, request)
        if not request.stream:
            return _whole(completion)
        events = [server_sent_event(event, event["type"]) for event in _events(completion, piece_characters)]
        return Response(200, [*events, b"data: [DONE]\n\n"], EVENTS_TYPE)

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return json_response({"message": failed.message, "id": "error"}, failed.status, failed.headers)


def _embeddings(completion: Completion, request: CohereEmbedRequest) -> Response:
    vectors = [vector(str(item), request.body.get("output_dimension") or DIMENSIONS) for item in request.inputs]
    kinds: list[str] = request.body.get("embedding_types") or []
    meta = {"api_version": {"version": "2"}, "billed_units": {"input_tokens": completion.usage.input}}
    about: JsonObject = {"id": completion.number, "texts": request.body.get("texts") or [], "meta": meta}
    if not kinds:
        return json_response({**about, "response_type": "embeddings_floats", "embeddings": vectors})
    by_type = {kind: vectors if kind == "float" else [_integers(each) for each in vectors] for kind in kinds}
    return json_response({**about, "response_type": "embeddings_by_type", "embeddings": by_type})


def _integers(values: list[float]) -> list[int]:
    return [int(value * 127) for value in values]

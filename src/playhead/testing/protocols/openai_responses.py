"""HTTP body → [openai_responses] → HTTP response.  OpenAI's Responses: `POST /v1/responses`, `GET /v1/responses/ID`.

Rules see the equivalent chat completion request: items are messages, `instructions` is the first one; with a
`previous_response_id`, the conversation that the server remembers comes before the request's own items.

The server remembers conversations, which `previous_response_id` continues, and answers, which can be fetched. An answer
in the background is `queued` at first, `in_progress` at the first fetch, and completed at the second.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

from playhead.capture.openai.responses import events_of
from playhead.model.json_value import text_at
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion, EstimatedUsage
from playhead.testing.http_response import EVENTS_TYPE, Response, json_response, server_sent_event
from playhead.testing.protocols.openai_http import api_key, error_response
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import (
    ChatRequest,
    InvalidRequest,
    JsonObject,
    calls_of,
    check_optional_fields,
    json_object,
    text_of,
)

# --- the request ------------------------------------------------------------------------------------------------------


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
        return [*system, *map(_chat_message, self.items)]

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


def _chat_message(item: JsonObject) -> JsonObject:
    """Returns the equivalent chat message; for an item that chats do not have, a message with the item's type as
    role."""
    match item.get("type", "message"):
        case "message":
            return {"role": item["role"], "content": item.get("content")}
        case "function_call":
            function = {"name": item.get("name"), "arguments": item.get("arguments")}
            return _assistant_message(
                tool_calls=[{"id": item.get("call_id"), "type": "function", "function": function}]
            )
        case "function_call_output":
            return {"role": "tool", "tool_call_id": item.get("call_id"), "content": item.get("output")}
        case "reasoning":
            texts = [str(part.get("text", "")) for part in item.get("summary") or ()]
            return _assistant_message(reasoning_content="".join(texts))
        case other:
            return {"role": str(other), "content": None}


def _assistant_message(**more: object) -> JsonObject:
    return {"role": "assistant", "content": None, **more}


# --- the answer -------------------------------------------------------------------------------------------------------

_INCOMPLETE_REASONS = {"length": "max_output_tokens", "content_filter": "content_filter"}
# Fields of the request that the API repeats in its answer, with their values if the request does not have them.
_NULL_FIELDS = ("instructions", "previous_response_id", "max_output_tokens", "reasoning")
_REPEATED_FIELDS: JsonObject = dict.fromkeys(_NULL_FIELDS) | {
    "tool_choice": "auto",
    "tools": [],
    "parallel_tool_calls": True,
    "metadata": {},
    "truncation": "disabled",
    "temperature": 1.0,
    "top_p": 1.0,
    "text": {"format": {"type": "text"}},
    "store": True,
}


def response_object(completion: Completion, request: ResponsesRequest) -> JsonObject:
    """Returns the completion as a `response` object."""
    reason = _INCOMPLETE_REASONS.get(completion.finish_reasons[0])
    repeated = {name: request.body.get(name, usual) for name, usual in _REPEATED_FIELDS.items()}
    return {
        **repeated,
        "id": f"resp_{completion.number}",
        "object": "response",
        "created_at": completion.created,
        "model": completion.model,
        "status": "incomplete" if reason else "completed",
        "error": None,
        "incomplete_details": {"reason": reason} if reason else None,
        "output": output_items(completion),
        "usage": _usage_object(completion.usage),
    }


def output_items(completion: Completion) -> list[JsonObject]:
    """Returns the message as items: reasoning, text, tool calls."""
    message, number = completion.messages[0], completion.number
    items: list[JsonObject] = []
    if thought := message.get("reasoning_content"):
        items.append({"type": "reasoning", "id": f"rs_{number}", "summary": [_summary_part(thought)]})
    if (content := text_of(message)) or not calls_of(message):
        about = {"type": "message", "id": f"msg_{number}", "status": "completed", "role": "assistant"}
        items.append({**about, "content": [_text_part(content)]})
    for index, call in enumerate(calls_of(message)):
        function = call["function"]
        content = {"call_id": call.get("id"), "name": function["name"], "arguments": function["arguments"]}
        items.append({"type": "function_call", "id": f"fc_{number}_{index}", "status": "completed", **content})
    return items


def whole(response: JsonObject) -> Response:
    """The response as one JSON body."""
    return json_response(response)


def streamed(response: JsonObject, piece_characters: int) -> Response:
    """Returns the response as typed, numbered events; the last one has the whole response."""
    events = [server_sent_event(event, text_at(event, "type")) for event in events_of(response, piece_characters)]
    return Response(200, events, EVENTS_TYPE)


def _text_part(text: str) -> JsonObject:
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def _summary_part(text: str) -> JsonObject:
    return {"type": "summary_text", "text": text}


def _usage_object(usage: EstimatedUsage) -> JsonObject:
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": 0},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning},
        "total_tokens": usage.input + usage.output,
    }


# --- the protocol -----------------------------------------------------------------------------------------------------

# Conversations that are never continued must not fill the memory. Each one holds all messages that it needs itself.
_MAX_REMEMBERED = 1024
_FETCHED_PIECE_CHARACTERS = 16
_PATHS = ("/v1/responses", "/openai/v1/responses", "/openai/responses")  # OpenAI's, and Azure's


class OpenAIResponses:
    """Implements `ModelProtocol`, and remembers the conversations of one server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._remembered: dict[str, list[JsonObject]] = {}
        self._responses: dict[str, JsonObject] = {}
        self._in_background: set[str] = set()

    def takes(self, path: str) -> bool:
        return path in _PATHS

    def api_key(self, incoming: Incoming) -> str | None:
        return api_key(incoming.headers)

    def read(self, number: int, incoming: Incoming) -> ResponsesRequest:
        body = read_responses_body(incoming.body)
        return ResponsesRequest(number, body, incoming.headers, self._before(body))

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        assert isinstance(request, ResponsesRequest)  # noqa: S101 - made by `read`
        response = response_object(completion, request)
        if request.body.get("store", True):
            self._remember(response, [*request.items, *response["output"]])
        if request.body.get("background"):
            with self._lock:
                self._in_background.add(response["id"])
            response = _unfinished(response, "queued")
        return streamed(response, piece_characters) if request.stream else whole(response)

    def fetch(self, incoming: Incoming) -> Response | None:
        collection, _, response_id = incoming.path.rpartition("/")
        if collection not in _PATHS:
            return None
        with self._lock:
            response = self._responses.get(response_id)
            is_first = response_id in self._in_background
            self._in_background.discard(response_id)
        if response is None:
            sentence = f"Response with id '{response_id}' not found."
            return self.fail(Failed(404, sentence, "invalid_request_error", headers={"x-should-retry": "false"}))
        if incoming.query.get("stream") == "true":
            return streamed(response, _FETCHED_PIECE_CHARACTERS)
        return whole(_unfinished(response, "in_progress") if is_first else response)

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return error_response(failed, param)

    def _before(self, body: JsonObject) -> list[JsonObject]:
        """Returns the items of the conversation that this request continues. Raises InvalidRequest."""
        previous = body.get("previous_response_id")
        if previous is None:
            return []
        with self._lock:
            if previous not in self._remembered:
                raise InvalidRequest(f"Previous response with id '{previous}' not found.", "previous_response_id")
            return self._remembered[previous]

    def _remember(self, response: JsonObject, items: list[JsonObject]) -> None:
        with self._lock:
            self._remembered[response["id"]], self._responses[response["id"]] = items, response
            if len(self._remembered) > _MAX_REMEMBERED:
                oldest = next(iter(self._remembered))
                del self._remembered[oldest], self._responses[oldest]
                self._in_background.discard(oldest)


def _unfinished(response: JsonObject, status: str) -> JsonObject:
    return {**response, "status": status, "output": [], "usage": None}

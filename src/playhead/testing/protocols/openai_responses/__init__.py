"""OpenAI's Responses API: `POST /v1/responses`, `GET /v1/responses/ID`.

Remembers conversations, which `previous_response_id` continues, and answers, which can be fetched. An answer in the
background is `queued` at first, `in_progress` at the first fetch, and completed at the second.
"""

from __future__ import annotations

import threading

from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import Response
from playhead.testing.protocols.openai_http import api_key, error_response
from playhead.testing.protocols.openai_responses import wire
from playhead.testing.protocols.openai_responses.request import ResponsesRequest, read_responses_body
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject

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
        response = wire.response_object(completion, request)
        if request.body.get("store", True):
            self._remember(response, [*request.items, *response["output"]])
        if request.body.get("background"):
            with self._lock:
                self._in_background.add(response["id"])
            response = _unfinished(response, "queued")
        return wire.streamed(response, piece_characters) if request.stream else wire.whole(response)

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
            return wire.streamed(response, _FETCHED_PIECE_CHARACTERS)
        return wire.whole(_unfinished(response, "in_progress") if is_first else response)

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

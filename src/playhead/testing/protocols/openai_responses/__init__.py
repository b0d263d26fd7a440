"""OpenAI's Responses API: `POST /v1/responses`.  Remembers the conversations that `previous_response_id` continues."""

from __future__ import annotations

import threading

from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import Response
from playhead.testing.protocols import Incoming
from playhead.testing.protocols.openai_errors import bearer_token, error_response
from playhead.testing.protocols.openai_responses import wire
from playhead.testing.protocols.openai_responses.request import ResponsesRequest, read_responses_body
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject

# A conversation that nobody continues must not become a leak: each keeps as much of those before it as it needs.
_MAX_REMEMBERED = 1024


class OpenAIResponses:
    """The protocol, and the conversations of one server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._remembered: dict[str, list[JsonObject]] = {}

    def takes(self, path: str) -> bool:
        return path == "/v1/responses"

    def api_key(self, incoming: Incoming) -> str | None:
        return bearer_token(incoming.headers)

    def read(self, number: int, incoming: Incoming) -> ResponsesRequest:
        body = read_responses_body(incoming.body)
        return ResponsesRequest(number, body, incoming.headers, self._before(body))

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        assert isinstance(request, ResponsesRequest)  # noqa: S101 - made by `read`
        response = wire.response_object(completion, request)
        if request.body.get("store", True):
            self._remember(response["id"], [*request.items, *response["output"]])
        return wire.streamed(response, piece_characters) if request.stream else wire.whole(response)

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return error_response(failed, param)

    def _before(self, body: JsonObject) -> list[JsonObject]:
        """The items of the responses that this request continues.  Raises InvalidRequest."""
        previous = body.get("previous_response_id")
        if previous is None:
            return []
        with self._lock:
            if previous not in self._remembered:
                raise InvalidRequest(f"Previous response with id '{previous}' not found.", "previous_response_id")
            return self._remembered[previous]

    def _remember(self, response_id: str, items: list[JsonObject]) -> None:
        with self._lock:
            self._remembered[response_id] = items
            if len(self._remembered) > _MAX_REMEMBERED:
                del self._remembered[next(iter(self._remembered))]

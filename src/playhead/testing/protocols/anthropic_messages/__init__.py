"""Anthropic's Messages: `POST /v1/messages`, beta or not.  Remembers the conversations of its threads."""

from __future__ import annotations

import threading

from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import Response
from playhead.testing.protocols.anthropic_messages import wire
from playhead.testing.protocols.anthropic_messages.request import MessagesRequest, read_messages_body
from playhead.testing.protocols.openai_http import bearer_token
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject

# Conversations that are never continued must not fill the memory. Each one holds all messages that it needs itself.
_MAX_REMEMBERED = 1024


class AnthropicMessages:
    """Implements `ModelProtocol`, and remembers the threads of one server. Answers contain thinking if the request asks
    for `thinking`."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._remembered: dict[str, list[JsonObject]] = {}

    def takes(self, path: str) -> bool:
        return path == "/v1/messages"

    def api_key(self, incoming: Incoming) -> str | None:
        return incoming.headers.get("x-api-key") or bearer_token(incoming.headers)

    def read(self, number: int, incoming: Incoming) -> MessagesRequest:
        body = read_messages_body(incoming.body)
        request = MessagesRequest(number, body, incoming.headers, self._before(body))
        request.check()
        return request

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        assert isinstance(request, MessagesRequest)  # noqa: S101 - made by `read`
        message = wire.message_object(completion, request)
        if request.body.get("thread"):
            self._remember(message["id"], [*request.turns, {"role": "assistant", "content": message["content"]}])
        return wire.streamed(message, piece_characters) if request.stream else wire.whole(message)

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return wire.error_response(failed, param)

    def _before(self, body: JsonObject) -> list[JsonObject]:
        """Returns the messages of the thread that this request continues. Raises InvalidRequest."""
        thread: JsonObject = body.get("thread") or {}
        previous = thread.get("previous_message_id")
        if previous is None:
            return []
        with self._lock:
            if previous not in self._remembered:
                raise InvalidRequest(f"thread.previous_message_id: '{previous}' was not found", "thread")
            return self._remembered[previous]

    def _remember(self, message_id: str, turns: list[JsonObject]) -> None:
        with self._lock:
            self._remembered[message_id] = turns
            if len(self._remembered) > _MAX_REMEMBERED:
                del self._remembered[next(iter(self._remembered))]

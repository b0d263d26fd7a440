"""OpenAI's Chat Completions: `POST /v1/chat/completions`."""

from __future__ import annotations

from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import Response
from playhead.testing.protocols.openai_chat import wire
from playhead.testing.protocols.openai_http import api_key, error_response, is_azure_path
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import ChatRequest, InvalidRequest, check_messages, check_optional_fields, json_object


class OpenAIChat:
    """Implements `ModelProtocol`. Rules see the requests of all protocols in this one's form."""

    def takes(self, path: str) -> bool:
        return path == "/v1/chat/completions" or is_azure_path(path, "chat/completions")

    def api_key(self, incoming: Incoming) -> str | None:
        return api_key(incoming.headers)

    def read(self, number: int, incoming: Incoming) -> ChatRequest:
        body = json_object(incoming.body)
        if not isinstance(body.get("model"), str):
            raise InvalidRequest("You must provide a model parameter, a string.", "model")
        if not body.get("messages"):
            raise InvalidRequest("'messages' must be a list of at least one message.", "messages")
        check_messages(body["messages"])
        check_optional_fields(body)
        return ChatRequest(number, body, incoming.headers)

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        if not request.stream:
            return wire.whole(completion)
        return wire.streamed(completion, include_usage=request.include_usage, piece_characters=piece_characters)

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return error_response(failed, param)

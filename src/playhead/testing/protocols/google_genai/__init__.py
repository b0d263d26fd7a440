"""Gemini's `generateContent` and `streamGenerateContent`, of the Gemini API and of Vertex AI.

The model is named in the path: `/v1beta/models/NAME:generateContent`, `/v1/projects/.../models/NAME:generateContent`.
"""

from __future__ import annotations

from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import Response
from playhead.testing.protocols.google_genai import wire
from playhead.testing.protocols.google_genai.errors import api_key, error_response
from playhead.testing.protocols.google_genai.request import GeminiRequest, method_of, model_of, read_gemini_body
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import ChatRequest

_METHODS = {"generateContent": False, "streamGenerateContent": True}


class Gemini:
    """Implements `ModelProtocol`."""

    def takes(self, path: str) -> bool:
        return method_of(path) in _METHODS

    def api_key(self, incoming: Incoming) -> str | None:
        return api_key(incoming)

    def read(self, number: int, incoming: Incoming) -> GeminiRequest:
        body = read_gemini_body(incoming.body)
        is_streamed = _METHODS[method_of(incoming.path)]
        as_events = incoming.query.get("alt") == "sse"
        return GeminiRequest(number, body, incoming.headers, model_of(incoming.path), is_streamed, as_events)

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        assert isinstance(request, GeminiRequest)  # noqa: S101 - made by `read`
        if not request.stream:
            return wire.whole(completion)
        return wire.streamed(completion, piece_characters, as_events=request.as_events)

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return error_response(failed, param)

"""HTTP body → [openai_completions] → HTTP response.  OpenAI's text completions: `POST /v1/completions`.

Rules see each prompt as a message of the user. Thinking and tool calls of an answer are left out: this API has texts
only. Pure.
"""

from __future__ import annotations

from typing import Any

from playhead.model.json_value import is_list
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import EVENTS_TYPE, Response, in_pieces, json_response, server_sent_event
from playhead.testing.protocols.openai_chat import usage_object
from playhead.testing.protocols.openai_http import api_key, error_response, is_azure_path
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import (
    ChatRequest,
    InvalidRequest,
    JsonObject,
    check_optional_fields,
    json_object,
    text_of,
)


class CompletionsRequest(ChatRequest):
    """A request for text completions."""

    @property
    def choices(self) -> int:
        return super().choices * len(self.messages)

    @property
    def messages(self) -> list[JsonObject]:
        prompt: Any = self.body.get("prompt")
        texts: list[Any] = prompt if is_list(prompt) and all(isinstance(each, str) for each in prompt) else [prompt]
        return [{"role": "user", "content": text if isinstance(text, str) else str(text)} for text in texts]


class OpenAICompletions:
    """Implements `ModelProtocol`."""

    def takes(self, path: str) -> bool:
        return path == "/v1/completions" or (
            is_azure_path(path, "completions") and not path.endswith("/chat/completions")
        )

    def api_key(self, incoming: Incoming) -> str | None:
        return api_key(incoming.headers)

    def read(self, number: int, incoming: Incoming) -> CompletionsRequest:
        body = json_object(incoming.body)
        if not isinstance(body.get("model"), str):
            raise InvalidRequest("You must provide a model parameter, a string.", "model")
        if not isinstance(body.get("prompt"), str | list):
            raise InvalidRequest("'prompt' must be a text, a list of texts, or tokens.", "prompt")
        check_optional_fields(body)
        return CompletionsRequest(number, body, incoming.headers)

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        head: JsonObject = {
            "id": f"cmpl-{completion.number}",
            "object": "text_completion",
            "created": completion.created,
            "model": completion.model,
        }
        texts = [text_of(message) for message in completion.messages]
        # There are no tool calls, so none can be the reason.
        reasons = ["stop" if reason == "tool_calls" else reason for reason in completion.finish_reasons]
        if not request.stream:
            choices = [
                _choice(index, text, reason) for index, (text, reason) in enumerate(zip(texts, reasons, strict=True))
            ]
            return json_response({**head, "choices": choices, "usage": usage_object(completion.usage)})
        if request.include_usage:
            head["usage"] = None
        events: list[bytes] = []
        for index, (text, reason) in enumerate(zip(texts, reasons, strict=True)):
            events += [
                server_sent_event({**head, "choices": [_choice(index, piece, None)]})
                for piece in in_pieces(text, piece_characters)
            ]
            events.append(server_sent_event({**head, "choices": [_choice(index, "", reason)]}))
        if request.include_usage:
            events.append(server_sent_event({**head, "choices": [], "usage": usage_object(completion.usage)}))
        return Response(200, [*events, b"data: [DONE]\n\n"], EVENTS_TYPE)

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return error_response(failed, param)


def _choice(index: int, text: str, finish_reason: str | None) -> JsonObject:
    return {"index": index, "text": text, "logprobs": None, "finish_reason": finish_reason}

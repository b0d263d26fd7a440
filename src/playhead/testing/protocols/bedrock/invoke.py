"""Amazon Bedrock's `InvokeModel`: `POST /model/MODEL/invoke`, and `.../invoke-with-response-stream`.

The form of the body depends on the model: see `models`. Embeddings of Titan and Cohere are answered here.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import orjson

from playhead.capture.botocore.streams import event_frame
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import Response, json_response
from playhead.testing.protocols.bedrock import access_key, wire
from playhead.testing.protocols.bedrock.models import InvokedModel, api_of, with_metrics
from playhead.testing.protocols.bedrock.request import path_parts
from playhead.testing.protocols.openai_embeddings import DIMENSIONS, vector
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, json_object

_OPERATIONS = {"invoke": False, "invoke-with-response-stream": True}


@dataclass(frozen=True)
class InvokeRequest(ChatRequest):
    """A request of an invoked model. The path names the model, and says whether the answer is streamed."""

    path_model: str = ""
    is_streamed: bool = False

    @property
    def model(self) -> str:
        return self.path_model

    @property
    def stream(self) -> bool:
        return self.is_streamed

    @property
    def choices(self) -> int:
        return 1

    @property
    def wants_thinking(self) -> bool:
        thinking: JsonObject = self.body.get("thinking") or {}
        return "anthropic_version" not in self.body or thinking.get("type") in ("enabled", "adaptive")

    @property
    def trajectory(self) -> str | None:
        return None

    @property
    def api(self) -> InvokedModel | None:
        """The model's API; None for embeddings."""
        return None if self.is_embedding else api_of(self.path_model, self.body)

    @property
    def is_embedding(self) -> bool:
        return "embed" in self.path_model

    @property
    def messages(self) -> list[JsonObject]:
        return self._messages

    @cached_property
    def _messages(self) -> list[JsonObject]:
        api = self.api
        if api is None:
            return [{"role": "user", "content": text} for text in texts_of(self.body)]
        return api.messages(self.body)


class BedrockInvoke:
    """Implements `ModelProtocol`."""

    def takes(self, path: str) -> bool:
        return path_parts(path)[1] in _OPERATIONS

    def api_key(self, incoming: Incoming) -> str | None:
        return access_key(incoming)

    def read(self, number: int, incoming: Incoming) -> InvokeRequest:
        model, operation = path_parts(incoming.path)
        request = InvokeRequest(number, json_object(incoming.body), incoming.headers, model, _OPERATIONS[operation])
        if request.api is None and not texts_of(request.body):
            raise InvalidRequest("Malformed input request: this model's API is not known here.")
        assert request.messages  # noqa: S101 - reading them raises InvalidRequest if they are invalid
        return request

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        assert isinstance(request, InvokeRequest)  # noqa: S101 - made by `read`
        api = request.api
        if api is None:
            return json_response(_embeddings(request), headers=wire.request_id(completion))
        if not request.stream:
            counts = {
                "x-amzn-bedrock-input-token-count": str(completion.usage.input),
                "x-amzn-bedrock-output-token-count": str(completion.usage.output),
            }
            return json_response(api.answer(completion), headers=wire.request_id(completion) | counts)
        chunks = list(api.chunks(completion, piece_characters))
        chunks[-1] = with_metrics(chunks[-1], completion)
        frames = [event_frame("chunk", {"bytes": base64.b64encode(orjson.dumps(chunk)).decode()}) for chunk in chunks]
        return Response(200, frames, wire.EVENT_STREAM, wire.request_id(completion))

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return wire.error_response(failed)


def texts_of(body: JsonObject) -> list[str]:
    """Returns the texts in a request for embeddings."""
    value: Any = body.get("inputText") or body.get("texts") or []
    return [value] if isinstance(value, str) else [str(item) for item in value]


def _embeddings(request: InvokeRequest) -> JsonObject:
    texts, dimensions = texts_of(request.body), request.body.get("dimensions") or DIMENSIONS
    vectors = [vector(text, dimensions) for text in texts]
    if "texts" in request.body:
        return {"id": str(request.number), "texts": texts, "embeddings": vectors, "response_type": "embeddings_floats"}
    return {"embedding": vectors[0], "inputTextTokenCount": request.prompt_tokens}

"""OpenAI's embeddings: `POST /v1/embeddings`.  Equal texts have equal vectors; the numbers have no other meaning."""

from __future__ import annotations

import base64
import hashlib
import struct
from collections.abc import Sequence
from typing import Any

from playhead.model.json_value import is_list
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import Response, json_response
from playhead.testing.protocols.openai_http import api_key, error_response, is_azure_path
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, json_object

DIMENSIONS = 16
_MAX_DIMENSIONS = 4096


class EmbeddingsRequest(ChatRequest):
    """A request for embeddings; rules see its inputs as messages of the user."""

    @property
    def inputs(self) -> list[Any]:
        """Texts, or token lists."""
        return inputs_of(self.body)

    @property
    def messages(self) -> list[JsonObject]:
        return [{"role": "user", "content": item if isinstance(item, str) else str(item)} for item in self.inputs]

    @property
    def is_embedding(self) -> bool:
        return True


class OpenAIEmbeddings:
    """Implements `ModelProtocol`."""

    def takes(self, path: str) -> bool:
        return path == "/v1/embeddings" or is_azure_path(path, "embeddings")

    def api_key(self, incoming: Incoming) -> str | None:
        return api_key(incoming.headers)

    def read(self, number: int, incoming: Incoming) -> EmbeddingsRequest:
        body = json_object(incoming.body)
        if not isinstance(body.get("model"), str):
            raise InvalidRequest("You must provide a model parameter, a string.", "model")
        if not inputs_of(body):
            raise InvalidRequest("'input' must be a text, or a list of at least one.", "input")
        dimensions: Any = body.get("dimensions", DIMENSIONS)
        if not isinstance(dimensions, int) or not 1 <= dimensions <= _MAX_DIMENSIONS:
            raise InvalidRequest(f"'dimensions' must be between 1 and {_MAX_DIMENSIONS}.", "dimensions")
        return EmbeddingsRequest(number, body, incoming.headers)

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        assert isinstance(request, EmbeddingsRequest)  # noqa: S101 - made by `read`
        dimensions = request.body.get("dimensions") or DIMENSIONS
        is_base64 = request.body.get("encoding_format") == "base64"
        data: list[JsonObject] = []
        for index, item in enumerate(request.inputs):
            values = vector(str(item), dimensions)
            data.append({"object": "embedding", "index": index, "embedding": _base64(values) if is_base64 else values})
        tokens = request.prompt_tokens
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        return json_response({"object": "list", "data": data, "model": request.model, "usage": usage})

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return error_response(failed, param)


def vector(text: str, dimensions: int) -> list[float]:
    """Returns numbers from -1 to 1 that depend on the text only, exact in 32 bits."""
    digest = hashlib.shake_128(text.encode("utf-8", "surrogatepass")).digest(dimensions)
    return [(byte - 128) / 128 for byte in digest]


def inputs_of(body: JsonObject) -> list[Any]:
    """Returns the inputs as a list: a single text, or a single list of tokens, is one input."""
    value: Any = body.get("input")
    if isinstance(value, str):
        return [value]
    if not is_list(value):
        return []
    values = value
    return [values] if values and all(isinstance(token, int) for token in values) else values


def _base64(values: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(values)}f", *values)).decode()

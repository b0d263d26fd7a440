"""Google's embeddings: `batchEmbedContents`, `embedContent`, and `predict` of Vertex AI's text models; `countTokens`.

Equal texts have equal vectors; the numbers have no other meaning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from playhead.model.json_value import object_of
from playhead.testing.answers import Failed
from playhead.testing.completion import Completion
from playhead.testing.http_response import Response, json_response
from playhead.testing.protocols.gemini import api_key, check_content, error_response, method_of, model_of, text_in
from playhead.testing.protocols.openai_embeddings import DIMENSIONS, vector
from playhead.testing.protocols.protocol import Incoming
from playhead.testing.request import ChatRequest, InvalidRequest, JsonObject, json_object, tokens_in


@dataclass(frozen=True)
class EmbedContentRequest(ChatRequest):
    """A request for embeddings or token counts; rules see its inputs as messages of the user."""

    path_model: str = ""
    method: str = ""

    @property
    def model(self) -> str:
        return self.path_model

    @property
    def messages(self) -> list[JsonObject]:
        return [{"role": "user", "content": text} for text in self.texts_to_embed]

    @property
    def is_embedding(self) -> bool:
        return True

    @property
    def texts_to_embed(self) -> list[str]:
        """The inputs as texts."""
        return _METHODS[self.method].texts(self.body)

    @property
    def dimensions(self) -> int:
        """The number of values in each vector."""
        return _dimensions(self.body)


class GoogleEmbeddings:
    """Implements `ModelProtocol`."""

    def takes(self, path: str) -> bool:
        return method_of(path) in _METHODS

    def api_key(self, incoming: Incoming) -> str | None:
        return api_key(incoming)

    def read(self, number: int, incoming: Incoming) -> EmbedContentRequest:
        body, method = json_object(incoming.body), method_of(incoming.path)
        try:
            inputs = _METHODS[method].texts(body)
        except (KeyError, TypeError, AttributeError):
            raise InvalidRequest(f"{method} needs contents, as objects with parts.", _METHODS[method].where) from None
        if not inputs:
            raise InvalidRequest(f"{method} needs at least one content.", _METHODS[method].where)
        if not 1 <= _dimensions(body) <= 4096:
            raise InvalidRequest("'outputDimensionality' is from 1 to 4096.", "outputDimensionality")
        return EmbedContentRequest(number, body, incoming.headers, model_of(incoming.path), method)

    def render(self, completion: Completion, request: ChatRequest, piece_characters: int) -> Response:
        assert isinstance(request, EmbedContentRequest)  # noqa: S101 - made by `read`
        return json_response(_METHODS[request.method].answer(request))

    def fail(self, failed: Failed, param: str | None = None) -> Response:
        return error_response(failed, param)


@dataclass(frozen=True, slots=True)
class _Method:
    """A method of the API. `where`: the field with the inputs; `texts` reads them; `answer` makes the answer. `texts`
    may raise KeyError, TypeError, AttributeError and InvalidRequest."""

    where: str
    texts: Callable[[JsonObject], list[str]]
    answer: Callable[[EmbedContentRequest], JsonObject]


def _text(content: object, where: str) -> str:
    check_content(content, where, roles=None)
    return text_in(object_of(content))


def _batched(body: JsonObject) -> list[str]:
    return [_text(request["content"], f"requests[{index}].content") for index, request in enumerate(body["requests"])]


def _embeddings(request: EmbedContentRequest) -> list[JsonObject]:
    return [{"values": vector(text, request.dimensions)} for text in request.texts_to_embed]


def _predictions(request: EmbedContentRequest) -> JsonObject:
    counted = [{"truncated": False, "token_count": tokens_in(len(text.encode()))} for text in request.texts_to_embed]
    pairs = zip(_embeddings(request), counted, strict=True)
    return {"predictions": [{"embeddings": {**values, "statistics": count}} for values, count in pairs]}


def _counted(request: EmbedContentRequest) -> JsonObject:
    return {"totalTokens": sum(tokens_in(len(text.encode())) for text in request.texts_to_embed)}


def _dimensions(body: JsonObject) -> int:
    """Returns the requested number of dimensions, from the field in which any of the methods may have it; 0 if it is
    not an integer."""
    requests: list[JsonObject] = body.get("requests") or [{}]
    first = requests[0]
    nested: list[JsonObject] = [body, first, body.get("parameters") or {}, body.get("embedContentConfig") or {}]
    dimensions = next(
        (fields["outputDimensionality"] for fields in nested if fields.get("outputDimensionality")), DIMENSIONS
    )
    return dimensions if isinstance(dimensions, int) else 0


_METHODS = {
    "batchEmbedContents": _Method("requests", _batched, lambda request: {"embeddings": _embeddings(request)}),
    "embedContent": _Method(
        "content",
        lambda body: [_text(body["content"], "content")],
        lambda request: {"embedding": _embeddings(request)[0]},
    ),
    "predict": _Method("instances", lambda body: [str(item["content"]) for item in body["instances"]], _predictions),
    "countTokens": _Method(
        "contents",
        lambda body: [_text(item, f"contents[{index}]") for index, item in enumerate(body["contents"])],
        _counted,
    ),
}

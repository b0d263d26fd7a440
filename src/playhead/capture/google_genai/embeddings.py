"""Requests for embeddings: of Gemini's API (`batchEmbedContents`), and of Vertex AI (`predict`, `embedContent`).

Inputs and vectors are content; vectors are packed in the record.
"""

from playhead.capture.embeddings import ChangeVector, embeddings_api
from playhead.capture.google_genai import content
from playhead.capture.google_genai.content import body_of, model_of, provider_of, usage_of
from playhead.capture.model_call import ObservedRequest
from playhead.capture.wrapping import MethodCall
from playhead.model import names
from playhead.model.json_value import Json, JsonValue, list_at, objects_at

_METHODS = frozenset({"embedContent", "batchEmbedContents"})
_PREDICT = "predict"
_DIMENSIONS = "outputDimensionality"


def is_embedding(method: str, body: object) -> bool:
    """Whether a request is for embeddings.  `predict` also has requests of other models, with prompts instead of
    content."""
    if method != _PREDICT:
        return method in _METHODS
    items = list_at(body, "instances")
    return bool(items) and all(isinstance(item, dict) and "content" in item for item in items)


def _read_request(call: MethodCall) -> ObservedRequest:
    body = body_of(call)
    inputs, settings = _inputs(body)
    attributes: Json = {}
    if (dimensions := _found(body, _DIMENSIONS)) is not None:
        attributes[names.EMBEDDING_DIMENSIONS] = dimensions
    return ObservedRequest.of_embeddings(
        provider_of(call.client), model_of(call.kwargs), inputs, settings=settings, attributes=attributes
    )


def _inputs(body: Json) -> tuple[JsonValue, Json]:
    """Returns the inputs (as texts if they are plain text), and the rest of the body."""
    for where, key in (("requests", "content"), ("instances", "content")):
        if isinstance(body.get(where), list):
            items = objects_at(body, where)
            rest: list[JsonValue] = [{name: value for name, value in item.items() if name != key} for item in items]
            return [_text(item.get(key)) for item in items], {**body, where: rest}
    return _text(body.get("content")), {name: value for name, value in body.items() if name != "content"}


def _text(content: JsonValue) -> JsonValue:
    match list_at(content, "parts"):
        case [{"text": str(text), **more}] if not more:
            return text
        case _:
            return content


def _found(body: JsonValue, key: str) -> JsonValue:
    """Returns the first value of this key anywhere in the body, except in the inputs."""
    if isinstance(body, list):
        values = (_found(item, key) for item in body[:1])
        return next((item for item in values if item is not None), None)
    if not isinstance(body, dict):
        return None
    if key in body:
        return body[key]
    inner = (_found(value, key) for name, value in body.items() if name not in ("content", "parts"))
    return next((item for item in inner if item is not None), None)


def _attributes(raw: Json) -> dict[str, object]:
    attributes = usage_of(raw.get("usageMetadata"))
    counts = [_found(prediction, "token_count") for prediction in objects_at(raw, "predictions")]
    numbers = [count for count in counts if isinstance(count, int)]
    if numbers and len(numbers) == len(counts):
        attributes[names.INPUT_TOKENS] = sum(numbers)
    return attributes


def _with_vectors(answer: Json, change: ChangeVector) -> Json:
    """Applies `change` to each vector: the value of any key `values`."""
    return {
        key: change(value) if key == "values" else _with_vectors_inside(value, change) for key, value in answer.items()
    }


def _with_vectors_inside(value: JsonValue, change: ChangeVector) -> JsonValue:
    if isinstance(value, list):
        return [_with_vectors_inside(item, change) for item in value]
    return _with_vectors(value, change) if isinstance(value, dict) else value


EMBEDDINGS = embeddings_api(
    read_request=_read_request,
    dump=content.json_of,
    attributes=_attributes,
    with_vectors=_with_vectors,
    restore=content.restore,
)

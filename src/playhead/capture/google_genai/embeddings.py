"""Requests for embeddings: of Gemini's API (`batchEmbedContents`), and of Vertex AI (`predict`, `embedContent`).

Inputs and vectors are content; vectors are packed in the record.
"""

from collections.abc import Callable, Mapping
from typing import Any, cast

from playhead.calls.run import ActiveRun
from playhead.capture.client_methods import ClientApi, MethodCall
from playhead.capture.google_genai import content
from playhead.capture.google_genai.content import body_of, json_of, model_of, provider_of, usage_of
from playhead.capture.model_call import ModelRequest, ModelResponse
from playhead.capture.vectors import pack_vector, unpack_vector
from playhead.errors import CannotRestore
from playhead.model import names

_METHODS = frozenset({"embedContent", "batchEmbedContents"})
_PREDICT = "predict"
_DIMENSIONS = "outputDimensionality"


def is_embedding(method: str, body: Any) -> bool:
    """Whether a request is for embeddings.  `predict` also has requests of other models, with prompts instead of
    content."""
    if method != _PREDICT:
        return method in _METHODS
    instances = cast("dict[str, Any]", body).get("instances") if isinstance(body, dict) else None
    items = cast("list[Any]", instances) if isinstance(instances, list) else []
    return bool(items) and all(isinstance(item, dict) and "content" in item for item in items)


def _read_request(call: MethodCall) -> ModelRequest:
    body = body_of(call)
    inputs, settings = _inputs(body)
    attributes: dict[str, Any] = {}
    if (dimensions := _found(body, _DIMENSIONS)) is not None:
        attributes[names.EMBEDDING_DIMENSIONS] = dimensions
    return ModelRequest.of_embeddings(
        provider_of(call.client), model_of(call.kwargs), inputs, settings=settings, attributes=attributes
    )


def _inputs(body: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Returns the inputs (as texts if they are plain text), and the rest of the body."""
    for where, key in (("requests", "content"), ("instances", "content")):
        if isinstance(body.get(where), list):
            items = cast("list[dict[str, Any]]", body[where])
            rest = [{name: value for name, value in item.items() if name != key} for item in items]
            return [_text(item.get(key)) for item in items], {**body, where: rest}
    return _text(body.get("content")), {name: value for name, value in body.items() if name != "content"}


def _text(content: Any) -> Any:
    parts = cast("dict[str, Any]", content).get("parts") if isinstance(content, dict) else None
    match cast("list[Any]", parts) if isinstance(parts, list) else []:
        case [{"text": str(text), **more}] if not more:
            return text
        case _:
            return cast("object", content)


def _found(body: Any, key: str) -> Any:
    """Returns the first value of this key anywhere in the body, except in the inputs."""
    if isinstance(body, list):
        values = (_found(item, key) for item in cast("list[Any]", body)[:1])
        return next((item for item in values if item is not None), None)
    if not isinstance(body, dict):
        return None
    fields = cast("dict[str, Any]", body)
    if key in fields:
        return fields[key]
    inner = (_found(value, key) for name, value in fields.items() if name not in ("content", "parts"))
    return next((item for item in inner if item is not None), None)


def _read_response(answer: Any, _run: ActiveRun, _call: MethodCall) -> ModelResponse | None:
    raw = json_of(answer)
    return None if raw is None else _read_recorded(_with_vectors(raw, pack_vector))


def _read_recorded(raw: Any, *_: object) -> ModelResponse:
    attributes = usage_of(raw.get("usageMetadata"))
    predictions: list[dict[str, Any]] = raw.get("predictions") or []
    counts = [_found(prediction, "token_count") for prediction in predictions]
    if counts and all(isinstance(count, int) for count in counts):
        attributes[names.INPUT_TOKENS] = sum(counts)
    return ModelResponse([], raw, attributes=attributes)


def _with_vectors(value: Any, change: Callable[[Any], Any]) -> Any:
    """Returns the answer with `change` applied to each vector (the value of any key `values`)."""
    if isinstance(value, list):
        return [_with_vectors(item, change) for item in cast("list[Any]", value)]
    if not isinstance(value, Mapping):
        return value
    fields = cast("Mapping[str, Any]", value)
    return {key: change(item) if key == "values" else _with_vectors(item, change) for key, item in fields.items()}


def _restore(raw: Any, call: MethodCall, ending: BaseException | None) -> Any:
    return content.restore(_with_vectors(raw, unpack_vector), call, ending)


def _with_message(_raw: Any, _message: Any, _call: MethodCall) -> Any:
    raise CannotRestore('an embedding has no message: give the outcome as {"result": ...} or {"error": ...}')


EMBEDDINGS = ClientApi(
    read_request=_read_request,
    is_streamed=lambda call: False,
    read_response=_read_response,
    assemble=lambda chunks, run, call: None,
    read_recorded=_read_recorded,
    restore=_restore,
    with_message=_with_message,
    with_edit=lambda call, messages, system: None,
)

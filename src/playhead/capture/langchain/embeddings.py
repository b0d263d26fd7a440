"""LangChain's embeddings: of documents, or of one query."""

from collections.abc import Callable
from functools import partial
from typing import Any

from playhead.capture.frameworks.model_calls import FrameworkModelApi, observing_model, observing_model_async
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.patching import WrapSubclasses
from playhead.capture.restoring import no_message
from playhead.capture.vectors import pack_vector, unpack_vector
from playhead.capture.wrapping import MethodCall
from playhead.model.json_value import Json, JsonValue, object_of


def _read_request(call: MethodCall) -> ObservedRequest:
    inputs = call.args[0] if call.args else call.kwargs.get("texts", call.kwargs.get("text"))
    kind = str(type(call.client).__name__)
    name = next((value for key in ("model", "model_name") if (value := getattr(call.client, key, None))), kind)
    provider = kind.removesuffix("Embeddings").lower() or "langchain"
    request = ObservedRequest.of_embeddings(provider, str(name), inputs, settings={})
    request.name = kind
    return request


def _change(vectors: Any, convert: Callable[[JsonValue], JsonValue], *, is_query: bool) -> JsonValue:
    """Applies `convert` to each vector of an answer."""
    return convert(vectors) if is_query else [convert(vector) for vector in vectors]


def _dump(answer: object, *, is_query: bool) -> Json:
    return {"vector" if is_query else "vectors": _change(answer, pack_vector, is_query=is_query)}


def _load(raw: JsonValue, *, is_query: bool) -> JsonValue:
    return _change(object_of(raw)["vector" if is_query else "vectors"], unpack_vector, is_query=is_query)


def _api(*, is_query: bool) -> FrameworkModelApi:
    return FrameworkModelApi(
        read_request=_read_request,
        with_messages=lambda call, messages: None,
        dump=partial(_dump, is_query=is_query),
        load=partial(_load, is_query=is_query),
        read=lambda raw: ObservedResponse([], raw),
        from_message=no_message,
    )


_DOCUMENTS, _QUERY = _api(is_query=False), _api(is_query=True)
EMBEDDINGS = (
    WrapSubclasses(
        "langchain_core.embeddings.embeddings",
        "Embeddings",
        {
            "embed_documents": observing_model(_DOCUMENTS),
            "embed_query": observing_model(_QUERY),
            "aembed_documents": observing_model_async(_DOCUMENTS),
            "aembed_query": observing_model_async(_QUERY),
        },
    ),
)

"""Reads and restores embeddings of LiteLLM."""

from collections.abc import Callable
from importlib import import_module
from typing import Any

from playhead.capture.embeddings import embeddings_api, with_data_vectors
from playhead.capture.litellm.arguments import (
    KEY,
    answering_provider,
    asked_provider,
    hidden_params_of,
    named_arguments,
    restore_hidden_params,
    settings_of,
)
from playhead.capture.model_call import ObservedRequest
from playhead.capture.restoring import as_awaitable
from playhead.capture.stainless import usage_of
from playhead.capture.wrapping import MethodCall
from playhead.errors import CannotRestore
from playhead.model import names
from playhead.model.json_value import Json, object_at

_ELSEWHERE = frozenset({"input"})
_USAGE = (("", "prompt_tokens", names.INPUT_TOKENS),)


def _read_request(call: MethodCall) -> ObservedRequest:
    arguments = named_arguments(call)
    settings, attributes = settings_of(arguments, _ELSEWHERE, {"dimensions": names.EMBEDDING_DIMENSIONS})
    model = str(arguments.get("model", ""))
    inputs = arguments.get("input") or ""
    return ObservedRequest.of_embeddings(
        asked_provider(arguments), model, inputs, settings=settings, attributes=attributes
    )


def _dump(answer: Any) -> Json | None:
    if not hasattr(answer, "data"):
        return None
    return {**answer.model_dump(mode="json", warnings=False), KEY: hidden_params_of(answer)}


def _attributes(raw: Json) -> dict[str, object]:
    attributes = usage_of(object_at(raw, "usage"), _USAGE)
    if raw.get("model"):
        attributes[names.RESPONSE_MODEL] = raw["model"]
    if provider := answering_provider(raw):
        attributes[names.PROVIDER] = provider
    return attributes


def _restore(raw: Json, call: MethodCall, _ending: BaseException | None) -> object:
    if "data" not in raw:
        raise CannotRestore("these embeddings were not kept; fork the run before this call")
    kind: Callable[..., object] = import_module("litellm.types.utils").EmbeddingResponse
    fields = {key: value for key, value in raw.items() if key != KEY}
    answer = restore_hidden_params(kind(**fields), raw)
    return as_awaitable(answer) if call.is_async else answer


EMBEDDING = embeddings_api(
    read_request=_read_request,
    dump=_dump,
    attributes=_attributes,
    with_vectors=with_data_vectors,
    restore=_restore,
    one_shot=("input",),
)

"""Embeddings of `openai`, and of clients with an API like it: reads requests and answers, and restores recorded
answers."""

from collections.abc import Callable
from typing import Any

from playhead.capture.client_methods import ClientApi
from playhead.capture.embeddings import embeddings_api, with_data_vectors
from playhead.capture.model_call import ObservedRequest
from playhead.capture.openai.compatible import restoring
from playhead.capture.stainless import TRANSPORT, AnswerForm, end_with_result, schema_of_class, settings_of, usage_of
from playhead.capture.wrapping import MethodCall
from playhead.model import names
from playhead.model.json_value import Json, object_at

_NOT_SETTINGS = TRANSPORT | {"input"}
_REQUEST_ATTRIBUTES = {"dimensions": names.EMBEDDING_DIMENSIONS}
_USAGE = (("", "prompt_tokens", names.INPUT_TOKENS),)


def embeddings_of(provider_of: Callable[[object], str], form: AnswerForm) -> ClientApi:
    """Returns the API of a client's embeddings.  `provider_of` returns the provider of a resource."""
    restore = restoring(form)
    return embeddings_api(
        read_request=lambda call: _read_request(provider_of(call.client), call),
        dump=_dump,
        attributes=_attributes,
        with_vectors=with_data_vectors,
        restore=restore,
        end_with_result=end_with_result,
        one_shot=("input",),
    )


def _read_request(provider: str, call: MethodCall) -> ObservedRequest:
    settings, attributes = settings_of(call.kwargs, _NOT_SETTINGS, _REQUEST_ATTRIBUTES, schema_of_class)
    model = str(call.kwargs.get("model", ""))
    inputs = call.kwargs.get("input", "")
    return ObservedRequest.of_embeddings(provider, model, inputs, settings=settings, attributes=attributes)


def _dump(response: Any) -> Json | None:
    return response.model_dump(mode="json", exclude_unset=True, warnings=False) if hasattr(response, "data") else None


def _attributes(raw: Json) -> dict[str, object]:
    attributes = usage_of(object_at(raw, "usage"), _USAGE)
    if raw.get("model"):
        attributes[names.RESPONSE_MODEL] = raw["model"]
    return attributes

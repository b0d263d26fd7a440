"""OpenAI's embeddings for the capture stage: reads requests and answers, and restores recorded answers."""

from typing import Any

from playhead.capture import stainless
from playhead.capture.embeddings import embeddings_api, with_data_vectors
from playhead.capture.model_call import ObservedRequest
from playhead.capture.openai.chat import provider_of
from playhead.capture.stainless import TRANSPORT, AnswerForm, end_with_result, schema_of_class, settings_of, usage_of
from playhead.capture.wrapping import MethodCall
from playhead.model import names
from playhead.model.json_value import Json, object_at

_FORM = AnswerForm("openai", "data", "openai.types", "CreateEmbeddingResponse", names_events=False)
_NOT_SETTINGS = TRANSPORT | {"input"}
_REQUEST_ATTRIBUTES = {"dimensions": names.EMBEDDING_DIMENSIONS}
_USAGE = (("", "prompt_tokens", names.INPUT_TOKENS),)


def _read_request(call: MethodCall) -> ObservedRequest:
    settings, attributes = settings_of(call.kwargs, _NOT_SETTINGS, _REQUEST_ATTRIBUTES, schema_of_class)
    model = str(call.kwargs.get("model", ""))
    inputs = call.kwargs.get("input", "")
    return ObservedRequest.of_embeddings(
        provider_of(call.client), model, inputs, settings=settings, attributes=attributes
    )


def _dump(response: Any) -> Json | None:
    return response.model_dump(mode="json", exclude_unset=True, warnings=False) if hasattr(response, "data") else None


def _attributes(raw: Json) -> dict[str, object]:
    attributes = usage_of(object_at(raw, "usage"), _USAGE)
    if raw.get("model"):
        attributes[names.RESPONSE_MODEL] = raw["model"]
    return attributes


def _restore(raw: Json, call: MethodCall, _ending: BaseException | None) -> object:
    return stainless.restore(
        raw, _FORM, call.kwargs, call.client, method=call.method, streamed=False, is_async=call.is_async
    )


EMBEDDINGS = embeddings_api(
    read_request=_read_request,
    dump=_dump,
    attributes=_attributes,
    with_vectors=with_data_vectors,
    restore=_restore,
    end_with_result=end_with_result,
    one_shot=("input",),
)

"""OpenAI's embeddings for the capture stage: reads requests and answers, and restores recorded answers."""

from collections.abc import Mapping
from typing import Any, cast

from playhead.calls.run import ActiveRun
from playhead.capture import stainless
from playhead.capture.client_methods import ClientApi, MethodCall
from playhead.capture.model_call import ModelRequest, ModelResponse
from playhead.capture.openai.chat import provider_of
from playhead.capture.stainless import TRANSPORT, AnswerForm, end_with_result, schema_of_class, settings_of, usage_of
from playhead.capture.vectors import pack_vector, unpack_vector
from playhead.errors import CannotRestore
from playhead.model import names

_FORM = AnswerForm("openai", "data", "openai.types", "CreateEmbeddingResponse", names_events=False)
_NOT_SETTINGS = TRANSPORT | {"input"}
_REQUEST_ATTRIBUTES = {"dimensions": names.EMBEDDING_DIMENSIONS}
_USAGE = (("", "prompt_tokens", names.INPUT_TOKENS),)


def _read_request(call: MethodCall) -> ModelRequest:
    settings, attributes = settings_of(call.kwargs, _NOT_SETTINGS, _REQUEST_ATTRIBUTES, schema_of_class)
    model = str(call.kwargs.get("model", ""))
    inputs = call.kwargs.get("input", "")
    return ModelRequest.of_embeddings(provider_of(call.client), model, inputs, settings=settings, attributes=attributes)


def _read_response(response: Any, _run: ActiveRun, _call: MethodCall) -> ModelResponse | None:
    if not hasattr(response, "data"):
        return None
    dumped = response.model_dump(mode="json", exclude_unset=True, warnings=False)
    return _read_recorded(_with_vectors(dumped, pack_vector))


def _read_recorded(raw: Mapping[str, Any], *_: object) -> ModelResponse:
    attributes: dict[str, Any] = usage_of(raw.get("usage") or {}, _USAGE)
    if raw.get("model"):
        attributes[names.RESPONSE_MODEL] = raw["model"]
    return ModelResponse([], raw, attributes=attributes)


def _with_vectors(response: Mapping[str, Any], change: Any) -> dict[str, Any]:
    data = [
        {**item, "embedding": change(item["embedding"])} if "embedding" in item else item
        for item in cast("list[dict[str, Any]]", response.get("data") or [])
    ]
    return {**response, "data": data}


def _restore(raw: Any, call: MethodCall, _ending: BaseException | None) -> Any:
    recorded = cast("dict[str, Any]", raw if isinstance(raw, dict) else {})
    unpacked = _with_vectors(recorded, unpack_vector) if "data" in recorded else recorded
    return stainless.restore(
        unpacked, _FORM, call.kwargs, call.client, method=call.method, streamed=False, is_async=call.is_async
    )


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
    end_with_result=end_with_result,
    one_shot=("input",),
)

"""OpenAI's embeddings for the capture stage: requests, answers, and recorded answers as the client's own objects."""

from collections.abc import Mapping
from typing import Any, cast

from playhead.api.run import ActiveRun
from playhead.capture.client_methods import ClientApi, MethodCall
from playhead.capture.model_values import ModelRequest, ModelResponse
from playhead.capture.openai.chat_reading import provider_of
from playhead.capture.stainless import replay
from playhead.capture.stainless.reading import TRANSPORT, described, settings_of, usage_of
from playhead.capture.stainless.replay import AnswerForm
from playhead.capture.stainless.results import record_result
from playhead.capture.vectors import pack_vector, unpack_vector
from playhead.errors import CannotRestore
from playhead.model import names

_FORM = AnswerForm("openai", "data", "openai.types", "CreateEmbeddingResponse", names_events=False)
_NOT_SETTINGS = TRANSPORT | {"input"}
_REQUEST_ATTRIBUTES = {"dimensions": names.EMBEDDING_DIMENSIONS}
_USAGE = (("", "prompt_tokens", names.INPUT_TOKENS),)


def _read_request(asked: MethodCall) -> ModelRequest:
    settings, attributes = settings_of(asked.kwargs, _NOT_SETTINGS, _REQUEST_ATTRIBUTES, described)
    model = str(asked.kwargs.get("model", ""))
    inputs = asked.kwargs.get("input", "")
    return ModelRequest.of_embeddings(
        provider_of(asked.client), model, inputs, settings=settings, attributes=attributes
    )


def _read_response(response: Any, _run: ActiveRun, _asked: MethodCall) -> ModelResponse | None:
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
        {**each, "embedding": change(each["embedding"])} if "embedding" in each else each
        for each in cast("list[dict[str, Any]]", response.get("data") or [])
    ]
    return {**response, "data": data}


def _restore(raw: Any, asked: MethodCall, _ending: BaseException | None) -> Any:
    recorded = cast("dict[str, Any]", raw if isinstance(raw, dict) else {})
    unpacked = _with_vectors(recorded, unpack_vector) if "data" in recorded else recorded
    return replay.restore(
        unpacked, _FORM, asked.kwargs, asked.client, method=asked.method, streamed=False, is_async=asked.is_async
    )


def _with_message(_raw: Any, _message: Any, _asked: MethodCall) -> Any:
    raise CannotRestore('an embedding has no message: give the outcome as {"result": ...} or {"error": ...}')


EMBEDDINGS = ClientApi(
    read_request=_read_request,
    is_streamed=lambda asked: False,
    read_response=_read_response,
    assemble=lambda chunks, run, asked: None,
    read_recorded=_read_recorded,
    restore=_restore,
    with_message=_with_message,
    with_edit=lambda asked, messages, system: None,
    record_result=record_result,
    one_shot=("input",),
)

"""Reads and restores embeddings of LiteLLM."""

from collections.abc import Callable, Mapping
from typing import Any, cast

from playhead.calls.run import ActiveRun
from playhead.capture.client_methods import ClientApi, MethodCall
from playhead.capture.litellm.arguments import (
    KEY,
    answering_provider,
    asked_provider,
    hidden_params_of,
    named_arguments,
    restore_hidden_params,
    settings_of,
)
from playhead.capture.model_call import ModelRequest, ModelResponse
from playhead.capture.vectors import pack_vector, unpack_vector
from playhead.errors import CannotRestore
from playhead.model import names

_ELSEWHERE = frozenset({"input"})


def _read_request(call: MethodCall) -> ModelRequest:
    arguments = named_arguments(call)
    settings, attributes = settings_of(arguments, _ELSEWHERE, {"dimensions": names.EMBEDDING_DIMENSIONS})
    model = str(arguments.get("model", ""))
    inputs = arguments.get("input") or ""
    return ModelRequest.of_embeddings(
        asked_provider(arguments), model, inputs, settings=settings, attributes=attributes
    )


def _read_response(answer: Any, _run: ActiveRun, _call: MethodCall) -> ModelResponse | None:
    if not hasattr(answer, "data"):
        return None
    dumped: dict[str, Any] = answer.model_dump(mode="json", warnings=False)
    return _read_recorded({**_with_vectors(dumped, pack_vector), KEY: hidden_params_of(answer)})


def _read_recorded(raw: Mapping[str, Any], *_: object) -> ModelResponse:
    attributes: dict[str, Any] = {}
    usage: Mapping[str, Any] = raw.get("usage") or {}
    if usage.get("prompt_tokens") is not None:
        attributes[names.INPUT_TOKENS] = usage["prompt_tokens"]
    if raw.get("model"):
        attributes[names.RESPONSE_MODEL] = raw["model"]
    if provider := answering_provider(raw):
        attributes[names.PROVIDER] = provider
    return ModelResponse([], raw, attributes=attributes)


def _with_vectors(answer: Mapping[str, Any], change: Callable[[Any], Any]) -> dict[str, Any]:
    data = cast("list[dict[str, Any]]", answer.get("data") or [])
    return {**answer, "data": [{**item, "embedding": change(item.get("embedding"))} for item in data]}


def _restore(raw: Any, call: MethodCall, _ending: BaseException | None) -> Any:
    recorded = cast("dict[str, Any]", raw if isinstance(raw, dict) else {})
    if "data" not in recorded:
        raise CannotRestore("these embeddings were not kept; fork the run before this call")
    from litellm.types.utils import EmbeddingResponse  # noqa: PLC0415 # pyright: ignore - the library is the user's

    unpacked = {key: value for key, value in _with_vectors(recorded, unpack_vector).items() if key != KEY}
    answer = restore_hidden_params(cast(Any, EmbeddingResponse)(**unpacked), recorded)
    return _as_awaitable(answer) if call.is_async else answer


async def _as_awaitable(value: Any) -> Any:
    return value


def _with_message(_raw: Any, _message: Any, _call: MethodCall) -> Any:
    raise CannotRestore('an embedding has no message: give the outcome as {"result": ...} or {"error": ...}')


EMBEDDING = ClientApi(
    read_request=_read_request,
    is_streamed=lambda call: False,
    read_response=_read_response,
    assemble=lambda chunks, run, call: None,
    read_recorded=_read_recorded,
    restore=_restore,
    with_message=_with_message,
    with_edit=lambda call, messages, system: None,
    one_shot=("input",),
)

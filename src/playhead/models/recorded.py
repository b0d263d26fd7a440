"""Asks a model so that the call is in the record once: an instrumented client inside records it, else it is recorded
here; in a resumed run it is answered from the record."""

from typing import Any

from playhead.calls.lifecycle import current_span
from playhead.capture.frameworks.chat import chat_request, chat_response
from playhead.capture.frameworks.model_calls import FrameworkModelApi, observing_model
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.wrapping import MethodCall
from playhead.dialect import openai_chat as dialect
from playhead.model import names
from playhead.model.json_value import Json, JsonMapping, JsonValue, int_at, object_at, text_at
from playhead.models.model import Model, ModelRequest, ModelResponse


def ask(model: Model, request: ModelRequest) -> ModelResponse:
    """Returns the model's answer, or the recorded one; outside a run, nothing is recorded here. Raises what the model
    raises."""
    if current_span() is None:
        return model.complete(request)
    return _observed(model.complete, model, (request,), {})


def _read_request(call: MethodCall) -> ObservedRequest:
    model: Model = call.client
    request: ModelRequest = call.args[0]
    return chat_request(
        model,
        provider="playhead",
        model_name=model.name,
        messages=[dialect.from_message(message) for message in request.messages],
        settings={"max_tokens": request.max_tokens, "temperature": request.temperature},
    )


def _with_messages(call: MethodCall, messages: list[JsonValue]) -> MethodCall:
    request: ModelRequest = call.args[0]
    natives = [message for message in messages if isinstance(message, dict)]
    edited = ModelRequest(dialect.to_messages(natives), request.max_tokens, request.temperature)
    return MethodCall(call.client, call.method, (edited,), {})


def _dump(response: ModelResponse) -> JsonValue:
    raw: Json = {"message": dialect.from_message(response.message), "model": response.model}
    for name in ("input_tokens", "output_tokens", "stop_reason"):
        raw[name] = getattr(response, name)
    return raw


def _load(raw: JsonValue) -> ModelResponse:
    return ModelResponse(
        dialect.to_message(object_at(raw, "message")),
        text_at(raw, "model"),
        int_at(raw, "input_tokens", None),
        int_at(raw, "output_tokens", None),
        text_at(raw, "stop_reason", None),
    )


def _read(raw: JsonValue) -> ObservedResponse:
    usage = {
        names.INPUT_TOKENS: int_at(raw, "input_tokens", None),
        names.OUTPUT_TOKENS: int_at(raw, "output_tokens", None),
    }
    message, reason = object_at(raw, "message"), text_at(raw, "stop_reason", None)
    return chat_response(raw, message, usage=usage, finish_reason=reason, model_name=text_at(raw, "model"))


def _from_message(message: JsonMapping, call: MethodCall) -> JsonValue:
    model: Model = call.client
    return {"message": dict(message), "model": model.name, "stop_reason": "stop"}


_observed: Any = observing_model(FrameworkModelApi(_read_request, _with_messages, _dump, _load, _read, _from_message))

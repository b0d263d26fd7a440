"""The `mistralai` library: chat, agents' completions and embeddings; plain, asynchronous, streamed.

Requests are read where the client sends them; see `sent_requests`.  Not recorded: `fim`, OCR, audio, and
conversations that the server keeps (`beta`).
"""

from collections.abc import Sequence
from sys import modules
from typing import Any

from playhead.capture.client_methods import ClientApi
from playhead.capture.embeddings import embeddings_api, with_data_vectors
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.openai import chat
from playhead.capture.patching import Instrumentation, Wrap, instrumentor
from playhead.capture.sent_requests import (
    answer_body,
    numbers_in,
    recording_sent,
    recording_sent_async,
    restored_response,
    sender,
    sender_async,
    settings_of_body,
)
from playhead.capture.stainless import answer_json, usage_of
from playhead.capture.wrapping import MethodCall
from playhead.dialect import openai_chat as dialect
from playhead.model import names
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.json_value import Json, JsonMapping, JsonValue, list_of, object_at, object_of, objects_at
from playhead.model.message import Message

__all__ = ["SUPPORTS", "MistralInstrumentor", "patch", "read_request", "read_response", "unpatch"]

SUPPORTS = "mistralai >= 2.9"
PROVIDER = "mistral_ai"

# --- requests and answers ---------------------------------------------------------------------------------------------

_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "max_tokens": names.REQUEST_MAX_TOKENS,
    "random_seed": names.REQUEST_SEED,
    "stream": names.REQUEST_STREAM,
}


def _body(call: MethodCall) -> Json:
    body: JsonValue = parse_json(call.kwargs["request"].content)
    return object_of(body)


def _is_streamed(call: MethodCall) -> bool:
    return bool(call.kwargs.get("stream"))


def read_request(call: MethodCall) -> ObservedRequest:
    """Reads a chat request from the HTTP request that is about to be sent."""
    return request_of(_body(call))


def request_of(body: Json) -> ObservedRequest:
    """Reads the body of a chat request."""
    attributes = numbers_in(body, _REQUEST_ATTRIBUTES)
    if (choices := body.get("n") or 1) != 1:
        attributes[names.REQUEST_CHOICES] = choices
    return ObservedRequest(
        provider=PROVIDER,
        operation="chat",
        model=str(body.get("model") or body.get("agent_id") or ""),
        messages=list_of(body.get("messages")),
        to_message=_to_message,
        from_message=dialect.from_message,
        tools=body.get("tools"),
        settings=settings_of_body(body),
        attributes=attributes,
    )


def _to_message(native: JsonMapping) -> Message:
    """Returns the canonical message, without what the client adds to an answer when it sends it back."""
    return dialect.to_message(_plain(native))


def _plain(native: JsonMapping) -> JsonMapping:
    if native.get("prefix") is not False and not native.get("tool_calls"):
        return native
    plain = {key: value for key, value in native.items() if key != "prefix" or value is not False}
    if "tool_calls" in plain:
        calls = objects_at(plain, "tool_calls")
        plain["tool_calls"] = [{key: value for key, value in call.items() if key != "index"} for call in calls]
    return plain


def read_response(answer: object) -> ObservedResponse | None:
    """Reads the HTTP response to an unstreamed request; None for anything else."""
    raw = answer_body(answer)
    return None if raw is None else read_recorded(raw)


def read_recorded(raw: Json) -> ObservedResponse:
    """Reads a recorded answer, streamed or not."""
    if "stream" in raw:
        return chat.read_recorded(raw)
    choices: list[JsonValue] = [
        {**choice, "message": {**_plain(object_at(choice, "message"))}} for choice in objects_at(raw, "choices")
    ]
    response = chat.read_recorded({**raw, "choices": choices})
    response.raw = raw
    return response


def _assemble(chunks: Sequence[Any]) -> ObservedResponse | None:
    return read_recorded({"stream": [answer_json(event.data) for event in chunks]}) if chunks else None


def _with_edit(call: MethodCall, messages: list[JsonValue] | None) -> MethodCall:
    if messages is None:
        return call
    request = call.kwargs["request"]
    headers = {name: value for name, value in request.headers.items() if name != "content-length"}
    content = canonical_json({**_body(call), "messages": messages})
    edited = _http().Request(request.method, request.url, headers=headers, content=content)
    edited.extensions = request.extensions
    return call.with_kwargs({**call.kwargs, "request": edited})


def _http() -> Any:
    """Returns the HTTP library that this version uses."""
    return modules["mistralai.client.basesdk"].httpx


def _restore(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    return restored_response(_http(), raw, call, ending, streamed=_is_streamed(call), request=call.kwargs["request"])


def with_message(recorded: object, message: str | JsonMapping, body: JsonMapping) -> Json:
    """Returns the recorded answer to a request with this body, with this message: a text, or a message in Mistral's
    form."""
    usage: Json = {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}
    model = str(body.get("model") or "")
    answer = chat.with_message(recorded, message, model=model, streamed=bool(body.get("stream")))
    return answer if "stream" in answer else {**answer, "usage": usage}  # the client's class needs it


# --- embeddings -------------------------------------------------------------------------------------------------------


def _read_embedding_request(call: MethodCall) -> ObservedRequest:
    body = _body(call)
    settings = {name: value for name, value in body.items() if name != "input"}
    model = str(body.get("model", ""))
    return ObservedRequest.of_embeddings(PROVIDER, model, body.get("input"), settings=settings)


def _embedding_attributes(raw: Json) -> dict[str, object]:
    attributes = usage_of(object_at(raw, "usage"), [("", "prompt_tokens", names.INPUT_TOKENS)])
    return {**attributes, names.RESPONSE_MODEL: raw["model"]} if raw.get("model") else attributes


# --- what is wrapped --------------------------------------------------------------------------------------------------

_CHAT = ClientApi(
    read_request=read_request,
    is_streamed=_is_streamed,
    read_response=lambda answer, run, call: read_response(answer),
    assemble=lambda chunks, run, call: _assemble(chunks),
    read_recorded=lambda raw, run, call: read_recorded(raw),
    restore=_restore,
    with_message=lambda raw, message, call: with_message(raw, message, _body(call)),
    with_edit=lambda call, messages, system: _with_edit(call, messages),
)
_EMBEDDINGS = embeddings_api(
    read_request=_read_embedding_request,
    dump=answer_body,
    attributes=_embedding_attributes,
    with_vectors=with_data_vectors,
    restore=_restore,
)
_mistral = Instrumentation(
    [
        Wrap("mistralai.client.basesdk", "BaseSDK.do_request", sender),
        Wrap("mistralai.client.basesdk", "BaseSDK.do_request_async", sender_async),
        *(
            Wrap(f"mistralai.client.{module}", f"{kind}.{method}{ending}", wrapper(api))
            for module, kind, methods, api in (
                ("chat", "Chat", ("complete", "stream"), _CHAT),
                ("agents", "Agents", ("complete", "stream"), _CHAT),
                ("embeddings", "Embeddings", ("create",), _EMBEDDINGS),
            )
            for method in methods
            for ending, wrapper in (("", recording_sent), ("_async", recording_sent_async))
        ),
    ]
)
patch, unpatch = _mistral.patch, _mistral.unpatch
MistralInstrumentor = instrumentor("MistralInstrumentor", SUPPORTS, patch, unpatch)

"""The `cohere` library: chat and embeddings of the second API (`ClientV2`, `Client.v2`); plain, asynchronous, streamed,
and raw responses that are not streamed.

Requests are read where the client sends them; see `sent_requests`.  Not recorded: the first API (`Client.chat`,
`Client.embed`, whose batches run in threads), `rerank`, and models on Bedrock and SageMaker through this library.
"""

from collections.abc import Iterator, Mapping, Sequence
from sys import modules
from typing import Any

from playhead.capture.client_methods import ClientApi
from playhead.capture.embeddings import ChangeVector, embeddings_api
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.patching import Instrumentation, Wrap, instrumentor
from playhead.capture.restoring import recorded_metadata
from playhead.capture.sent_requests import (
    answer_body,
    numbers_in,
    opener,
    opener_async,
    recording_sent,
    recording_sent_async,
    recording_sent_chunks,
    recording_sent_chunks_async,
    restored_response,
    sender,
    sender_async,
    settings_of_body,
)
from playhead.capture.stainless import answer_json
from playhead.capture.wrapping import MethodCall
from playhead.dialect import openai_chat as dialect
from playhead.model import names
from playhead.model.json_value import (
    Json,
    JsonMapping,
    JsonValue,
    int_at,
    list_of,
    object_at,
    object_of,
    objects_at,
    text_at,
)

__all__ = ["SUPPORTS", "CohereInstrumentor", "patch", "read_request", "read_response", "unpatch"]

SUPPORTS = "cohere >= 5.21"
PROVIDER = "cohere"

# --- requests ---------------------------------------------------------------------------------------------------------

_HTTP_MODULE = "cohere.core.http_client"
_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "p": names.REQUEST_TOP_P,
    "max_tokens": names.REQUEST_MAX_TOKENS,
    "seed": names.REQUEST_SEED,
    "stream": names.REQUEST_STREAM,
}


def _body(call: MethodCall) -> Json:
    """Returns the body as the client makes it of the arguments of its HTTP client."""
    made = modules[_HTTP_MODULE].get_request_body(
        json=call.kwargs.get("json"),
        data=None,
        request_options=call.kwargs.get("request_options"),
        omit=call.kwargs.get("omit"),
    )
    return object_of(made[0])


def _is_streamed(call: MethodCall) -> bool:
    return call.method == "stream"


def read_request(call: MethodCall) -> ObservedRequest:
    """Reads a chat request from the arguments of the client's HTTP client."""
    body = _body(call)
    return ObservedRequest(
        provider=PROVIDER,
        operation="chat",
        model=str(body.get("model", "")),
        messages=list_of(body.get("messages")),
        to_message=dialect.to_message,
        from_message=dialect.from_message,
        tools=body.get("tools"),
        settings=settings_of_body(body),
        attributes=numbers_in(body, _REQUEST_ATTRIBUTES),
    )


def _with_edit(call: MethodCall, messages: list[JsonValue] | None) -> MethodCall:
    if messages is None:
        return call
    given: Mapping[str, object] = call.kwargs["json"]
    return call.with_kwargs({**call.kwargs, "json": {**given, "messages": messages}})


# --- answers ----------------------------------------------------------------------------------------------------------

_FINISH_REASONS = {"COMPLETE": "stop", "STOP_SEQUENCE": "stop", "TOOL_CALL": "tool_calls", "MAX_TOKENS": "length"}


def read_response(answer: object) -> ObservedResponse | None:
    """Reads the HTTP response to an unstreamed request; None for anything else."""
    raw = answer_body(answer)
    return None if raw is None else _read_recorded(raw)


def _assemble(events: Sequence[Any]) -> ObservedResponse | None:
    return _read_recorded({"stream": [answer_json(event) for event in events]}) if events else None


def _read_recorded(raw: Json) -> ObservedResponse:
    answer = joined_answer(objects_at(raw, "stream")) if "stream" in raw else raw
    native = object_at(answer, "message")
    message, reasoning = dialect.output_message(native)
    attributes: dict[str, object] = {**_usage(object_at(answer, "usage"))}
    if reason := text_at(answer, "finish_reason"):
        attributes[names.FINISH_REASONS] = [_FINISH_REASONS.get(reason, reason.lower())]
    if response_id := answer.get("id"):
        attributes[names.RESPONSE_ID] = response_id
    # The plan is what the model thinks before it calls tools; it stays in the message, which clients send back.
    return ObservedResponse([message], raw, reasoning or native.get("tool_plan") or None, attributes)


def _usage(usage: JsonMapping) -> dict[str, object]:
    """Returns token counts: those of the model, or if there are none, those that are billed."""
    counts = object_at(usage, "tokens") or object_at(usage, "billed_units")
    found = {
        names.INPUT_TOKENS: counts.get("input_tokens"),
        names.OUTPUT_TOKENS: counts.get("output_tokens"),
        names.CACHE_READ_TOKENS: usage.get("cached_tokens"),
    }
    # Absent is not zero.  The client's classes for events have the counts as floats.
    return {name: int(count) for name, count in found.items() if isinstance(count, int | float)}


def joined_answer(events: Sequence[JsonMapping]) -> Json:
    """Returns the answer in its unstreamed form, as far as it was received."""
    whole: Json = {}
    message: Json = {"role": "assistant"}
    content: dict[int, Json] = {}
    calls: dict[int, Json] = {}
    for event in events:
        delta, index = object_at(event, "delta"), int_at(event, "index")
        piece = object_at(delta, "message")
        match text_at(event, "type"):
            case "message-start":
                whole["id"] = event.get("id")
            case "content-start" | "content-delta":
                _add_texts(content.setdefault(index, {}), object_at(piece, "content"))
            case "tool-call-start" | "tool-call-delta":
                _add_call(calls.setdefault(index, {}), object_at(piece, "tool_calls"))
            case "tool-plan-delta":
                _add_texts(message, piece)
            case "citation-start":
                message["citations"] = [*list_of(message.get("citations")), object_at(piece, "citations")]
            case "message-end":
                whole |= {key: delta[key] for key in ("finish_reason", "usage") if key in delta}
            case _:
                pass
    if content:
        message["content"] = [content[index] for index in sorted(content)]
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return {**whole, "message": message}


def _add_texts(element: Json, piece: JsonMapping) -> None:
    for key, value in piece.items():
        if key != "type" and isinstance(value, str):
            element[key] = text_at(element, key) + value
        else:
            element[key] = value


def _add_call(call: Json, piece: JsonMapping) -> None:
    function = object_at(call, "function")
    _add_texts(function, object_at(piece, "function"))
    call |= {**piece, "function": function}


# --- recorded answers -------------------------------------------------------------------------------------------------

_RECORDED_KEYS_REPLACED = frozenset({"message", "usage", "finish_reason", "stream"})


def _restore(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    http = modules[_HTTP_MODULE].httpx
    request = http.Request(call.kwargs.get("method", "POST"), "https://api.cohere.com")
    return restored_response(http, raw, call, ending, streamed=_is_streamed(call), request=request, event_name="type")


def _with_message(recorded: object, message: str | JsonMapping, call: MethodCall) -> Json:
    """Returns the recorded answer with this message: a text, or a message in Cohere's form."""
    native: JsonMapping = {"content": message} if isinstance(message, str) else message
    content = native.get("content")
    if isinstance(content, str):
        native = {**native, "content": [{"type": "text", "text": content}]}
    calls = bool(native.get("tool_calls"))
    about: Json = {"id": "playhead", **recorded_metadata(recorded, _RECORDED_KEYS_REPLACED, joined_answer)}
    answer: Json = {
        **about,
        "finish_reason": "TOOL_CALL" if calls else "COMPLETE",
        "message": {"role": "assistant", **native},
    }
    return {"stream": [*_events_of(answer)]} if _is_streamed(call) else answer


def _events_of(answer: JsonMapping) -> Iterator[Json]:
    """Yields the events of a stream of this answer, as few as possible."""
    message = object_at(answer, "message")
    start: Json = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": [], "citations": []}
    yield {"type": "message-start", "id": answer.get("id"), "delta": {"message": start}}
    if plan := message.get("tool_plan"):
        yield {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": plan}}}
    for index, element in enumerate(objects_at(message, "content")):
        kind = text_at(element, "type", "text")
        for event, content in (("start", {"type": kind, kind: ""}), ("delta", {kind: element.get(kind)})):
            yield {"type": f"content-{event}", "index": index, "delta": {"message": {"content": {**content}}}}
        yield {"type": "content-end", "index": index}
    for index, call in enumerate(objects_at(message, "tool_calls")):
        yield {"type": "tool-call-start", "index": index, "delta": {"message": {"tool_calls": call}}}
        yield {"type": "tool-call-end", "index": index}
    yield {"type": "message-end", "delta": {"finish_reason": answer.get("finish_reason")}}


# --- embeddings -------------------------------------------------------------------------------------------------------

_INPUTS = ("texts", "images", "inputs")


def _read_embedding_request(call: MethodCall) -> ObservedRequest:
    body = _body(call)
    key = next((name for name in _INPUTS if body.get(name)), _INPUTS[0])
    settings = {name: value for name, value in body.items() if name != key}
    return ObservedRequest.of_embeddings(PROVIDER, str(body.get("model", "")), body.get(key) or [], settings=settings)


def _embedding_attributes(raw: Json) -> dict[str, object]:
    counts = object_at(object_at(raw, "meta"), "billed_units")
    attributes = _usage({"billed_units": counts})
    return {**attributes, names.RESPONSE_ID: raw["id"]} if raw.get("id") else attributes


def _with_vectors(answer: Json, change: ChangeVector) -> Json:
    """`WithVectors` of both forms: a list of vectors, or lists of them by type of number."""
    vectors = answer.get("embeddings")
    if isinstance(vectors, dict):
        changed: JsonValue = {kind: [change(vector) for vector in list_of(each)] for kind, each in vectors.items()}
    elif isinstance(vectors, list):
        changed = [change(vector) for vector in vectors]
    else:
        return answer
    return {**answer, "embeddings": changed}


# --- what is wrapped --------------------------------------------------------------------------------------------------

_CHAT = ClientApi(
    read_request=read_request,
    is_streamed=_is_streamed,
    read_response=lambda answer, run, call: read_response(answer),
    assemble=lambda chunks, run, call: _assemble(chunks),
    read_recorded=lambda raw, run, call: _read_recorded(raw),
    restore=_restore,
    with_message=_with_message,
    with_edit=lambda call, messages, system: _with_edit(call, messages),
)
_EMBEDDINGS = embeddings_api(
    read_request=_read_embedding_request,
    dump=answer_body,
    attributes=_embedding_attributes,
    with_vectors=_with_vectors,
    restore=_restore,
)
_V2, _V2_RAW = "cohere.v2.client", "cohere.v2.raw_client"
_cohere = Instrumentation(
    [
        Wrap(_HTTP_MODULE, "HttpClient.request", sender),
        Wrap(_HTTP_MODULE, "HttpClient.stream", opener),
        Wrap(_HTTP_MODULE, "AsyncHttpClient.request", sender_async),
        Wrap(_HTTP_MODULE, "AsyncHttpClient.stream", opener_async),
        Wrap(_V2_RAW, "RawV2Client.chat", recording_sent(_CHAT)),
        Wrap(_V2_RAW, "AsyncRawV2Client.chat", recording_sent_async(_CHAT)),
        Wrap(_V2, "V2Client.chat_stream", recording_sent_chunks(_CHAT)),
        Wrap(_V2, "AsyncV2Client.chat_stream", recording_sent_chunks_async(_CHAT)),
        Wrap(_V2_RAW, "RawV2Client.embed", recording_sent(_EMBEDDINGS)),
        Wrap(_V2_RAW, "AsyncRawV2Client.embed", recording_sent_async(_EMBEDDINGS)),
    ]
)
patch, unpatch = _cohere.patch, _cohere.unpatch
CohereInstrumentor = instrumentor("CohereInstrumentor", SUPPORTS, patch, unpatch)

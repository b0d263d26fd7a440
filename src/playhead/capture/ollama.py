"""The `ollama` library: chat, generate and embeddings; plain, asynchronous, streamed.

The wrapped method sends the client's requests and makes its objects from the answers: so a request is recorded as it is
sent, and recorded answers become the client's own objects without a request.  Not recorded: models (`pull`, `create`),
`web_search` and `web_fetch`.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from playhead.capture.client_methods import ClientApi, MethodRecording, begin_method
from playhead.capture.embeddings import ChangeVector, embeddings_api
from playhead.capture.model_call import ObservedRequest, ObservedResponse
from playhead.capture.patching import Instrumentation, Wrap, instrumentor
from playhead.capture.restoring import as_awaitable, kept_answer, recorded_chunks, recorded_metadata
from playhead.capture.stainless import answer_json
from playhead.capture.wrapping import MethodCall, wrap, wrap_async
from playhead.dialect import openai_chat as dialect
from playhead.dialect import openai_responses
from playhead.errors import CannotRestore
from playhead.model import names
from playhead.model.json_value import (
    Json,
    JsonMapping,
    JsonValue,
    list_at,
    list_of,
    object_at,
    object_of,
    objects_at,
    text_at,
)

__all__ = ["SUPPORTS", "OllamaInstrumentor", "patch", "read_request", "read_response", "unpatch"]

SUPPORTS = "ollama >= 0.5"
PROVIDER = "ollama"

# --- requests ---------------------------------------------------------------------------------------------------------

_CHAT, _GENERATE, _EMBED, _EMBEDDINGS = "/api/chat", "/api/generate", "/api/embed", "/api/embeddings"
_OPTIONS = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "num_predict": names.REQUEST_MAX_TOKENS,
    "seed": names.REQUEST_SEED,
}
# How the collector rebuilds a request whose input is one text, and one without an input.
_TEXT_SHAPE = {"dialect": "bedrock_text", "input": "prompt"}
_NO_INPUT_SHAPE = {"dialect": openai_responses.NAME, "input": "absent"}


def _body(call: MethodCall) -> JsonMapping:
    body: JsonMapping = call.kwargs["json"]
    return body


def _is_streamed(call: MethodCall) -> bool:
    return bool(call.kwargs.get("stream"))


def read_request(call: MethodCall) -> ObservedRequest:
    """Reads a request of chat or generate."""
    body = _body(call)
    is_chat = call.args[2] == _CHAT
    messages, shape = list_of(body.get("messages")), None
    if not is_chat and "prompt" in body:
        messages, shape = [{"role": "user", "content": body["prompt"]}], _TEXT_SHAPE
    elif not is_chat:
        messages, shape = [], _NO_INPUT_SHAPE
    tools = body.get("tools")
    elsewhere = {"messages" if is_chat else "prompt", *(() if tools is None else ("tools",))}
    return ObservedRequest(
        provider=PROVIDER,
        operation="chat" if is_chat else "text_completion",
        model=str(body.get("model", "")),
        messages=messages,
        to_message=dialect.to_message,
        from_message=dialect.from_message,
        tools=tools,
        settings={name: value for name, value in body.items() if name not in elsewhere},
        attributes=_attributes(body),
        shape=shape,
    )


def _attributes(body: JsonMapping) -> Json:
    options = object_at(body, "options")
    attributes: Json = {name: options[key] for key, name in _OPTIONS.items() if options.get(key) is not None}
    if body.get("stream"):
        attributes[names.REQUEST_STREAM] = True
    return attributes


def _with_edit(call: MethodCall, messages: list[JsonValue] | None) -> MethodCall | None:
    body = _body(call)
    if messages is None:
        return call
    if call.args[2] == _CHAT:
        return call.with_kwargs({**call.kwargs, "json": {**body, "messages": messages}})
    if len(messages) != 1:
        return None
    return call.with_kwargs({**call.kwargs, "json": {**body, "prompt": text_at(messages[0], "content")}})


# --- answers ----------------------------------------------------------------------------------------------------------


def read_response(answer: Any, *_: object) -> ObservedResponse | None:
    """Reads a `ChatResponse` or a `GenerateResponse`; None for anything else."""
    return _response(raw := answer_json(answer), raw) if hasattr(answer, "done") else None


def _assemble(chunks: Sequence[Any]) -> ObservedResponse | None:
    return _read_recorded({"stream": [answer_json(chunk) for chunk in chunks]}) if chunks else None


def _read_recorded(raw: Json) -> ObservedResponse:
    return _response(joined_answer(objects_at(raw, "stream")) if "stream" in raw else raw, raw)


def _response(answer: JsonMapping, raw: Json) -> ObservedResponse:
    # Without what is empty, as the client sends it back; with its thinking, which the client sends back, too.
    native = {key: value for key, value in _message_of(answer).items() if value}
    message = dialect.to_message(native)
    reason = text_at(answer, "done_reason", None)
    attributes: dict[str, object] = {}
    if reason is not None:
        attributes[names.FINISH_REASONS] = ["tool_calls" if reason == "stop" and native.get("tool_calls") else reason]
    for key, name in (
        ("model", names.RESPONSE_MODEL),
        ("prompt_eval_count", names.INPUT_TOKENS),
        ("eval_count", names.OUTPUT_TOKENS),
    ):
        if answer.get(key) is not None:  # absent is not zero
            attributes[name] = answer[key]
    arguments = [object_at(call, "function").get("arguments") for call in objects_at(native, "tool_calls")]
    reasoning = native.get("thinking") or None
    return ObservedResponse([message], raw, reasoning, attributes, ordered=[value for value in arguments if value])


def _message_of(answer: JsonMapping) -> Json:
    if "message" in answer:
        return object_at(answer, "message")
    thinking = {"thinking": answer["thinking"]} if answer.get("thinking") else {}
    return {"role": "assistant", "content": text_at(answer, "response"), **thinking}


def joined_answer(chunks: Sequence[JsonMapping]) -> Json:
    """Returns the answer in its unstreamed form, as far as it was received."""
    whole: Json = {}
    message: Json = {}
    for chunk in chunks:
        whole |= {key: value for key, value in chunk.items() if key not in ("message", "response", "thinking")}
        _add_texts(whole, chunk, ("response", "thinking"))
        if "message" in chunk:
            piece = object_at(chunk, "message")
            message |= {key: value for key, value in piece.items() if key not in _JOINED}
            _add_texts(message, piece, ("content", "thinking"))
            if calls := list_at(piece, "tool_calls"):
                message["tool_calls"] = [*list_at(message, "tool_calls"), *calls]
            whole["message"] = message
    return whole


_JOINED = frozenset({"content", "thinking", "tool_calls"})


def _add_texts(whole: Json, piece: JsonMapping, keys: Sequence[str]) -> None:
    for key in keys:
        if isinstance(text := piece.get(key), str):
            whole[key] = text_at(whole, key) + text


# --- recorded answers -------------------------------------------------------------------------------------------------

_RECORDED_KEYS_REPLACED = frozenset({"message", "response", "thinking", "context", "stream"})


def _made(kind: Callable[..., object], raw: JsonValue) -> object:
    try:
        return kind(**object_of(raw))
    except Exception as error:
        message = f"ollama cannot read the recorded answer ({type(error).__name__}: {error})"
        raise CannotRestore(message) from error


def _restore(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    recorded, kind = kept_answer(raw), call.args[0]
    if _is_streamed(call):
        chunks = [_made(kind, chunk) for chunk in recorded_chunks(recorded)]
        return as_awaitable(_chunks_async(chunks, ending)) if call.is_async else _chunks(chunks, ending)
    if "stream" in recorded or not isinstance(raw, dict):
        raise CannotRestore("an unstreamed answer is asked for, and none was recorded")
    answer = _made(kind, recorded)
    return as_awaitable(answer) if call.is_async else answer


def _chunks(chunks: Sequence[object], ending: BaseException | None) -> Iterator[object]:
    yield from chunks
    if ending is not None:
        raise ending


async def _chunks_async(chunks: Sequence[object], ending: BaseException | None) -> AsyncIterator[object]:
    for chunk in _chunks(chunks, ending):
        yield chunk


def _with_message(recorded: object, message: str | JsonMapping, call: MethodCall) -> Json:
    """Returns the recorded answer with this message: a text, or a message in Ollama's form."""
    native: JsonMapping = {"content": message} if isinstance(message, str) else message
    about = recorded_metadata(recorded, _RECORDED_KEYS_REPLACED, joined_answer)
    whole: Json = {"model": _body(call).get("model"), **about, "done": True, "done_reason": "stop"}
    if call.args[2] == _CHAT:
        whole["message"] = {"role": "assistant", "content": "", **native}
    else:
        whole["response"] = text_at(native, "content")
    return {"stream": [whole]} if _is_streamed(call) else whole


# --- embeddings -------------------------------------------------------------------------------------------------------


def _read_embedding_request(call: MethodCall) -> ObservedRequest:
    body = _body(call)
    key = "input" if "input" in body else "prompt"
    settings = {name: value for name, value in body.items() if name != key}
    return ObservedRequest.of_embeddings(PROVIDER, str(body.get("model", "")), body.get(key), settings=settings)


def _embeddings_json(answer: Any) -> Json | None:
    return answer_json(answer) if hasattr(answer, "embeddings") or hasattr(answer, "embedding") else None


def _embedding_attributes(raw: Json) -> dict[str, object]:
    counts = {names.INPUT_TOKENS: raw.get("prompt_eval_count"), names.RESPONSE_MODEL: raw.get("model")}
    return {name: value for name, value in counts.items() if value is not None}


def _with_vectors(answer: Json, change: ChangeVector) -> Json:
    if "embedding" in answer:
        return {**answer, "embedding": change(answer["embedding"])}
    return {**answer, "embeddings": [change(vector) for vector in list_at(answer, "embeddings")]}


# --- what is wrapped --------------------------------------------------------------------------------------------------

_TEXT = ClientApi(
    read_request=read_request,
    is_streamed=_is_streamed,
    read_response=read_response,
    assemble=lambda chunks, run, call: _assemble(chunks),
    read_recorded=lambda raw, run, call: _read_recorded(raw),
    restore=_restore,
    with_message=_with_message,
    with_edit=lambda call, messages, system: _with_edit(call, messages),
)
_VECTORS = embeddings_api(
    read_request=_read_embedding_request,
    dump=_embeddings_json,
    attributes=_embedding_attributes,
    with_vectors=_with_vectors,
    restore=_restore,
)
_APIS = {_CHAT: _TEXT, _GENERATE: _TEXT, _EMBED: _VECTORS, _EMBEDDINGS: _VECTORS}
_ARGUMENTS = ("class", "method", "path")


def _begin(call: MethodCall) -> MethodRecording | None:
    """Begins to record `_request(class, method, path, json=..., stream=...)`, which all calls of the client go
    through."""
    if len(call.args) != len(_ARGUMENTS) or not isinstance(call.kwargs.get("json"), dict):
        return None
    api = _APIS.get(call.args[2])
    return None if api is None else begin_method(api, call)


_ollama = Instrumentation(
    [
        Wrap("ollama._client", "Client._request", wrap(_begin)),
        Wrap("ollama._client", "AsyncClient._request", wrap_async(_begin)),
    ]
)
patch, unpatch = _ollama.patch, _ollama.unpatch
OllamaInstrumentor = instrumentor("OllamaInstrumentor", SUPPORTS, patch, unpatch)

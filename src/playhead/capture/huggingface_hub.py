"""The `huggingface_hub` library's `InferenceClient` and `AsyncInferenceClient`: `chat_completion` (also called as
`chat.completions.create`), `text_generation` and `feature_extraction`; plain, asynchronous, streamed.

The client builds a body of its own for each provider behind it, so the body itself is recorded, too. Not recorded: the
other tasks (images, audio, classification and so on), which are no calls of language models.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from importlib import import_module
from itertools import product
from typing import Any, Protocol

from playhead.calls.run import ActiveRun
from playhead.capture.client_methods import ClientApi, recording_method, recording_method_async
from playhead.capture.embeddings import ChangeVector, embeddings_api
from playhead.capture.model_call import ObservedRequest, ObservedResponse, note_sent_body
from playhead.capture.openai import chat
from playhead.capture.patching import Instrumentation, Wrap, instrumentor
from playhead.capture.restoring import as_awaitable, kept_answer, recorded_chunks
from playhead.capture.wrapping import MethodCall, intercepted
from playhead.dialect import openai_chat as dialect
from playhead.errors import CannotRestore
from playhead.model import names
from playhead.model.json_value import (
    Json,
    JsonMapping,
    JsonValue,
    int_at,
    is_list,
    is_object,
    list_at,
    object_at,
    object_of,
    value_at,
)
from playhead.model.message import Message, text_message

SUPPORTS = "huggingface-hub >= 1.0"

_PROVIDER = "huggingface"
_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "max_tokens": names.REQUEST_MAX_TOKENS,
    "max_new_tokens": names.REQUEST_MAX_TOKENS,
    "seed": names.REQUEST_SEED,
    "stream": names.REQUEST_STREAM,
    "dimensions": names.EMBEDDING_DIMENSIONS,
}


# --- what all methods share -------------------------------------------------------------------------------------------


def _model_of(call: MethodCall, arguments: Mapping[str, Any]) -> str:
    """Returns the model, or the address of an endpoint; an empty text if the client chooses the model."""
    return str(arguments.get("model") or getattr(call.client, "model", None) or "")


def _settings_of(arguments: Mapping[str, Any], without: str) -> tuple[dict[str, object], dict[str, object]]:
    """Returns the other arguments, as far as they are sent, and the attributes of those that have one."""
    extra: Mapping[str, object] = arguments.get("extra_body") or {}
    given = {name: value for name, value in arguments.items() if name not in (without, "tools", "extra_body")}
    settings = {name: _sent(value) for name, value in {**given, **extra}.items() if value is not None}
    attributes = {to: settings[name] for name, to in _REQUEST_ATTRIBUTES.items() if name in settings}
    if settings.get("n", 1) != 1:
        attributes[names.REQUEST_CHOICES] = settings["n"]
    return settings, attributes


def _sent(value: object) -> Any:
    """Returns an argument as the client sends it: without keys whose value is null."""
    if is_object(value):
        return {key: _sent(item) for key, item in value.items() if item is not None}
    return [_sent(item) for item in value] if is_list(value) else value


def _received(value: object) -> Any:
    """Returns an answer as JSON: the client's objects have what the provider sent as attributes, and null where it sent
    nothing.  Their own entries as dictionaries lack what nested objects have beyond the client's classes."""
    if is_dataclass(value):
        return {key: _received(item) for key, item in vars(value).items()}
    return [_received(item) for item in value] if is_list(value) else value


def _is_streamed(call: MethodCall) -> bool:
    return bool(call.kwargs.get("stream"))


def _type(name: str) -> Any:
    """Returns a class of the client's answers.  Raises CannotRestore."""
    try:
        return getattr(import_module("huggingface_hub"), name)
    except (ImportError, AttributeError) as error:
        raise CannotRestore(f"this huggingface_hub has no {name}; install the recorded version") from error


def _restored(made: Callable[[], object], call: MethodCall) -> object:
    """Returns the object, or an awaitable of it.  Raises CannotRestore."""
    try:
        result = made()
    except CannotRestore:
        raise
    except Exception as error:
        raise CannotRestore(f"huggingface_hub cannot read the recorded answer ({error})") from error
    return as_awaitable(result) if call.is_async else result


def _stream(chunks: Sequence[object], call: MethodCall, ending: BaseException | None) -> object:
    return _stream_async(chunks, ending) if call.is_async else _stream_plain(chunks, ending)


def _stream_plain(chunks: Sequence[object], ending: BaseException | None) -> Iterator[object]:
    yield from chunks
    if ending is not None:
        raise ending


async def _stream_async(chunks: Sequence[object], ending: BaseException | None) -> AsyncIterator[object]:
    for chunk in _stream_plain(chunks, ending):
        yield chunk


# --- Chat Completions -------------------------------------------------------------------------------------------------


def _read_chat_request(call: MethodCall) -> ObservedRequest:
    arguments = call.arguments("messages")
    settings, attributes = _settings_of(arguments, "messages")
    return ObservedRequest(
        provider=_PROVIDER,
        operation="chat",
        model=_model_of(call, arguments),
        messages=_sent(list(arguments.get("messages") or ())),
        to_message=_to_message,
        from_message=dialect.from_message,
        tools=_sent(arguments.get("tools")),
        settings=settings,
        attributes=attributes,
    )


def _to_message(native: JsonMapping) -> Message:
    return dialect.to_message(_without_nulls(native))


def _without_nulls(message: JsonMapping) -> Json:
    """Returns a message as a later request has it, so that it has one ref as an answer and in the next context."""
    return {key: value for key, value in message.items() if value is not None}


def _read_chat(answer: Any, _run: ActiveRun, _call: MethodCall) -> ObservedResponse | None:
    return _read_recorded_chat(_received(answer)) if hasattr(answer, "choices") else None


def _read_recorded_chat(raw: Json, *_: object) -> ObservedResponse:
    if "stream" in raw:
        chunks = [_choices_without_nulls(object_of(chunk), "delta") for chunk in list_at(raw, "stream")]
        read = chat.read_recorded({"stream": [*chunks]})
    else:
        read = chat.read_recorded(_choices_without_nulls(raw, "message"))
    return ObservedResponse(read.messages, raw, read.reasoning, read.attributes)


def _choices_without_nulls(answer: Json, key: str) -> Json:
    choices = [object_of(choice) for choice in list_at(answer, "choices")]
    return {**answer, "choices": [{**choice, key: _without_nulls(object_at(choice, key))} for choice in choices]}


def _restore_chat(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    recorded = kept_answer(raw)
    if _is_streamed(call):
        kind = _type("ChatCompletionStreamOutput")
        chunks = recorded_chunks(recorded)
        return _restored(lambda: _stream([kind.parse_obj_as_instance(chunk) for chunk in chunks], call, ending), call)
    if "choices" not in recorded:
        raise CannotRestore("an unstreamed answer is asked for, and none was recorded")
    return _restored(lambda: _type("ChatCompletionOutput").parse_obj_as_instance(recorded), call)


def _chat_with_message(raw: object, message: str | JsonMapping, call: MethodCall) -> Json:
    model = _model_of(call, call.arguments("messages"))
    return chat.with_message(raw, message, model=model, streamed=_is_streamed(call))


def _chat_with_edit(call: MethodCall, messages: list[JsonValue] | None, _system: str | None) -> MethodCall:
    if messages is None:
        return call
    changed = {**call.arguments("messages"), "messages": messages}
    return MethodCall(call.client, call.method, (), changed, call.is_async)


_CHAT = ClientApi(
    read_request=_read_chat_request,
    is_streamed=_is_streamed,
    read_response=_read_chat,
    assemble=lambda chunks, run, call: _read_recorded_chat({"stream": chunks}) if chunks else None,
    read_recorded=_read_recorded_chat,
    restore=_restore_chat,
    with_message=_chat_with_message,
    with_edit=_chat_with_edit,
    keep_chunk=_received,
)


# --- text generation --------------------------------------------------------------------------------------------------


def _read_text_request(call: MethodCall) -> ObservedRequest:
    arguments = call.arguments("prompt")
    settings, attributes = _settings_of(arguments, "prompt")
    return ObservedRequest(
        provider=_PROVIDER,
        operation="text_completion",
        model=_model_of(call, arguments),
        messages=[{"role": "user", "content": arguments.get("prompt")}],
        to_message=dialect.to_message,
        from_message=dialect.from_message,
        settings=settings,
        attributes=attributes,
    )


def _read_text(answer: Any, _run: ActiveRun, _call: MethodCall) -> ObservedResponse | None:
    """The answer is a text, or an object with `details`."""
    return _read_recorded_text({"generated_text": answer} if isinstance(answer, str) else _received(answer))


def _read_recorded_text(raw: Json, *_: object) -> ObservedResponse:
    details = object_at(raw, "details")
    text: object = raw.get("generated_text")
    if "stream" in raw:  # of texts, or of objects with a `token`; the last one has the details
        pieces = list_at(raw, "stream")
        text = "".join(map(_text_of_piece, pieces))
        details = object_at(object_of(pieces[-1]), "details") if pieces else {}
    attributes: dict[str, object] = {}
    if reason := details.get("finish_reason"):
        attributes[names.FINISH_REASONS] = [str(reason)]
    if details.get("generated_tokens") is not None:
        attributes[names.OUTPUT_TOKENS] = int_at(details, "generated_tokens")
    if count := details.get("input_length") or len(list_at(details, "prefill")):
        attributes[names.INPUT_TOKENS] = count
    return ObservedResponse([text_message("assistant", str(text or ""))], raw, attributes=attributes)


def _text_of_piece(piece: JsonValue) -> str:
    if isinstance(piece, str):
        return piece
    token = value_at(piece, "token")
    return "" if value_at(token, "special") else str(value_at(token, "text") or "")


def _restore_text(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    recorded = kept_answer(raw)
    if _is_streamed(call):
        chunks = recorded_chunks(recorded)
        return _restored(lambda: _stream([*map(_text_piece, chunks)], call, ending), call)
    if "generated_text" not in recorded:
        raise CannotRestore("an unstreamed answer is asked for, and none was recorded")
    if "details" in recorded:
        return _restored(lambda: _type("TextGenerationOutput").parse_obj_as_instance(recorded), call)
    return _restored(lambda: recorded["generated_text"], call)


def _text_piece(chunk: JsonValue) -> object:
    return chunk if isinstance(chunk, str) else _type("TextGenerationStreamOutput").parse_obj_as_instance(chunk)


def _text_with_message(_raw: object, message: str | JsonMapping, call: MethodCall) -> Json:
    text = message if isinstance(message, str) else message.get("content")
    if not isinstance(text, str):
        raise CannotRestore("this answer is a text, and the message for it has none: give the outcome as a text")
    has_details = bool(call.kwargs.get("details"))
    if _is_streamed(call):
        token: Json = {"id": 0, "text": text, "logprob": 0.0, "special": False}
        return {"stream": [{"index": 1, "token": token, "generated_text": text} if has_details else text]}
    return {"generated_text": text, "details": None} if has_details else {"generated_text": text}


def _text_with_edit(call: MethodCall, messages: list[JsonValue] | None, _system: str | None) -> MethodCall | None:
    if messages is None:
        return call
    prompt = value_at(messages[0], "content") if len(messages) == 1 else None
    if not isinstance(prompt, str):
        return None
    changed = {**call.arguments("prompt"), "prompt": prompt}
    return MethodCall(call.client, call.method, (), changed, call.is_async)


_TEXT = ClientApi(
    read_request=_read_text_request,
    is_streamed=_is_streamed,
    read_response=_read_text,
    assemble=lambda chunks, run, call: _read_recorded_text({"stream": chunks}) if chunks else None,
    read_recorded=_read_recorded_text,
    restore=_restore_text,
    with_message=_text_with_message,
    with_edit=_text_with_edit,
    keep_chunk=_received,
)


# --- embeddings -------------------------------------------------------------------------------------------------------


def _read_features_request(call: MethodCall) -> ObservedRequest:
    arguments = call.arguments("text")
    settings, attributes = _settings_of(arguments, "text")
    return ObservedRequest.of_embeddings(
        _PROVIDER, _model_of(call, arguments), arguments.get("text"), settings=settings, attributes=attributes
    )


def _dump_features(answer: Any) -> Json | None:
    """The answer is an array of 32-bit floats: a vector, one for each text, or one for each token of each text."""
    return {"features": answer.tolist()} if hasattr(answer, "tolist") else None


def _with_vectors(answer: Json, change: ChangeVector) -> Json:
    return {**answer, "features": _changed(answer.get("features"), change)}


def _changed(value: JsonValue, change: ChangeVector) -> JsonValue:
    """Applies the function to the innermost lists, and to what they became."""
    if isinstance(value, list) and value and isinstance(value[0], list | dict):
        return [_changed(item, change) for item in value]
    return change(value)


def _restore_features(raw: Json, call: MethodCall, _ending: BaseException | None) -> object:
    return _restored(lambda: import_module("numpy").array(raw["features"], dtype="float32"), call)


_FEATURES = embeddings_api(
    read_request=_read_features_request,
    dump=_dump_features,
    attributes=lambda raw: {},
    with_vectors=_with_vectors,
    restore=_restore_features,
)


# --- what is wrapped --------------------------------------------------------------------------------------------------


class _PreparedRequest(Protocol):
    json: object
    """The body, if it is sent as JSON."""


def _note_body(function: Callable[..., Any], call: MethodCall) -> object:
    """`prepare_request` builds what is sent."""
    prepared: _PreparedRequest = call.make(function)
    note_sent_body(lambda: prepared.json if is_object(prepared.json) else None)
    return prepared


def _wraps() -> Iterator[Wrap]:
    clients = (
        ("huggingface_hub.inference._client", "InferenceClient", recording_method),
        ("huggingface_hub.inference._generated._async_client", "AsyncInferenceClient", recording_method_async),
    )
    apis = {"chat_completion": _CHAT, "text_generation": _TEXT, "feature_extraction": _FEATURES}
    for (module, client, recording), (method, api) in product(clients, apis.items()):
        yield Wrap(module, f"{client}.{method}", recording(api))
    yield Wrap(
        "huggingface_hub.inference._providers._common", "TaskProviderHelper.prepare_request", intercepted(_note_body)
    )


_huggingface_hub = Instrumentation(_wraps())
patch, unpatch = _huggingface_hub.patch, _huggingface_hub.unpatch
HuggingFaceHubInstrumentor = instrumentor("HuggingFaceHubInstrumentor", SUPPORTS, patch, unpatch)

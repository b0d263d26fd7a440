"""Completions of LiteLLM: reads requests and answers, and rebuilds recorded answers and streams. Messages and answers
have the form of OpenAI's Chat Completions.
"""

from collections.abc import AsyncIterator, Callable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from playhead.calls.run import ActiveRun
from playhead.capture.client_methods import ClientApi
from playhead.capture.litellm.arguments import (
    KEY,
    answering_provider,
    asked_provider,
    hidden_params_of,
    named_arguments,
    restore_hidden_params,
    settings_of,
)
from playhead.capture.model_call import ObservedModelCall, ObservedRequest, ObservedResponse
from playhead.capture.openai import chat
from playhead.capture.openai.chat import copy_of_chunk, with_message
from playhead.capture.restoring import as_awaitable, kept_answer
from playhead.capture.stainless import as_list, usage_of
from playhead.capture.streams import ObservedAsyncStream, ObservedStream, StreamRecording
from playhead.capture.wrapping import MethodCall
from playhead.dialect import openai_chat as dialect
from playhead.errors import CannotRestore
from playhead.model import names
from playhead.model.json_value import Json, JsonMapping, JsonValue, object_at, objects_at
from playhead.model.message import Message

# --- requests and answers ---------------------------------------------------------------------------------------------

_NOT_SETTINGS = frozenset({"messages", "tools"})
_REQUEST_ATTRIBUTES = {
    "temperature": names.REQUEST_TEMPERATURE,
    "top_p": names.REQUEST_TOP_P,
    "max_tokens": names.REQUEST_MAX_TOKENS,
    "max_completion_tokens": names.REQUEST_MAX_TOKENS,
    "seed": names.REQUEST_SEED,
    "stream": names.REQUEST_STREAM,
    "n": names.REQUEST_CHOICES,
}
_USAGE = (
    ("prompt_tokens_details", "cached_tokens", names.CACHE_READ_TOKENS),
    ("completion_tokens_details", "reasoning_tokens", names.REASONING_TOKENS),
    ("", "cache_read_input_tokens", names.CACHE_READ_TOKENS),
    ("", "cache_creation_input_tokens", names.CACHE_WRITE_TOKENS),
)
# Keys that LiteLLM adds to a provider's message; `_cleaned` removes them, and null values.
_ADDED = frozenset({"provider_specific_fields", "annotations"})


def _read_request(call: MethodCall) -> ObservedRequest:
    arguments = named_arguments(call)
    settings, attributes = settings_of(arguments, _NOT_SETTINGS, _REQUEST_ATTRIBUTES)
    if attributes.get(names.REQUEST_CHOICES) == 1:
        del attributes[names.REQUEST_CHOICES]
    return ObservedRequest(
        provider=asked_provider(arguments),
        operation="chat",
        model=str(arguments.get("model", "")),
        messages=[_as_dictionary(message) for message in arguments.get("messages") or ()],
        to_message=to_message,
        from_message=dialect.from_message,
        tools=as_list(arguments.get("tools")),
        settings=settings,
        attributes=attributes,
    )


def _as_dictionary(message: Any) -> object:
    """Returns a message as a dictionary.  Programs also pass the message objects that they received."""
    if not hasattr(message, "model_dump"):
        return message
    return _cleaned(message.model_dump(mode="json", warnings=False))


def to_message(native: JsonMapping) -> Message:
    """Returns the canonical message: the same for an object that the program received and for a dictionary made from
    it."""
    is_remarked = native.get("role") == "assistant" and not _ADDED.isdisjoint(native)
    return dialect.to_message(_cleaned(native) if is_remarked else native)


def _cleaned(message: JsonMapping) -> Json:
    return {key: value for key, value in message.items() if value is not None and key not in _ADDED}


def _read_response(answer: Any, _run: ActiveRun, _call: MethodCall) -> ObservedResponse | None:
    if not hasattr(answer, "choices"):
        return None
    return _read_recorded({**answer.model_dump(mode="json", warnings=False), KEY: hidden_params_of(answer)})


def _assemble(chunks: list[Any], _run: ActiveRun, _call: MethodCall) -> ObservedResponse | None:
    if not chunks:
        return None
    dumped: list[JsonValue] = [chunk.model_dump(mode="json", warnings=False) for chunk in chunks]
    return _read_recorded({"stream": dumped, KEY: hidden_params_of(chunks[-1])})


def _read_recorded(raw: Json, *_: object) -> ObservedResponse:
    read = chat.read_recorded(_in_openai_form(raw))
    attributes = {**read.attributes, **usage_of(_usage_in(raw), _USAGE)}
    if provider := answering_provider(raw):
        attributes[names.PROVIDER] = provider
    return ObservedResponse(read.messages, raw, read.reasoning, attributes)


def _in_openai_form(raw: Json) -> Json:
    """Returns the answer, or the stream of chunks, without LiteLLM's additions."""
    if "stream" in raw:
        return {"stream": [_choices_cleaned(chunk, "delta") for chunk in objects_at(raw, "stream")]}
    return _choices_cleaned(raw, "message")


def _choices_cleaned(answer: JsonMapping, key: str) -> Json:
    choices = objects_at(answer, "choices")
    return {**answer, "choices": [{**choice, key: _cleaned(object_at(choice, key))} for choice in choices]}


def _usage_in(raw: Json) -> Json:
    answers = objects_at(raw, "stream") if "stream" in raw else [raw]
    usages = [usage for answer in answers if (usage := object_at(answer, "usage"))]
    return usages[-1] if usages else {}


def _is_streamed(call: MethodCall) -> bool:
    return named_arguments(call).get("stream") is True


def _record_result(api: ClientApi, observed: ObservedModelCall, result: object, call: MethodCall) -> object:
    """Ends the call; a stream ends it later.  LiteLLM's streams can be read in both ways, so `call.is_async` decides
    which is recorded."""
    run = observed.span.run
    if hasattr(result, "choices") or not hasattr(type(result), "__next__"):
        observed.end(lambda: api.read_response(result, run, call))
        return result
    recording = StreamRecording(observed, lambda seen: api.assemble(seen, run, call), api.keep_chunk)
    return (ObservedAsyncStream if call.is_async else ObservedStream)(result, recording)


def _with_message(raw: object, message: str | JsonMapping, call: MethodCall) -> Json:
    model = str(named_arguments(call).get("model", ""))
    return with_message(raw, message, model=model, streamed=_is_streamed(call))


def _with_edit(call: MethodCall, messages: list[JsonValue] | None, system: str | None) -> MethodCall:
    if messages is None:
        return call
    changed = {**named_arguments(call), "messages": messages}
    return MethodCall(call.client, call.method, (), changed, call.is_async)


# --- recorded answers -------------------------------------------------------------------------------------------------


def restore(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    """Rebuilds what the function returned from `raw`, or an awaitable of it.  Raises CannotRestore."""
    recorded = kept_answer(raw)
    try:
        restored = _restored_stream(recorded, ending) if "stream" in recorded else _restored_answer(recorded)
    except Exception as error:
        raise CannotRestore(f"litellm cannot read the recorded answer ({type(error).__name__}: {error})") from error
    return as_awaitable(restored) if call.is_async else restored


def _restored_answer(recorded: Json) -> object:
    types = import_module("litellm.types.utils")
    # All answers of the library have a usage, also where the text is that of a fork.
    fields = {"usage": types.Usage(), **{key: value for key, value in recorded.items() if key != KEY}}
    return restore_hidden_params(types.ModelResponse(**fields), recorded)


def _restored_stream(recorded: Json, ending: BaseException | None) -> object:
    kind: Callable[..., object] = import_module("litellm.types.utils").ModelResponseStream
    chunks = [restore_hidden_params(kind(**chunk), recorded) for chunk in objects_at(recorded, "stream")]
    return _recorded_stream_class()(chunks, object_at(recorded, KEY), ending)


@cache
def _recorded_stream_class() -> Callable[[list[object], Json, BaseException | None], object]:
    """Returns a subclass of the library's class of streams that yields recorded chunks."""
    stream_class: Any = import_module("litellm").CustomStreamWrapper

    class RecordedStream(stream_class):
        """A stream without a provider, which the `__init__` of the library's class requires."""

        def __init__(self, chunks: list[object], hidden: Json, ending: BaseException | None):
            self._recorded = iter(chunks)
            self._ending = ending
            self._hidden_params = dict(hidden)
            self.model = getattr(chunks[0], "model", None) if chunks else None
            self.custom_llm_provider = hidden.get("custom_llm_provider")
            self.completion_stream = None
            self.messages = None
            self.chunks: list[object] = []

        def __iter__(self) -> Iterator[object]:
            return self

        def __aiter__(self) -> AsyncIterator[object]:
            return self

        def __next__(self) -> object:
            for chunk in self._recorded:
                self.chunks.append(chunk)
                return chunk
            ending, self._ending = self._ending, None
            raise StopIteration if ending is None else ending

        async def __anext__(self) -> object:
            try:
                return self.__next__()
            except StopIteration:
                raise StopAsyncIteration from None

        async def aclose(self) -> None:
            """Does nothing: no connection is open."""

    return RecordedStream


# --- the API ----------------------------------------------------------------------------------------------------------

COMPLETION = ClientApi(
    read_request=_read_request,
    is_streamed=_is_streamed,
    read_response=_read_response,
    assemble=_assemble,
    read_recorded=_read_recorded,
    restore=restore,
    with_message=_with_message,
    with_edit=_with_edit,
    end_with_result=_record_result,
    keep_chunk=copy_of_chunk,
    one_shot=("messages", "tools"),
)

"""LangChain's `ChatMistralAI`: it sends requests with an HTTP client of its own, and is recorded like a client.

Its arguments are the body, and its result is the JSON of the answer, or an iterator of the JSON of chunks.
"""

import copy
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any

from playhead.capture import mistralai
from playhead.capture.client_methods import ClientApi, recording_method, recording_method_async
from playhead.capture.model_call import ObservedResponse
from playhead.capture.patching import Wrap
from playhead.capture.restoring import as_awaitable, kept_answer, recorded_chunks
from playhead.capture.wrapping import MethodCall
from playhead.errors import CannotRestore
from playhead.model.json_value import Json, JsonValue, object_of

_NOT_SENT = frozenset({"llm", "run_manager"})


def _body(call: MethodCall) -> Json:
    return {"stream": False} | {name: value for name, value in call.kwargs.items() if name not in _NOT_SENT}


def _is_streamed(call: MethodCall) -> bool:
    return bool(call.kwargs.get("stream"))


def _read_response(answer: object) -> ObservedResponse | None:
    body = object_of(answer)
    return mistralai.read_recorded(body) if "choices" in body else None


def _assemble(chunks: Sequence[JsonValue]) -> ObservedResponse | None:
    return mistralai.read_recorded({"stream": [*chunks]}) if chunks else None


def _restore(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    recorded = kept_answer(raw)
    if _is_streamed(call):
        chunks = recorded_chunks(recorded)
        return as_awaitable(_chunks_async(chunks, ending)) if call.is_async else _chunks(chunks, ending)
    if "stream" in recorded or not isinstance(raw, dict):
        raise CannotRestore("an unstreamed answer is asked for, and none was recorded")
    return as_awaitable(recorded) if call.is_async else recorded


def _chunks(chunks: Sequence[JsonValue], ending: BaseException | None) -> Iterator[JsonValue]:
    yield from chunks
    if ending is not None:
        raise ending


async def _chunks_async(chunks: Sequence[JsonValue], ending: BaseException | None) -> AsyncIterator[JsonValue]:
    for chunk in _chunks(chunks, ending):
        yield chunk


def _with_edit(call: MethodCall, messages: list[JsonValue] | None) -> MethodCall:
    return call if messages is None else call.with_kwargs({**call.kwargs, "messages": messages})


def _copied(chunk: Any) -> Any:
    return copy.deepcopy(chunk)


_API = ClientApi(
    read_request=lambda call: mistralai.request_of(_body(call)),
    is_streamed=_is_streamed,
    read_response=lambda answer, run, call: _read_response(answer),
    assemble=lambda chunks, run, call: _assemble(chunks),
    read_recorded=lambda raw, run, call: mistralai.read_recorded(raw),
    restore=_restore,
    with_message=lambda raw, message, call: mistralai.with_message(raw, message, _body(call)),
    with_edit=lambda call, messages, system: _with_edit(call, messages),
    keep_chunk=_copied,  # LangChain numbers the elements of a content in place
)
_MODULE = "langchain_mistralai.chat_models"
MISTRAL = (
    Wrap(_MODULE, "ChatMistralAI.completion_with_retry", recording_method(_API)),
    Wrap(_MODULE, "acompletion_with_retry", recording_method_async(_API)),
)

"""The `openai` library: Chat Completions, Responses with `compact()`, and embeddings; plain, asynchronous, streamed,
`parse()`, raw.

The client's own retries happen inside the wrapped method, so they are one call here. Realtime sessions and Responses
over a WebSocket (`connect()`) are not recorded: they have no requests and answers that could be replayed.
"""

import importlib
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import product

from playhead.capture.client_methods import ClientApi, recording_method, recording_method_async
from playhead.capture.openai import responses
from playhead.capture.openai.chat import (
    assemble,
    copy_of_chunk,
    read_recorded,
    read_request,
    read_response,
    with_message,
)
from playhead.capture.openai.compaction import COMPACTION
from playhead.capture.openai.embeddings import EMBEDDINGS
from playhead.capture.openai.replay import restore
from playhead.capture.openai.responses import RETRIEVAL
from playhead.capture.patching import Instrumentation, Wrap, instrumentor
from playhead.capture.stainless import end_with_result
from playhead.capture.wrapping import MethodCall
from playhead.model.json_value import Json, JsonMapping, JsonValue

SUPPORTS = "openai >= 1.60"


@dataclass(frozen=True, slots=True)
class _Methods:
    """Where the methods of one API are: modules, and the class of the plain and of the asynchronous client."""

    api: ClientApi
    modules: tuple[str, ...]
    classes: tuple[str, str]
    methods: tuple[str, ...] = ("create", "parse")


def _is_streamed(call: MethodCall) -> bool:
    return bool(call.kwargs.get("stream"))


def _restore(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    return restore(raw, call.kwargs, call.client, method=call.method, is_async=call.is_async, ending=ending)


def _changed(with_message: Callable[..., Json]) -> Callable[[object, str | JsonMapping, MethodCall], Json]:
    def changed(raw: object, message: str | JsonMapping, call: MethodCall) -> Json:
        model, streamed = str(call.kwargs.get("model", "")), call.kwargs.get("stream") is True
        return with_message(raw, message, model=model, streamed=streamed)

    return changed


def _chat_with_edit(call: MethodCall, messages: list[JsonValue] | None, system: str | None) -> MethodCall:
    return call if messages is None else call.with_kwargs({**call.kwargs, "messages": messages})


def _responses_with_edit(call: MethodCall, messages: list[JsonValue] | None, system: str | None) -> MethodCall | None:
    kwargs = responses.with_edit(call.kwargs, messages, system)
    return None if kwargs is None else call.with_kwargs(kwargs)


_CHAT = _Methods(
    ClientApi(
        read_request=lambda call: read_request(call.client, call.kwargs, call.method),
        is_streamed=_is_streamed,
        read_response=lambda response, run, call: read_response(response),
        assemble=lambda chunks, run, call: assemble(chunks),
        read_recorded=lambda raw, run, call: read_recorded(raw),
        restore=_restore,
        with_message=_changed(with_message),
        with_edit=_chat_with_edit,
        end_with_result=end_with_result,
        keep_chunk=copy_of_chunk,
        one_shot=("messages", "tools"),
    ),
    modules=(
        "openai.resources.chat.completions",
        "openai.resources.beta.chat.completions",  # where `parse` is before openai 1.92
    ),
    classes=("Completions", "AsyncCompletions"),
)
_RESPONSES = _Methods(
    ClientApi(
        read_request=lambda call: responses.read_request(call.client, call.kwargs, call.method),
        is_streamed=_is_streamed,
        read_response=lambda response, run, call: responses.read_response(response, run, call.kwargs),
        assemble=lambda events, run, call: responses.assemble(events, run, call.kwargs),
        read_recorded=lambda raw, run, call: responses.read_recorded(raw, run, call.kwargs),
        restore=_restore,
        with_message=_changed(responses.with_message),
        with_edit=_responses_with_edit,
        end_with_result=end_with_result,
        keep_chunk=responses.copy_of_event,
        one_shot=("input", "tools"),
    ),
    modules=("openai.resources.responses",),  # since openai 1.66
    classes=("Responses", "AsyncResponses"),
)
_RETRIEVAL = _Methods(RETRIEVAL, _RESPONSES.modules, _RESPONSES.classes, methods=("retrieve",))
_COMPACTION = _Methods(COMPACTION, _RESPONSES.modules, _RESPONSES.classes, methods=("compact",))
_EMBEDDINGS = _Methods(EMBEDDINGS, modules=("openai.resources.embeddings",), classes=("Embeddings", "AsyncEmbeddings"))


def patch() -> None:
    """Wraps the client's methods.  A second time changes nothing.

    Does not import the library, so that a program that does not use it starts without it.
    """
    if "openai" in sys.modules:  # import now, since the client imports them only in the program's first call
        for module in _openai.modules:
            with suppress(ModuleNotFoundError):
                importlib.import_module(module)
    _openai.patch()


def unpatch() -> None:
    """Stops recording, and removes our wrappers. A wrapper beneath another one stays, and passes calls through."""
    _openai.unpatch()


def _wraps() -> Iterator[Wrap]:
    """Yields the methods with their wrappers; not every version of the library has all of them."""
    for methods in (_CHAT, _RESPONSES, _RETRIEVAL, _COMPACTION, _EMBEDDINGS):
        plain, asynchronous = methods.classes
        wrappers = {plain: recording_method(methods.api), asynchronous: recording_method_async(methods.api)}
        for module, owner, method in product(methods.modules, methods.classes, methods.methods):
            yield Wrap(module, f"{owner}.{method}", wrappers[owner], is_optional=True)


_openai = Instrumentation(_wraps())
OpenAIInstrumentor = instrumentor("OpenAIInstrumentor", SUPPORTS, patch, unpatch)

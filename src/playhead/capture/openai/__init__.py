"""The `openai` library: Chat Completions, Responses with `compact()`, text completions, and embeddings; plain,
asynchronous, streamed, `parse()`, raw.

The client's own retries happen inside the wrapped method, so they are one call here. Realtime sessions and Responses
over a WebSocket (`connect()`) are not recorded: they have no requests and answers that could be replayed.
"""

import importlib
import sys
from contextlib import suppress

from playhead.capture.client_methods import ClientApi
from playhead.capture.openai import responses
from playhead.capture.openai.chat import (
    assemble,
    copy_of_chunk,
    provider_of,
    read_recorded,
    read_request,
    read_response,
    with_message,
)
from playhead.capture.openai.compaction import COMPACTION
from playhead.capture.openai.compatible import is_streamed, with_message_of, with_messages
from playhead.capture.openai.completions import completions_api
from playhead.capture.openai.embeddings import embeddings_of
from playhead.capture.openai.methods import Methods, wraps
from playhead.capture.openai.replay import COMPLETION, EMBEDDING, restore
from playhead.capture.openai.responses import RETRIEVAL
from playhead.capture.patching import Instrumentation, instrumentor
from playhead.capture.stainless import end_with_result
from playhead.capture.wrapping import MethodCall
from playhead.model.json_value import JsonValue

SUPPORTS = "openai >= 1.60"


def _restore(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    return restore(raw, call.kwargs, call.client, method=call.method, is_async=call.is_async, ending=ending)


def _responses_with_edit(call: MethodCall, messages: list[JsonValue] | None, system: str | None) -> MethodCall | None:
    kwargs = responses.with_edit(call.kwargs, messages, system)
    return None if kwargs is None else call.with_kwargs(kwargs)


_CREATE_AND_PARSE = ("create", "parse")
_CHAT = Methods(
    ClientApi(
        read_request=lambda call: read_request(call.client, call.kwargs, call.method),
        is_streamed=is_streamed,
        read_response=lambda response, run, call: read_response(response),
        assemble=lambda chunks, run, call: assemble(chunks),
        read_recorded=lambda raw, run, call: read_recorded(raw),
        restore=_restore,
        with_message=with_message_of(with_message),
        with_edit=with_messages,
        end_with_result=end_with_result,
        keep_chunk=copy_of_chunk,
        one_shot=("messages", "tools"),
    ),
    modules=(
        "openai.resources.chat.completions",
        "openai.resources.beta.chat.completions",  # where `parse` is before openai 1.92
    ),
    classes=("Completions", "AsyncCompletions"),
    methods=_CREATE_AND_PARSE,
)
_RESPONSES = Methods(
    ClientApi(
        read_request=lambda call: responses.read_request(call.client, call.kwargs, call.method),
        is_streamed=is_streamed,
        read_response=lambda response, run, call: responses.read_response(response, run, call.kwargs),
        assemble=lambda events, run, call: responses.assemble(events, run, call.kwargs),
        read_recorded=lambda raw, run, call: responses.read_recorded(raw, run, call.kwargs),
        restore=_restore,
        with_message=with_message_of(responses.with_message),
        with_edit=_responses_with_edit,
        end_with_result=end_with_result,
        keep_chunk=responses.copy_of_event,
        one_shot=("input", "tools"),
    ),
    modules=("openai.resources.responses",),  # since openai 1.66
    classes=("Responses", "AsyncResponses"),
    methods=_CREATE_AND_PARSE,
)
_RETRIEVAL = Methods(RETRIEVAL, _RESPONSES.modules, _RESPONSES.classes, methods=("retrieve",))
_COMPACTION = Methods(COMPACTION, _RESPONSES.modules, _RESPONSES.classes, methods=("compact",))
_COMPLETIONS = Methods(
    completions_api(provider_of, COMPLETION),
    modules=("openai.resources.completions",),
    classes=("Completions", "AsyncCompletions"),
)
_EMBEDDINGS = Methods(
    embeddings_of(provider_of, EMBEDDING),
    modules=("openai.resources.embeddings",),
    classes=("Embeddings", "AsyncEmbeddings"),
)


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


_openai = Instrumentation(wraps((_CHAT, _RESPONSES, _RETRIEVAL, _COMPACTION, _COMPLETIONS, _EMBEDDINGS)))
OpenAIInstrumentor = instrumentor("OpenAIInstrumentor", SUPPORTS, patch, unpatch)

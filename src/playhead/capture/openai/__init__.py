"""The `openai` library: Chat Completions and Responses, synchronous, asynchronous, streamed, `parse()`, raw responses.

The client's own retries happen inside the wrapped method, so they are one call here.
"""

import importlib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import isawaitable
from itertools import product
from typing import Any, cast

from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from playhead.api.guard import swallowed
from playhead.api.replaying import ResponseRestorer
from playhead.api.run import ActiveRun
from playhead.capture.model_call import ObservedModelCall, ResponseReplayer
from playhead.capture.model_values import ModelRequest, ModelResponse
from playhead.capture.openai import responses_outcome, responses_reading
from playhead.capture.openai.chat_outcome import with_message
from playhead.capture.openai.chat_reading import assemble, read_recorded, read_request, read_response
from playhead.capture.openai.replay import restore
from playhead.capture.patching import Instrumentation, Wrap
from playhead.capture.streams import ObservedOpenResponse, ObservedRawResponse, StreamRecording, observed_stream
from playhead.model.objects.interrupts import let_through

SUPPORTS = "openai >= 1.60"

_RAW_HEADER = "X-Stainless-Raw-Response"
_Arguments = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class _Api:
    """One of the library's APIs: where it is, and what is made of its requests and answers.

    `lists` are the arguments that may be one-shot iterators; `read_request` gets the method's name, too.
    """

    modules: tuple[str, ...]
    classes: tuple[str, str]
    lists: tuple[str, str]
    read_request: Callable[[Any, _Arguments, str], ModelRequest]
    read_response: Callable[[Any, ActiveRun, _Arguments], ModelResponse | None]
    assemble: Callable[[list[Any], ActiveRun, _Arguments], ModelResponse | None]
    read_recorded: Callable[[Any, ActiveRun, _Arguments], ModelResponse | None]
    with_message: Callable[..., Any]
    with_edit: Callable[[_Arguments, list[Any] | None, str | None], dict[str, Any] | None]
    """The arguments with other messages, and another prompt apart from them; None: that cannot be."""


_CHAT = _Api(
    modules=(
        "openai.resources.chat.completions",
        "openai.resources.beta.chat.completions",  # where `parse` is before openai 1.92
    ),
    classes=("Completions", "AsyncCompletions"),
    lists=("messages", "tools"),
    read_request=read_request,
    read_response=read_response,
    assemble=lambda chunks, run, kwargs: assemble(chunks),
    read_recorded=lambda raw, run, kwargs: read_recorded(raw),
    with_message=with_message,
    with_edit=lambda kwargs, messages, _: {**kwargs, "messages": kwargs["messages"] if messages is None else messages},
)
_RESPONSES = _Api(
    modules=("openai.resources.responses",),  # since openai 1.66
    classes=("Responses", "AsyncResponses"),
    lists=("input", "tools"),
    read_request=responses_reading.read_request,
    read_response=responses_reading.read_response,
    assemble=responses_reading.assemble,
    read_recorded=responses_reading.read_recorded,
    with_message=responses_outcome.with_message,
    with_edit=responses_reading.with_edit,
)


class OpenAIInstrumentor(BaseInstrumentor):
    """For `opentelemetry-instrument`, and for programs that use OpenTelemetry's instrumentors."""

    def instrumentation_dependencies(self) -> Collection[str]:
        """What has to be installed."""
        return (SUPPORTS,)

    def _instrument(self, **kwargs: Any) -> None:
        patch()

    def _uninstrument(self, **kwargs: Any) -> None:
        unpatch()


def patch() -> None:
    """Wraps the client's methods.  A second time changes nothing."""
    # The client looks whether `httpx` is loaded, and breaks on one that is still being imported: see `recording`.
    import httpx  # noqa: F401, PLC0415 # pyright: ignore[reportUnusedImport]

    # Now, since the client imports them within the program's first call.
    for module in _openai.modules:
        with suppress(ModuleNotFoundError):
            importlib.import_module(module)
    _openai.patch()


def unpatch() -> None:
    """Stops recording, and removes our wrappers. A wrapper beneath another one stays and does nothing."""
    _openai.unpatch()


def _observing(api: _Api) -> Callable[..., Any]:
    def call(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kwargs = _with_lists(api, kwargs)
        call = ObservedModelCall.start(
            lambda: api.read_request(instance, kwargs, wrapped.__name__),
            lambda run: _recorded(api, run, wrapped.__name__, instance, kwargs, is_async=False),
        )
        if call is None:
            return wrapped(*args, **kwargs)
        if call.answer is not None:
            return call.unwrap(call.answer)
        kwargs = call.edited or kwargs
        try:
            result = wrapped(*args, **kwargs)
            return _finish_or_record_stream(api, call, result, kwargs)
        except BaseException as error:
            call.fail(error)
            raise

    return call


def _observing_async(api: _Api) -> Callable[..., Any]:
    async def call(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kwargs = _with_lists(api, kwargs)
        call = ObservedModelCall.start(
            lambda: api.read_request(instance, kwargs, wrapped.__name__),
            lambda run: _recorded(api, run, wrapped.__name__, instance, kwargs, is_async=True),
        )
        if call is None:
            return await wrapped(*args, **kwargs)
        if call.answer is not None:
            given = call.unwrap(call.answer)
            return await given if isawaitable(given) else given
        kwargs = call.edited or kwargs
        try:
            result = await wrapped(*args, **kwargs)
            return _finish_or_record_stream(api, call, result, kwargs)
        except BaseException as error:
            call.fail(error)
            raise

    return call


def _recorded(
    api: _Api, run: ActiveRun, method: str, instance: Any, kwargs: _Arguments, *, is_async: bool
) -> ResponseReplayer:
    """For a resumed or forked run: turns a recorded answer to this call into the client's objects."""

    def response(raw: Any, ending: BaseException | None) -> Any:
        return restore(raw, kwargs, instance, method=method, is_async=is_async, ending=ending)

    def changed(raw: Any, message: Any) -> Any:
        model, streamed = str(kwargs.get("model", "")), kwargs.get("stream") is True
        return api.with_message(raw, message, model=model, streamed=streamed)

    def asking(messages: list[Any] | None, system: str | None) -> dict[str, Any] | None:
        return api.with_edit(kwargs, messages, system)

    return ResponseReplayer(
        ResponseRestorer(response, changed), lambda raw: api.read_recorded(raw, run, kwargs), asking
    )


def _finish_or_record_stream(api: _Api, call: ObservedModelCall, result: Any, kwargs: _Arguments) -> Any:
    """Ends the call; if the result is a stream, the stream ends it later."""
    try:
        raw, run = _raw_mode(kwargs), call.span.run
        if kwargs.get("stream"):
            watch = StreamRecording(call, lambda seen: api.assemble(seen, run, kwargs))
            if raw is None:
                return observed_stream(result, watch)
            return (ObservedOpenResponse if raw == "stream" else ObservedRawResponse)(result, watch)
        if raw == "stream":  # the caller reads the body; reading it here would take it away
            watch = StreamRecording(call, lambda seen: api.read_response(seen[0], run, kwargs) if seen else None)
            return ObservedOpenResponse(result, watch, streamed=False)
        response = result if raw is None else result.parse()
        call.end(lambda: api.read_response(response, run, kwargs))
    except BaseException as error:  # noqa: BLE001 - the guard
        let_through(error)
        swallowed("record a model's answer", error)
        call.end(lambda: None)
    return result


def _with_lists(api: _Api, kwargs: dict[str, Any]) -> dict[str, Any]:
    """Replaces one-shot iterators among the arguments by lists, since both we and the client read them."""
    messages, tools = api.lists
    if type(kwargs.get(messages)) is list and type(kwargs.get(tools, [])) is list:
        return kwargs
    changed = {
        name: list(cast(Iterable[Any], value))
        for name in api.lists
        if (value := kwargs.get(name)) is not None and _is_one_shot(value)
    }
    return {**kwargs, **changed} if changed else kwargs


def _is_one_shot(value: Any) -> bool:
    return not isinstance(value, Sequence) and hasattr(value, "__next__")


def _raw_mode(kwargs: Mapping[str, Any]) -> str | None:
    headers = kwargs.get("extra_headers")
    return cast(Mapping[str, str], headers).get(_RAW_HEADER) if headers else None


def _wraps() -> Iterator[Wrap]:
    """Which methods have which wrapper; not every version of the library has all of them."""
    for api in (_CHAT, _RESPONSES):
        plain, asynchronous = api.classes
        wrappers = {plain: _observing(api), asynchronous: _observing_async(api)}
        for module, owner, method in product(api.modules, api.classes, ("create", "parse")):
            yield Wrap(module, f"{owner}.{method}", wrappers[owner], is_optional=True)


_openai = Instrumentation(_wraps())

"""The `openai` library: Chat Completions, synchronous, asynchronous, streamed, `parse()`, raw responses.

The client's own retries happen inside the wrapped method, so they are one call here.
"""

import importlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from inspect import isawaitable
from typing import Any, cast

import wrapt
from opentelemetry.instrumentation.instrumentor import BaseInstrumentor

from playhead.api.guard import swallowed
from playhead.api.replaying import Restore
from playhead.capture.model_call import ModelCall, RecordedAnswers
from playhead.capture.openai_outcome import with_message
from playhead.capture.openai_reading import assemble, read_recorded, read_request, read_response
from playhead.capture.openai_replay import restore
from playhead.capture.streams import ObservedRawResponse, Watch, observed_stream

SUPPORTS = "openai >= 1.60"

_MODULES = (
    "openai.resources.chat.completions",
    "openai.resources.beta.chat.completions",  # where `parse` is before openai 1.92
)
_CLASSES = ("Completions", "AsyncCompletions")
_METHODS = ("create", "parse")
_RAW_HEADER = "X-Stainless-Raw-Response"


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
    # The client looks whether `httpx` is loaded, and breaks on one that is still being imported: see `configure`.
    import httpx  # noqa: F401, PLC0415 # pyright: ignore[reportUnusedImport]

    _Switch.on = True
    for owner, method, found in _targets():
        if not _is_wrapped(found):
            setattr(owner, method, _Wrapped(found, _call_async if owner.__name__.startswith("Async") else _call))


def unpatch() -> None:
    """Leaves the client as it was; beneath another's wrapper, ours stays and does nothing."""
    _Switch.on = False
    for owner, method, found in _targets():
        if type(found) is _Wrapped:
            setattr(owner, method, cast(Any, found).__wrapped__)


def _targets() -> Iterator[tuple[Any, str, Any]]:
    """Class, name of a method, and the method: those that this version of the library has."""
    for name in _MODULES:
        try:
            module = importlib.import_module(name)
        except ModuleNotFoundError:
            continue
        for owner in (getattr(module, class_name, None) for class_name in _CLASSES):
            own = cast(dict[str, Any], vars(owner)) if owner is not None else {}
            for method in _METHODS:
                if method in own:
                    yield owner, method, own[method]


class _Switch:
    """Whether calls are observed."""

    on = False


class _Wrapped(wrapt.FunctionWrapper):  # pyright: ignore[reportMissingTypeArgument]
    """Tells our wrapper from another's."""


def _is_wrapped(method: Any) -> bool:
    while method is not None:
        if type(method) is _Wrapped:
            return True
        method = getattr(method, "__wrapped__", None)
    return False


def _call(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not _Switch.on:
        return wrapped(*args, **kwargs)
    kwargs = _listed(kwargs)
    call = ModelCall.start(
        lambda: read_request(instance, kwargs),
        lambda: _recorded(wrapped.__name__, instance, kwargs, is_async=False),
    )
    if call is None:
        return wrapped(*args, **kwargs)
    if call.answer is not None:
        return call.give(call.answer)
    try:
        result = wrapped(*args, **kwargs)
    except BaseException as error:
        call.fail(error)
        raise
    return _pass_on(call, result, kwargs)


async def _call_async(wrapped: Any, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not _Switch.on:
        return await wrapped(*args, **kwargs)
    kwargs = _listed(kwargs)
    call = ModelCall.start(
        lambda: read_request(instance, kwargs),
        lambda: _recorded(wrapped.__name__, instance, kwargs, is_async=True),
    )
    if call is None:
        return await wrapped(*args, **kwargs)
    if call.answer is not None:
        given = call.give(call.answer)
        return await given if isawaitable(given) else given
    try:
        result = await wrapped(*args, **kwargs)
    except BaseException as error:
        call.fail(error)
        raise
    return _pass_on(call, result, kwargs)


def _recorded(method: str, instance: Any, kwargs: Mapping[str, Any], *, is_async: bool) -> RecordedAnswers:
    """For a run that goes on from a record: what to make of a recorded answer to this call."""

    def response(raw: Any, ending: BaseException | None) -> Any:
        return restore(raw, kwargs, instance, method=method, is_async=is_async, ending=ending)

    def changed(raw: Any, message: Any) -> Any:
        model, streamed = str(kwargs.get("model", "")), kwargs.get("stream") is True
        return with_message(raw, message, model=model, streamed=streamed)

    return RecordedAnswers(Restore(response, changed), read_recorded)


def _pass_on(call: ModelCall, result: Any, kwargs: Mapping[str, Any]) -> Any:
    """Ends the call, or leaves that to the stream that it returns."""
    try:
        raw = _raw_mode(kwargs)
        streamed = bool(kwargs.get("stream"))
        if raw is None and streamed:
            return observed_stream(result, Watch(call, assemble))
        if raw == "stream":  # the caller reads the body; reading it here would take it away
            call.end(lambda: None)
        elif streamed:
            return ObservedRawResponse(result, Watch(call, assemble))
        else:
            response = result if raw is None else result.parse()
            call.end(lambda: read_response(response))
    except Exception as error:  # noqa: BLE001 - the guard
        swallowed("record a model's answer", error)
        call.end(lambda: None)
    return result


def _listed(kwargs: dict[str, Any]) -> dict[str, Any]:
    """A one-shot iterator may be read once, and the client has to: turn it into a list for both."""
    if type(kwargs.get("messages")) is list and type(kwargs.get("tools", [])) is list:
        return kwargs
    changed = {
        name: list(cast(Iterable[Any], value))
        for name in ("messages", "tools")
        if (value := kwargs.get(name)) is not None and _is_one_shot(value)
    }
    return {**kwargs, **changed} if changed else kwargs


def _is_one_shot(value: Any) -> bool:
    return not isinstance(value, Sequence) and hasattr(value, "__next__")


def _raw_mode(kwargs: Mapping[str, Any]) -> str | None:
    headers = kwargs.get("extra_headers")
    return cast(Mapping[str, str], headers).get(_RAW_HEADER) if headers else None

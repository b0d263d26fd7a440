"""Restores a recorded response of a generated client as the object that the live call returned.

The client's own method runs, on a copy of the client whose requests are answered from the record.  So parsing,
streaming and raw responses are the library's, whatever its version, and nothing leaves the process: neither the request
nor a request for credentials.
"""

import copy
import inspect
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from sys import modules
from types import MappingProxyType
from typing import Any, cast

import wrapt

from playhead.errors import CannotRestore
from playhead.model.canonical import canonical_json


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """Describes the answers of one of a client's APIs."""

    library: str
    """The package, as it is imported."""
    key: str
    """A key that all unstreamed answers have."""
    module: str
    kind: str
    """The class of answers, and the module that has it."""
    names_events: bool
    """Whether a stream has each event's type in a line of its own (`event: ...`)."""
    last_event: bytes = b""
    """Ends a stream."""
    request_id: str = "x-request-id"
    """The header whose value is an answer's `_request_id`."""


def restore(
    raw: Any,
    form: AnswerForm,
    kwargs: Mapping[str, Any],
    client: Any,
    *,
    method: str,
    streamed: bool,
    is_async: bool,
    headers: Mapping[str, str] = MappingProxyType({}),
    ending: BaseException | None = None,
) -> Any:
    """Rebuilds what `client.method(**kwargs)` returned from `raw`; returns an awaitable of it if `is_async`.

    `client` is the resource, as instrumentation sees it: `OpenAI().chat.completions`.  `headers` are the kept headers
    of the live response; `ending` is the error that a stream raised after its last recorded chunk.  Raises
    CannotRestore, at once or when awaited.
    """
    _check(raw, form, streamed=streamed)
    if (
        not streamed
        and method == "create"
        and (made := _built_directly(raw, form, kwargs, client, headers)) is not None
    ):
        return _as_awaitable(made) if is_async else made
    if streamed:
        events = _async_events if is_async else _events
        headers = {"content-type": "text/event-stream; charset=utf-8", **headers}
        answer = _RecordedHttpAnswer(lambda: events(raw["stream"], form, ending), headers, is_async=is_async)
    else:
        headers = {"content-type": "application/json", **headers}
        answer = _RecordedHttpAnswer(lambda: canonical_json(raw), headers, is_async=is_async)
    call = partial(_method(form, client, method), _answered_by(answer, client), **kwargs)
    return _await_and_check(form, call, answer) if is_async else _call_and_check(form, call, answer)


def _built_directly(
    raw: Any, form: AnswerForm, kwargs: Mapping[str, Any], resource: Any, headers: Mapping[str, str]
) -> Any:
    """Builds the client's object for an unstreamed response directly, without a request; None if only the client's own
    method can do it."""
    client = resource._client
    is_own = type(client).__module__.partition(".")[0] == form.library  # a subclass may do anything with an answer
    if not is_own or kwargs.get("extra_headers") or client._strict_response_validation:
        return None
    try:
        kind = getattr(modules[form.module], form.kind)
        made: Any = modules[f"{form.library}._models"].construct_type(type_=kind, value=raw)
        made._request_id = headers.get(form.request_id)
        return made
    except Exception:  # noqa: BLE001 - a version that is different inside: its own way is always right
        return None


def _check(raw: Any, form: AnswerForm, *, streamed: bool) -> None:
    recorded = cast("dict[str, Any]", raw if isinstance(raw, dict) else {})
    if isinstance(recorded.get("$playhead"), str):  # a marker in the place of content that was not kept
        raise CannotRestore(f"the model's answer was not kept ({recorded['$playhead']}); fork the run before this call")
    if streamed and not isinstance(recorded.get("stream"), list):
        raise CannotRestore("a stream is asked for, and none was recorded")
    if not streamed and form.key not in recorded:
        raise CannotRestore("an unstreamed answer is asked for, and none was recorded")


def _call_and_check(form: AnswerForm, call: Callable[[], Any], answer: "_RecordedHttpAnswer") -> Any:
    try:
        result = call()
    except Exception as error:
        raise _unreadable(form, error) from error
    answer.check()
    return result


async def _await_and_check(form: AnswerForm, call: Callable[[], Any], answer: "_RecordedHttpAnswer") -> Any:
    try:
        result = await call()
    except Exception as error:
        raise _unreadable(form, error) from error
    answer.check()
    return result


def _unreadable(form: AnswerForm, error: Exception) -> CannotRestore:
    return CannotRestore(f"{form.library} cannot read the recorded answer ({type(error).__name__}: {error})")


def _method(form: AnswerForm, resource: Any, name: str) -> Callable[..., Any]:
    """Returns the library's own function, without instrumentation of ours or others, which would record the replayed
    call as a live one.  Raises CannotRestore."""
    owner = cast(Any, type(resource))
    method: Any = inspect.getattr_static(owner, name, None)
    while isinstance(method, wrapt.FunctionWrapper | wrapt.BoundFunctionWrapper):
        method = cast(Any, method).__wrapped__
    if not callable(method):
        raise CannotRestore(f"this {form.library} has no {owner.__qualname__}.{name}; install the recorded version")
    return method


def _answered_by(answer: "_RecordedHttpAnswer", resource: Any) -> Any:
    """Returns a copy of the resource whose client gets this answer to any request."""
    client = copy.copy(resource._client)
    client._client = _ReplayedHttpClient(client._client, answer)
    # The replaced hooks fetch or check credentials, perhaps over the network; these may not exist any more.
    client._prepare_options = answer.unchanged
    client._prepare_request = answer.unchanged
    client._validate_headers = lambda *_, **__: None  # pyright: ignore[reportUnknownLambdaType]
    client._send_request = client._client.send
    client.max_retries = 0
    _without_additions(client)
    return type(resource)(client)


def _without_additions(client: Any) -> None:
    """Removes from the copy what some clients add around a request: middleware (its effect is in the recorded answer),
    the library's own spans, and decoders of other stream formats than the recorded one."""
    for name, value in (("_middleware", ()), ("_middleware_chain", None), ("_lazy_tracer", None)):
        if hasattr(client, name):
            setattr(client, name, value)
    streaming = modules.get(f"{type(client).__module__.partition('.')[0]}._streaming")
    decoder = getattr(streaming, "SSEDecoder", None)
    if decoder is not None:
        client._make_sse_decoder = decoder


class _RecordedHttpAnswer:
    """The recorded HTTP answer, and whether the client has read it."""

    def __init__(self, content: Callable[[], Any], headers: Mapping[str, str], *, is_async: bool):
        self._content = content
        self._headers = headers
        self._is_async = is_async
        self._taken = False

    def send(self, request: Any, **_: Any) -> Any:
        """Replaces the HTTP client's `send`."""
        self._taken = True
        # httpx or httpx2, whichever the client was made with.
        library: Any = modules[type(request).__module__.partition(".")[0]]
        response = library.Response(200, headers=self._headers, content=self._content(), request=request)
        response.elapsed = timedelta(0)
        return _as_awaitable(response) if self._is_async else response

    def unchanged(self, value: Any) -> Any:
        """Replaces a hook of the client that may change its argument."""
        return _as_awaitable(value) if self._is_async else value

    def check(self) -> None:
        """Raises CannotRestore if the client did not read this answer."""
        if not self._taken:
            raise CannotRestore("this client does not send its requests in a way that can be answered from the record")


class _ReplayedHttpClient(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """HTTP client that answers every request from the record and sends nothing."""

    def __init__(self, http: Any, answer: _RecordedHttpAnswer):
        super().__init__(http)  # pyright: ignore[reportUnknownMemberType]
        self._self_answer = answer

    def send(self, request: Any, **options: Any) -> Any:
        return self._self_answer.send(request, **options)


async def _as_awaitable(value: Any) -> Any:
    return value


def _events(chunks: Sequence[Any], form: AnswerForm, ending: BaseException | None) -> Iterator[bytes]:
    for chunk in chunks:
        name = cast(Mapping[str, Any], chunk).get("type") if form.names_events and isinstance(chunk, Mapping) else None
        yield (f"event: {name}\n".encode() if name else b"") + b"data: " + canonical_json(chunk) + b"\n\n"
    if ending is not None:
        raise ending
    yield form.last_event


async def _async_events(chunks: Sequence[Any], form: AnswerForm, ending: BaseException | None) -> AsyncIterator[bytes]:
    for event in _events(chunks, form, ending):
        yield event

"""What the clients share that Stainless generates (`openai`, `anthropic`): arguments and answers are read, results
recorded (answers, streams, and raw responses with either of them), and recorded answers given back.

A recorded answer is given back as the object that the live call returned: the client's own method runs, on a copy of
the client whose requests are answered from the record. So parsing, streaming and raw responses are the library's,
whatever its version, and nothing leaves the process: neither the request nor a request for credentials.
"""

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache, partial
from sys import modules
from types import MappingProxyType
from typing import Any, Protocol, TypeVar

import orjson
import wrapt

from playhead.capture.client_methods import ClientApi
from playhead.capture.model_call import ObservedModelCall
from playhead.capture.restoring import as_awaitable, kept_answer, recorded_chunks
from playhead.capture.streams import ObservedOpenResponse, ObservedRawResponse, StreamRecording, observed_stream
from playhead.capture.wrapping import MethodCall
from playhead.compat.stainless import constructed, is_strict, library_of, with_http_client
from playhead.errors import CannotRestore
from playhead.kernel.guard import guarded
from playhead.model.canonical import canonical_json
from playhead.model.json_value import Json, JsonMapping, JsonValue, mapping_of, value_at

T = TypeVar("T")

# --- arguments and answers --------------------------------------------------------------------------------------------

# Not part of the request's content; headers may hold secrets. (`settings_of` merges extra_body.)
TRANSPORT = frozenset({"extra_headers", "extra_query", "extra_body", "timeout"})
# The clients' types for arguments that are not given.
LEFT_OUT = frozenset({"Omit", "NotGiven"})
_PLAIN = frozenset({str, int, float, bool})
_CONTAINERS = frozenset({dict, list, tuple})
_MOST_LEVELS = 64  # of containers in a value that are looked into; the client's own types have a few


def as_list(tools: Any) -> Sequence[object] | None:
    """Returns tool definitions as a list; None if there are none, or if the client refuses the value's type."""
    items: Sequence[object] | None = tools
    if tools is None or type(tools) is list:  # as nearly always
        return sent_json(items)
    return sent_json([*(items or ())]) if isinstance(tools, Sequence) else None


def settings_of(
    kwargs: Mapping[str, object],
    elsewhere: Collection[str],
    attribute_names: Mapping[str, str],
    schema_of: Callable[[type], object],
) -> tuple[dict[str, object], dict[str, object]]:
    """Returns the request's other arguments as sent, and the attributes of those in `attribute_names` (argument →
    attribute).

    `extra_body` is merged in, as the client does it. Arguments in `elsewhere` are left out, except a null value of one
    that is not in TRANSPORT. `schema_of` returns the schema that is sent for a class.
    """
    settings: dict[str, object] = {}
    attributes: dict[str, object] = {}
    for name, value in kwargs.items():
        if name in elsewhere and (value is not None or name in TRANSPORT):
            continue
        if type(value) in _PLAIN:
            attribute = attribute_names.get(name)
            if attribute is not None:
                attributes[attribute] = value
        elif type(value).__name__ in LEFT_OUT:
            continue
        settings[name] = schema_of(value) if isinstance(value, type) else sent_json(value)
    extra = kwargs.get("extra_body")
    if extra is not None:
        body = mapping_of(extra)
        settings |= {name: value for name, value in body.items() if type(value).__name__ not in LEFT_OUT}
    return settings, attributes


def request_json(value: Any) -> Any:
    """Returns the JSON that the client sends for one of its objects; any other value unchanged."""
    if not hasattr(value, "model_dump"):
        return value
    left_out = getattr(value, "__api_exclude__", None)
    return value.model_dump(mode="json", exclude_unset=True, warnings=False, exclude=left_out)


def sent_json(value: Any) -> Any:
    """Returns the JSON that the client sends for a value with objects of its classes anywhere in it: a key that an
    object was not given is not sent. Returns values without such objects unchanged."""
    if type(value) in _PLAIN or value is None:
        return value
    if type(value) in _CONTAINERS:
        try:
            orjson.dumps(value)  # takes less time than a look at each value
            return value
        except (TypeError, RecursionError):
            return _with_sent_json(value, _MOST_LEVELS)
    return _with_sent_json(value, 0)


def _with_sent_json(value: Any, levels: int) -> Any:
    fields: Mapping[Any, object] = value
    items: Sequence[object] = value
    if levels and isinstance(value, Mapping):
        given = {key: item for key, item in fields.items() if type(item).__name__ not in LEFT_OUT}
        return {key: _with_sent_json(item, levels - 1) for key, item in given.items()}
    if levels and isinstance(value, list | tuple):
        return [_with_sent_json(item, levels - 1) for item in items]
    return value if isinstance(value, type) else request_json(value)


class DumpedModel(Protocol):
    """An object of pydantic's."""

    def model_dump(self, *, mode: str, exclude_unset: bool, warnings: bool, by_alias: bool) -> Json:
        """Returns the object as JSON."""
        ...


def answer_json(value: DumpedModel) -> Json:
    """Returns the JSON that the provider sent for an answer, as far as the client's class has it.

    The result of `model_dump(mode="json", exclude_unset=True, warnings=False, by_alias=True)`, in less time.
    """
    to_python = _serializer_of(type(value))
    if to_python is None:
        return value.model_dump(mode="json", exclude_unset=True, warnings=False, by_alias=True)
    return to_python(value, mode="json", exclude_unset=True, warnings=False, by_alias=True)


@lru_cache(maxsize=256)
def _serializer_of(kind: type) -> Callable[..., Json] | None:
    """Returns the function that pydantic's own `model_dump` calls; None if the class has another `model_dump`."""
    if getattr(getattr(kind, "model_dump", None), "__module__", None) != "pydantic.main":
        return None
    return getattr(getattr(kind, "__pydantic_serializer__", None), "to_python", None)


def usage_of(usage: JsonMapping, fields: Iterable[tuple[str, str, str]]) -> dict[str, object]:
    """Returns attributes with the token counts of `usage`. `fields`: (group, key, attribute), with group "" for a count
    at the top."""
    # Providers may answer without usage; absent is not zero.
    attributes: dict[str, object] = {}
    for group, key, name in fields:
        counts = usage.get(group) if group else usage
        if isinstance(counts, dict) and (value := counts.get(key)) is not None:
            attributes[name] = value
    return attributes


def audio_usage(usage: JsonMapping, groups: Mapping[str, str]) -> dict[str, object]:
    """Returns attributes with counts of audio tokens. `groups`: key of the group that has the count → attribute.

    Counts of 0 are left out: models without audio report them, too.
    """
    attributes: dict[str, object] = {}
    for group, name in groups.items():
        counts = usage.get(group)
        if isinstance(counts, dict) and (value := counts.get("audio_tokens")):
            attributes[name] = value
    return attributes


def schema_of_class(kind: type) -> dict[str, object]:
    """Returns the name and JSON schema of a class; the schema is None if the class has none."""
    json_schema = None
    with guarded("read the schema of a class", log=False):  # the class is the user's
        schema = getattr(kind, "model_json_schema", None)
        json_schema = schema() if callable(schema) else None
    return {"type": kind.__qualname__, "json_schema": json_schema}


# --- results ----------------------------------------------------------------------------------------------------------

# `with_raw_response` and `with_streaming_response` call the same methods with this header, which tells the mode.
_RAW_HEADER = "X-Stainless-Raw-Response"


def end_with_result(api: ClientApi, observed: ObservedModelCall, result: Any, call: MethodCall) -> object:
    """Ends the call; if the result is a stream, the stream ends it later."""
    raw, run = _raw_mode(call.kwargs) if "extra_headers" in call.kwargs else None, observed.span.run
    if api.is_streamed(call):
        watch = StreamRecording(observed, lambda seen: api.assemble(seen, run, call), api.keep_chunk)
        if raw is None:
            return observed_stream(result, watch)
        return (ObservedOpenResponse if raw == "stream" else ObservedRawResponse)(result, watch)
    if raw == "stream":  # the caller reads the body; reading it here would take it away
        watch = StreamRecording(observed, lambda seen: api.read_response(seen[0], run, call) if seen else None)
        return ObservedOpenResponse(result, watch, streamed=False)
    response = result if raw is None else _parsed_raw_response(result)
    observed.end(lambda: api.read_response(response, run, call))
    return result


class _RawResponse(Protocol):
    def parse(self) -> object: ...


def _parsed_raw_response(result: _RawResponse) -> object:
    """Returns the parsed answer of a raw response whose body has been read.  An asynchronous `parse` then finishes in
    its first step; otherwise raises ValueError."""
    parsed = result.parse()
    if not inspect.isawaitable(parsed):
        return parsed
    steps = parsed.__await__()
    try:
        next(steps)
    except StopIteration as done:
        return done.value
    steps.close()
    raise ValueError("the body of a raw response has not been read")


def _raw_mode(kwargs: Mapping[str, Any]) -> str | None:
    headers: Mapping[str, str] | None = kwargs["extra_headers"]
    return headers.get(_RAW_HEADER) if headers else None


# --- recorded answers -------------------------------------------------------------------------------------------------


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
    raw: object,
    form: AnswerForm,
    kwargs: Mapping[str, object],
    client: object,
    *,
    method: str,
    streamed: bool,
    is_async: bool,
    headers: Mapping[str, str] = MappingProxyType({}),
    ending: BaseException | None = None,
) -> object:
    """Rebuilds what `client.method(**kwargs)` returned from `raw`; returns an awaitable of it if `is_async`.

    `client` is the resource, as instrumentation sees it: `OpenAI().chat.completions`.  `headers` are the kept headers
    of the live response; `ending` is the error that a stream raised after its last recorded chunk.  Raises
    CannotRestore, at once or when awaited.
    """
    recorded = kept_answer(raw)
    if not streamed and form.key not in recorded:
        raise CannotRestore("an unstreamed answer is asked for, and none was recorded")
    if (
        not streamed
        and method == "create"
        and (made := _built_directly(recorded, form, kwargs, client, headers)) is not None
    ):
        return as_awaitable(made) if is_async else made
    if streamed:
        events = _sse_events_async if is_async else _sse_events
        headers = {"content-type": "text/event-stream; charset=utf-8", **headers}
        chunks = recorded_chunks(recorded)
        answer = _RecordedHttpAnswer(lambda: events(chunks, form, ending), headers, is_async=is_async)
    else:
        headers = {"content-type": "application/json", **headers}
        answer = _RecordedHttpAnswer(lambda: canonical_json(recorded), headers, is_async=is_async)
    call = partial(_library_method(form, client, method), _answered_by(answer, client), **kwargs)
    return _await_and_check(form, call, answer) if is_async else _call_and_check(form, call, answer)


def _built_directly(
    raw: Json, form: AnswerForm, kwargs: Mapping[str, object], resource: Any, headers: Mapping[str, str]
) -> object:
    """Builds the client's object for an unstreamed response directly, without a request; None if only the client's own
    method can do it."""
    is_own = library_of(resource) == form.library  # a subclass may do anything with an answer
    if not is_own or kwargs.get("extra_headers") or is_strict(resource):
        return None
    try:
        kind = getattr(modules[form.module], form.kind)
        return constructed(form.library, kind, raw, headers.get(form.request_id))
    except Exception:  # noqa: BLE001 - a version that is different inside: its own way is always right
        return None


def _call_and_check(form: AnswerForm, call: Callable[[], T], answer: "_RecordedHttpAnswer") -> T:
    try:
        result = call()
    except Exception as error:
        raise _unreadable(form, error) from error
    answer.check()
    return result


async def _await_and_check(form: AnswerForm, call: Callable[[], Awaitable[T]], answer: "_RecordedHttpAnswer") -> T:
    try:
        result = await call()
    except Exception as error:
        raise _unreadable(form, error) from error
    answer.check()
    return result


def _unreadable(form: AnswerForm, error: Exception) -> CannotRestore:
    return CannotRestore(f"{form.library} cannot read the recorded answer ({type(error).__name__}: {error})")


def _library_method(form: AnswerForm, resource: object, name: str) -> Callable[..., Any]:
    """Returns the library's own function, without instrumentation of ours or others, which would record the replayed
    call as a live one.  Raises CannotRestore."""
    owner = type(resource)
    method: object = inspect.getattr_static(owner, name, None)
    while isinstance(method, wrapt.FunctionWrapper | wrapt.BoundFunctionWrapper):
        method = getattr(method, "__wrapped__", None)  # pyright: ignore[reportUnknownArgumentType]
    if not callable(method):
        raise CannotRestore(f"this {form.library} has no {owner.__qualname__}.{name}; install the recorded version")
    return method


def _answered_by(answer: "_RecordedHttpAnswer", resource: object) -> object:
    """Returns a copy of the resource whose client gets this answer to any request."""
    return with_http_client(resource, lambda http: _ReplayedHttpClient(http, answer), answer.unchanged)


class _RecordedHttpAnswer:
    """The recorded HTTP answer, and whether the client has read it."""

    def __init__(self, content: Callable[[], object], headers: Mapping[str, str], *, is_async: bool):
        self._content = content
        self._headers = headers
        self._is_async = is_async
        self._taken = False

    def send(self, request: object, **_: object) -> object:
        """Replaces the HTTP client's `send`."""
        self._taken = True
        # httpx or httpx2, whichever the client was made with.
        library: Any = modules[type(request).__module__.partition(".")[0]]
        response = library.Response(200, headers=self._headers, content=self._content(), request=request)
        response.elapsed = timedelta(0)
        return as_awaitable(response) if self._is_async else response

    def unchanged(self, value: object) -> object:
        """Replaces a hook of the client that may change its argument."""
        return as_awaitable(value) if self._is_async else value

    def check(self) -> None:
        """Raises CannotRestore if the client did not read this answer."""
        if not self._taken:
            raise CannotRestore("this client does not send its requests in a way that can be answered from the record")


class _ReplayedHttpClient(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """HTTP client that answers every request from the record and sends nothing."""

    def __init__(self, http: Any, answer: _RecordedHttpAnswer):
        super().__init__(http)  # pyright: ignore[reportUnknownMemberType]
        self._self_answer = answer

    def send(self, request: object, **options: object) -> object:
        return self._self_answer.send(request, **options)


def _sse_events(chunks: Sequence[JsonValue], form: AnswerForm, ending: BaseException | None) -> Iterator[bytes]:
    for chunk in chunks:
        name = value_at(chunk, "type") if form.names_events else None
        yield (f"event: {name}\n".encode() if name else b"") + b"data: " + canonical_json(chunk) + b"\n\n"
    if ending is not None:
        raise ending
    yield form.last_event


async def _sse_events_async(
    chunks: Sequence[JsonValue], form: AnswerForm, ending: BaseException | None
) -> AsyncIterator[bytes]:
    for event in _sse_events(chunks, form, ending):
        yield event

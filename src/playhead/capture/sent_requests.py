"""Records clients whose public methods build a request that an HTTP client of their own sends: `cohere`, `mistralai`.

Two functions of the library are wrapped.  The *method* is what programs call: its result or its error ends the call.
The *sender* is called inside it with the request: there the call begins, with the body as it is sent, and a recorded
answer comes from there as an HTTP response, from which the library makes its own objects.  Nothing leaves the process.
A sender that is called elsewhere, or a second time for a retry, only passes the request on.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext, suppress
from contextvars import ContextVar
from typing import Any

from playhead.capture.client_methods import ClientApi, MethodRecording, begin_method
from playhead.capture.patching import Wrapper
from playhead.capture.restoring import kept_answer, recorded_chunks
from playhead.capture.streams import StreamRecording
from playhead.capture.wrapping import MethodCall, StreamedCallRecording, wrap_stream, wrap_stream_async
from playhead.errors import CannotRestore
from playhead.model.canonical import canonical_json, parse_json
from playhead.model.json_value import Json, JsonMapping, JsonValue, mapping_of, value_at

# --- the method -------------------------------------------------------------------------------------------------------


class _RunningMethod:
    """A call of a public method, from which a sender may be called."""

    __slots__ = ("api", "is_begun", "recording", "response")

    def __init__(self, api: ClientApi):
        self.api = api
        self.is_begun = False
        """Whether the sender was called."""
        self.recording: MethodRecording | None = None
        """None: the call is not recorded, or the record answers it."""
        self.response: Any = None
        """The HTTP response, once it is there."""

    def begin(self, call: MethodCall) -> MethodRecording | None:
        """Begins the call when the sender is called; None: it is not recorded.  Raises RunStopped, in resumed runs."""
        self.is_begun = True
        recording = begin_method(self.api, call)
        if recording is not None and not recording.has_answer:
            self.recording = recording
        return recording

    def end(self, result: object) -> object:
        """Ends the call with the method's result; returns the value for the program."""
        recording, self.recording = self.recording, None
        if recording is None:
            return result
        if self.api.is_streamed(recording.call):
            return recording.end(result)
        recording.end(self.response)
        return result

    def fail(self, raised: BaseException) -> None:
        """Ends the call with the error that the method raised."""
        recording, self.recording = self.recording, None
        if recording is not None:
            recording.fail(raised)


_running: ContextVar[_RunningMethod | None] = ContextVar("playhead-running-method", default=None)


@contextmanager
def _current(method: _RunningMethod) -> Generator[None]:
    token = _running.set(method)
    try:
        yield
    finally:
        with suppress(ValueError):  # in another context, where an abandoned coroutine or generator is closed
            _running.reset(token)


def recording_sent(api: ClientApi) -> Wrapper:
    """Returns the wrapper for a plain method."""

    def run(wrapped: Any, instance: object, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        method = _RunningMethod(api)
        try:
            with _current(method):
                result = wrapped(*args, **kwargs)
            return method.end(result)
        except BaseException as error:
            method.fail(error)
            raise

    return run


def recording_sent_async(api: ClientApi) -> Wrapper:
    """Returns the wrapper for a method whose result is awaited."""

    async def run(wrapped: Any, instance: object, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
        method = _RunningMethod(api)
        try:
            with _current(method):
                result = await wrapped(*args, **kwargs)
            return method.end(result)
        except BaseException as error:
            method.fail(error)
            raise

    return run


class _StreamingMethod(StreamedCallRecording):
    """A call of a method that is a generator of chunks: its sender is called when the first chunk is asked for."""

    __slots__ = ("_method", "_stream")

    def __init__(self, api: ClientApi, call: MethodCall):
        super().__init__(call)
        self._method = _RunningMethod(api)
        self._stream: StreamRecording | None = None

    def current(self) -> Any:
        return nullcontext() if self._method.is_begun else _current(self._method)

    def add_chunk(self, chunk: object) -> None:
        if self._stream is None and self._method.recording is not None:
            self._stream = self._begin_stream(self._method.recording)
        if self._stream is not None:
            self._stream.add_chunk(chunk)

    def end_stream(self) -> None:
        if self._stream is None and self._method.recording is not None:  # a stream without a chunk
            self._stream = self._begin_stream(self._method.recording)
        if self._stream is not None:
            self._stream.finish()

    def fail(self, raised: BaseException) -> None:
        if self._stream is None:
            self._method.fail(raised)
        elif isinstance(raised, GeneratorExit):
            self._stream.finish(aborted=True)
        else:
            self._stream.fail(raised)

    def _begin_stream(self, recording: MethodRecording) -> StreamRecording:
        api, observed, call = self._method.api, recording.observed, recording.call
        run = observed.span.run
        stream = StreamRecording(observed, lambda seen: api.assemble(seen, run, call), api.keep_chunk)
        stream.begun = True
        return stream


def recording_sent_chunks(api: ClientApi) -> Wrapper:
    """Returns the wrapper for a method that is a generator of chunks."""
    return wrap_stream(lambda call: _StreamingMethod(api, call))


def recording_sent_chunks_async(api: ClientApi) -> Wrapper:
    """Returns the wrapper for a method that is an asynchronous generator of chunks."""
    return wrap_stream_async(lambda call: _StreamingMethod(api, call))


# --- the sender -------------------------------------------------------------------------------------------------------


def _begun(call: MethodCall) -> tuple[_RunningMethod | None, MethodRecording | None]:
    """Begins to record the request of the running method; (None, None): there is none, or its request was sent."""
    method = _running.get()
    if method is None or method.is_begun:
        return None, None
    return method, method.begin(call)


def sender(wrapped: Any, instance: object, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """Wrapper of the function that sends a request and returns the HTTP response."""
    call = MethodCall(instance, wrapped.__name__, args, kwargs)
    method, recording = _begun(call)
    if method is None or recording is None:
        return wrapped(*args, **kwargs)
    if recording.has_answer:
        return recording.answer()
    method.response = recording.call.make(wrapped)
    return method.response


async def sender_async(wrapped: Any, instance: object, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """The same, for a function that is awaited."""
    call = MethodCall(instance, wrapped.__name__, args, kwargs, is_async=True)
    method, recording = _begun(call)
    if method is None or recording is None:
        return await wrapped(*args, **kwargs)
    if recording.has_answer:
        return await recording.answer_async()
    method.response = await recording.call.make(wrapped)
    return method.response


def opener(wrapped: Any, instance: object, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """Wrapper of the function that returns a context manager of a streamed HTTP response."""
    call = MethodCall(instance, wrapped.__name__, args, kwargs)
    _, recording = _begun(call)
    if recording is None:
        return wrapped(*args, **kwargs)
    return nullcontext(recording.answer()) if recording.has_answer else recording.call.make(wrapped)


def opener_async(wrapped: Any, instance: object, args: tuple[object, ...], kwargs: dict[str, object]) -> object:
    """The same, of an asynchronous context manager."""
    call = MethodCall(instance, wrapped.__name__, args, kwargs, is_async=True)
    _, recording = _begun(call)
    if recording is None:
        return wrapped(*args, **kwargs)
    return _opened(recording) if recording.has_answer else recording.call.make(wrapped)


@asynccontextmanager
async def _opened(recording: MethodRecording) -> AsyncGenerator[object]:
    yield await recording.answer_async()


# --- answers ----------------------------------------------------------------------------------------------------------


def answer_body(response: Any) -> Json | None:
    """Returns the JSON object in an HTTP response whose body has been read; None for anything else."""
    value: JsonValue = parse_json(response.content) if getattr(response, "content", None) else None
    return value if isinstance(value, dict) else None


def restored_response(
    http: Any,
    raw: object,
    call: MethodCall,
    ending: BaseException | None,
    *,
    streamed: bool,
    request: object,
    event_name: str | None = None,
    last_event: bytes = b"data: [DONE]\n\n",
) -> object:
    """Returns the recorded answer as a response of the HTTP library `http` (`httpx`, `httpx2`).

    A stream has each chunk as a server-sent event, with the name that the chunk has under `event_name`; it raises
    `ending` after the last chunk.  Raises CannotRestore.
    """
    recorded = kept_answer(raw)
    if streamed:
        events = _events(recorded_chunks(recorded), event_name, last_event, ending)
        content: object = _events_async(events) if call.is_async else events
        headers = {"content-type": "text/event-stream"}
    elif "stream" in recorded or not isinstance(raw, dict):
        raise CannotRestore("an unstreamed answer is asked for, and none was recorded")
    else:
        content, headers = canonical_json(recorded), {"content-type": "application/json"}
    return http.Response(200, headers=headers, content=content, request=request)


def _events(
    chunks: Sequence[JsonValue], event_name: str | None, last_event: bytes, ending: BaseException | None
) -> Iterator[bytes]:
    for chunk in chunks:
        name = value_at(chunk, event_name) if event_name else None
        yield (f"event: {name}\n".encode() if name else b"") + b"data: " + canonical_json(chunk) + b"\n\n"
    if ending is not None:
        raise ending
    yield last_event


async def _events_async(events: Iterator[bytes]) -> AsyncIterator[bytes]:
    for event in events:
        yield event


# --- requests ---------------------------------------------------------------------------------------------------------


def settings_of_body(body: JsonMapping) -> Json:
    """Returns the members of a chat request other than its messages and tools."""
    return {key: value for key, value in body.items() if key != "messages" and (key != "tools" or value is None)}


def numbers_in(body: JsonMapping, attribute_names: Mapping[str, str]) -> Json:
    """Returns the attributes of these members of a request that are numbers or truth values."""
    return {
        name: value
        for key, name in attribute_names.items()
        if isinstance(value := mapping_of(body).get(key), int | float) and value is not False
    }

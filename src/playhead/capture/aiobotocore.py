"""`aiobotocore`: models on Amazon Bedrock, by Converse or by their own APIs, and no other service.

Its client is botocore's with methods that are awaited, so requests and answers are read as in `capture.botocore`.  Its
streams and bodies are read in other ways: they are here.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from functools import partial
from inspect import isawaitable
from sys import modules
from typing import Any, Self

import wrapt

from playhead.capture.botocore import (
    CONVERSE,
    INVOKE,
    apis,
    begin_api_call,
    body_recording,
    kept_chunk,
    kept_headers,
    length_of,
    record_converse,
    streamed_response,
)
from playhead.capture.botocore.converse import sent
from playhead.capture.botocore.streams import (
    STREAMED,
    ObservedBody,
    RecordedForms,
    copied,
    output_shape,
    protocol_of,
    reading,
    recorded_response,
)
from playhead.capture.client_methods import ClientApi
from playhead.capture.model_call import ObservedModelCall
from playhead.capture.patching import Instrumentation, Wrap, instrumentor
from playhead.capture.streams import StreamRecording
from playhead.capture.wrapping import MethodCall, wrap_async
from playhead.compat.botocore import replace_response

__all__ = ["SUPPORTS", "AiobotocoreInstrumentor", "patch", "unpatch"]

SUPPORTS = "aiobotocore >= 2.15"
_BODY = "body"


# --- recorded while read ----------------------------------------------------------------------------------------------


class ObservedAsyncEvents:
    """Stands for an event stream of the client: its call ends when reading ends, in whatever way.
    `isinstance(stream, AioEventStream)` is False."""

    def __init__(self, stream: Any, recording: StreamRecording, copy_of: Callable[[object], object]):
        """`copy_of` returns the copy of an event to record: programs change events."""
        recording.begun = True
        self._playhead_stream = stream
        self._playhead_recording = recording
        self._playhead_copy = copy_of

    async def __aiter__(self) -> AsyncIterator[object]:
        recording, events = self._playhead_recording, aiter(self._playhead_stream)
        while True:
            try:
                event = await anext(events)
            except StopAsyncIteration:
                recording.finish()
                return
            except BaseException as error:
                recording.fail(error)
                raise
            recording.add_chunk(copied(self._playhead_copy, event))
            yield event

    def close(self) -> object:
        """Ends the call with the events so far, and closes the stream."""
        self._playhead_recording.finish(aborted=True)
        return self._playhead_stream.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._playhead_stream, name)


class _ObservedContent(ObservedBody):
    """Proxy of the reader of aiohttp's response."""

    async def read(self, *args: Any, **kwargs: Any) -> bytes:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Reads from the body, and records the bytes."""
        wanted = args[0] if args else kwargs.get("n", -1)
        try:
            data: bytes = await self._self_raw.read(*args, **kwargs)
        except BaseException as error:
            self._self_recording.chunks = [b"".join(self._self_read)]
            self._self_recording.fail(error)
            raise
        self.note(data, is_last=wanted < 0 or (wanted > 0 and not data))
        return data


class _ObservedHttpResponse(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """Proxy of the HTTP response beneath a body: aiohttp's, or httpx's."""

    def __init__(self, response: Any, length: int | None, recording: StreamRecording):
        super().__init__(response)  # pyright: ignore[reportUnknownMemberType]
        self._self_response = response
        self._self_recording = recording
        is_httpx = type(response).__module__.startswith("httpx")  # it has no reader
        reader = None if is_httpx else response.content
        self._self_content = _ObservedContent(reader, length, recording)

    @property
    def content(self) -> object:
        """The reader of the body."""
        return self._self_content

    async def aiter_raw(self, *args: Any, **kwargs: Any) -> AsyncIterator[bytes]:
        """Yields the pieces of the body of httpx's response, and records them."""
        pieces, recording = aiter(self._self_response.aiter_raw(*args, **kwargs)), self._self_recording
        while True:
            try:
                piece: bytes = await anext(pieces)
            except StopAsyncIteration:
                self._self_content.note(b"", is_last=True)
                return
            except BaseException as error:
                recording.fail(error)
                raise
            self._self_content.note(piece, is_last=False)
            yield piece

    async def read(self) -> bytes:
        """Reads the whole body, and records it: before version 3, `async with body as response` gives the response."""
        try:
            data: bytes = await self._self_response.read()
        except BaseException as error:
            self._self_recording.fail(error)
            raise
        self._self_content.note(data, is_last=True)
        return data

    async def __aenter__(self) -> Self:
        await self._self_response.__aenter__()
        return self

    async def __aexit__(self, kind: object, raised: BaseException | None, trace: object) -> bool | None:
        return await self._self_response.__aexit__(kind, raised, trace)

    def close(self) -> object:
        """Ends the call with the bytes read so far, and closes the response."""
        self._self_recording.finish(aborted=True)
        return self._self_response.close()

    async def aclose(self) -> object:
        """The same, of httpx's response."""
        self._self_recording.finish(aborted=True)
        return await self._self_response.aclose()


def _record_converse(
    api: ClientApi, observed: ObservedModelCall, result: dict[str, Any], call: MethodCall
) -> dict[str, Any]:
    if call.args[0] not in STREAMED:
        return record_converse(api, observed, result, call)
    return _with_observed_events("stream", sent, api, observed, result, call)


def _record_invoked(
    api: ClientApi, observed: ObservedModelCall, result: dict[str, Any], call: MethodCall
) -> dict[str, Any]:
    if call.args[0] in STREAMED:
        return _with_observed_events(_BODY, kept_chunk, api, observed, result, call)
    recording = body_recording(api, observed, kept_headers(result), call)
    length = length_of(result.get("ResponseMetadata", {}).get("HTTPHeaders", {}).get("content-length"))
    replace_response(result[_BODY], lambda response: _ObservedHttpResponse(response, length, recording))
    return result


def _with_observed_events(
    name: str,
    copy_of: Callable[[Any], object],
    api: ClientApi,
    observed: ObservedModelCall,
    result: dict[str, Any],
    call: MethodCall,
) -> dict[str, Any]:
    run, headers = observed.span.run, kept_headers(result)
    recording = StreamRecording(observed, lambda seen: streamed_response(api, run, headers, seen, call))
    result[name] = ObservedAsyncEvents(result[name], recording, copy_of)
    return result


# --- made again from a record -----------------------------------------------------------------------------------------


class _RecordedReader:
    """A recorded body or event stream, with the interface of aiohttp's response and of its reader."""

    url = ""

    def __init__(self, pieces: Sequence[bytes], ending: BaseException | None):
        self._pieces = pieces
        self._data = b"".join(pieces)
        self._ending = ending
        self._is_closed = False

    @property
    def content(self) -> "_RecordedReader":
        """The reader."""
        return self

    def at_eof(self) -> bool:
        """Whether all was read."""
        return not self._data

    async def read(self, n: int = -1) -> bytes:
        """Reads at most so many bytes (-1: all); raises the recorded error at the end."""
        data = self._data if n < 0 else self._data[:n]
        self._data = self._data[len(data) :]
        if self._ending is not None and (n < 0 or not data):
            raise self._ending
        return data

    async def iter_chunks(self) -> AsyncIterator[tuple[bytes, bool]]:
        """Yields one frame after the other, then raises the recorded error."""
        for piece in self._pieces:
            if self._is_closed:
                return
            yield piece, True
        if self._ending is not None:
            raise self._ending

    def close(self) -> None:
        """Ends the iteration of `iter_chunks`."""
        self._is_closed = True

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self.close()


def _body(data: bytes, ending: BaseException | None) -> object:
    return modules["aiobotocore.response"].StreamingBody(_RecordedReader([data], ending), str(len(data)))


_FORMS = RecordedForms(_RecordedReader, _body)


def _parsers() -> Any:
    return modules["aiobotocore.parsers"]


async def _restore(raw: object, call: MethodCall, ending: BaseException | None) -> object:
    with reading("aiobotocore"):
        response = recorded_response(raw, call.args[0], ending, _FORMS)
        parser = _parsers().create_parser(protocol_of(call.client))
        parsed = parser.parse(response, output_shape(call.client, call.args[0]))
        return await parsed if isawaitable(parsed) else parsed  # not awaited in older versions


# --- what is wrapped --------------------------------------------------------------------------------------------------

_APIS = apis(
    replace(CONVERSE, restore=_restore, end_with_result=_record_converse),
    replace(INVOKE, restore=_restore, end_with_result=_record_invoked),
)
_make_api_call = wrap_async(partial(begin_api_call, _APIS))
_aiobotocore = Instrumentation([Wrap("aiobotocore.client", "AioBaseClient._make_api_call", _make_api_call)])
patch, unpatch = _aiobotocore.patch, _aiobotocore.unpatch
AiobotocoreInstrumentor = instrumentor("AiobotocoreInstrumentor", SUPPORTS, patch, unpatch)

"""Records streams of a model's answer while they are passed on chunk by chunk.

The proxy behaves like the provider's own stream object. Its call ends exactly once, however the stream ends: read to
its end, closed early, dropped, broken by an error.
"""

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, Self

import wrapt

from playhead.calls.lifecycle import detach
from playhead.capture.model_call import ObservedModelCall, ObservedResponse
from playhead.kernel.guard import guarded

Assemble = Callable[[list[Any]], ObservedResponse | None]
"""Makes one response from the chunks received so far; None if they are not an answer."""

# Bounds the memory of a stream without end.  No provider's answer has nearly as many chunks.
_MAX_CHUNKS = 200_000
_MAX_PROXIES = 16


class StreamRecording:
    """Collects the chunks of one stream and ends its call once."""

    __slots__ = ("assemble", "begun", "call", "chunks", "keep")

    def __init__(self, call: ObservedModelCall, assemble: Assemble, keep: Callable[[Any], object] | None = None):
        """Detaches the call: between chunks, the consumer's own context is current.

        `keep` returns the copy of a chunk to keep, for chunks that programs change; if it raises, the chunk itself is
        kept.
        """
        self.call: ObservedModelCall | None = call
        self.assemble = assemble
        self.keep = keep
        self.chunks: list[Any] = []
        self.begun = False
        detach(call.span)

    def add_chunk(self, chunk: object) -> None:
        """Adds a chunk, and notes the time of the first one."""
        if self.call is not None:
            self.call.first_chunk()
            if len(self.chunks) < _MAX_CHUNKS:
                self.chunks.append(chunk if self.keep is None else _kept(self.keep, chunk))

    def finish_unstreamed(self, answer: object) -> None:
        """Ends the call with a complete answer."""
        if self.call is not None:
            self.chunks = [answer]
            self.finish()

    def finish(self, *, aborted: bool = False) -> None:
        """Ends the call; `aborted`: the reader stopped before the end of the stream."""
        call, self.call = self.call, None
        if call is not None:
            call.end(self._read, aborted=aborted)

    def fail(self, raised: BaseException) -> None:
        """Ends the call with an error that reading the stream raised."""
        call, self.call = self.call, None
        if call is not None:
            call.fail(raised, self._read)

    def _read(self) -> ObservedResponse | None:
        return self.assemble(self.chunks)

    def __del__(self) -> None:
        if self.call is not None:
            with guarded("end a stream that was dropped"):
                self.finish(aborted=self.begun)


def _kept(keep: Callable[[object], object], chunk: object) -> object:
    with guarded("keep a chunk of a streamed answer"):
        return keep(chunk)
    return chunk


class _ResponseOfStream(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """Proxy of the HTTP response beneath a stream.  Some helpers of the client close the response instead of the
    stream."""

    def __init__(self, response: Any, recording: StreamRecording):
        super().__init__(response)  # pyright: ignore[reportUnknownMemberType]
        self._self_response = response
        self._self_recording = recording

    def close(self) -> object:
        """Ends the call, and closes the response."""
        self._self_recording.finish(aborted=True)
        return self._self_response.close()

    async def aclose(self) -> object:
        """Ends the call, and closes the response."""
        self._self_recording.finish(aborted=True)
        return await self._self_response.aclose()


class _ObservedStreamBase(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """Base of ObservedStream and ObservedAsyncStream."""

    def __init__(self, stream: Any, recording: StreamRecording):
        super().__init__(stream)  # pyright: ignore[reportUnknownMemberType]
        self._self_stream = stream
        self._self_recording = recording
        recording.begun = True

    def __radd__(self, other: object) -> object:
        """Lets Python's `list += stream` read the stream, as it does with a generator: the proxy's own method would ask
        the stream to add itself to the list."""
        return NotImplemented

    @property
    def response(self) -> object:
        """The HTTP response; closing it also ends the call."""
        return _ResponseOfStream(self._self_stream.response, self._self_recording)


class ObservedStream(_ObservedStreamBase):
    """A stream that is iterated with `for` or `next`."""

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> object:
        try:
            chunk = next(self._self_stream)
        except StopIteration:
            self._self_recording.finish()
            raise
        except BaseException as error:
            self._self_recording.fail(error)
            raise
        self._self_recording.add_chunk(chunk)
        return chunk

    def __enter__(self) -> Self:
        self._self_stream.__enter__()
        return self

    def __exit__(self, kind: object, raised: BaseException | None, trace: object) -> bool | None:
        self._self_recording.finish(aborted=True)
        return self._self_stream.__exit__(kind, raised, trace)

    def close(self) -> object:
        """Ends the call with the chunks so far, and closes the stream."""
        self._self_recording.finish(aborted=True)
        return self._self_stream.close()


class ObservedAsyncStream(_ObservedStreamBase):
    """A stream that is iterated with `async for`."""

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> object:
        try:
            chunk = await self._self_stream.__anext__()
        except StopAsyncIteration:
            self._self_recording.finish()
            raise
        except BaseException as error:
            self._self_recording.fail(error)
            raise
        self._self_recording.add_chunk(chunk)
        return chunk

    async def __aenter__(self) -> Self:
        await self._self_stream.__aenter__()
        return self

    async def __aexit__(self, kind: object, raised: BaseException | None, trace: object) -> bool | None:
        self._self_recording.finish(aborted=True)
        return await self._self_stream.__aexit__(kind, raised, trace)

    async def close(self) -> object:
        """Ends the call with the chunks so far, and closes the stream."""
        self._self_recording.finish(aborted=True)
        return await self._self_stream.close()


class ObservedRawResponse(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """A raw response that is recorded when it is parsed: as a stream, or with `streamed=False` as one answer."""

    def __init__(self, response: Any, recording: StreamRecording, *, streamed: bool = True):
        super().__init__(response)  # pyright: ignore[reportUnknownMemberType]
        self._self_response = response
        self._self_recording = recording
        self._self_streamed = streamed

    def parse(self, *args: object, **kwargs: object) -> object:
        """Returns the parsed answer or stream, recorded, or an awaitable of it."""
        parsed = self._self_response.parse(*args, **kwargs)
        return self._seen_later(parsed) if isawaitable(parsed) else self._seen(parsed)

    async def _seen_later(self, parsed: Awaitable[object]) -> object:
        return self._seen(await parsed)

    def _seen(self, parsed: object) -> object:
        if self._self_streamed:
            return observed_stream(parsed, self._self_recording)
        self._self_recording.finish_unstreamed(parsed)
        return parsed


class ObservedOpenResponse(ObservedRawResponse):
    """A raw response whose body the caller reads. Its content is recorded if the caller uses the client's own
    `parse()`."""

    def close(self) -> object:
        """Ends the call, and closes the response.  Returns the result of the response's own `close`, perhaps an
        awaitable."""
        self._self_recording.finish(aborted=self._self_recording.begun)
        return self._self_response.close()


def _within(stream: object) -> object:
    """Returns the client's own stream, without proxies of other instrumentations: these have both `__next__` and
    `__anext__`."""
    for _ in range(_MAX_PROXIES):
        inner: object = getattr(stream, "__wrapped__", None)
        if inner is None:
            break
        stream = inner
    return stream


def observed_stream(stream: object, recording: StreamRecording) -> object:
    """Returns a proxy that records the stream. Any other value ends the call, and is returned unchanged."""
    kind = type(_within(stream))
    if hasattr(kind, "__next__"):
        return ObservedStream(stream, recording)
    if hasattr(kind, "__anext__"):
        return ObservedAsyncStream(stream, recording)
    recording.finish()
    return stream

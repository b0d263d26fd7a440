"""Streams of a model's answer, passed through chunk by chunk while they are recorded.

The proxy is the provider's own stream object in every respect; it only sees what goes by.  However the stream is left
(read to its end, closed early, dropped, broken by an error), its call ends exactly once.
"""

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, Self, cast

import wrapt

from playhead.api.calls.lifecycle import detach
from playhead.api.guard import swallowed
from playhead.capture.model_call import ModelCall, ModelResponse
from playhead.model.objects.interrupts import let_through

Assemble = Callable[[list[Any]], ModelResponse | None]
"""Makes one response of the chunks seen so far."""

# A stream without end must not become a leak: far more chunks than any provider's longest answer.
_MOST_CHUNKS = 200_000


class Watch:
    """What has gone by of one stream, and the end of its call."""

    __slots__ = ("assemble", "begun", "call", "chunks")

    def __init__(self, call: ModelCall, assemble: Assemble):
        """From here on the call is not current: the consumer's own context stands between chunks."""
        self.call: ModelCall | None = call
        self.assemble = assemble
        self.chunks: list[Any] = []
        self.begun = False
        detach(call.span)

    def saw(self, chunk: Any) -> None:
        """This went by."""
        if self.call is not None:
            self.call.first_chunk()
            if len(self.chunks) < _MOST_CHUNKS:
                self.chunks.append(chunk)

    def whole(self, answer: Any) -> None:
        """This is all of it, and was no stream."""
        if self.call is not None:
            self.chunks = [answer]
            self.ended()

    def ended(self, *, aborted: bool = False) -> None:
        """There is no more, or (`aborted`) nobody wants more."""
        call, self.call = self.call, None
        if call is not None:
            call.end(self._read, aborted=aborted)

    def failed(self, raised: BaseException) -> None:
        """Reading on raised this."""
        call, self.call = self.call, None
        if call is not None:
            call.fail(raised, self._read)

    def _read(self) -> ModelResponse | None:
        return self.assemble(self.chunks)

    def __del__(self) -> None:
        try:
            self.ended(aborted=self.begun)
        except BaseException as error:  # noqa: BLE001 - the guard
            let_through(error)
            swallowed("end a stream that was dropped", error)


class _WatchedResponse(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """The HTTP response beneath a stream: helpers of the client close this instead of the stream."""

    def __init__(self, response: Any, watch: Watch):
        super().__init__(response)  # pyright: ignore[reportUnknownMemberType]
        self._self_response = response
        self._self_watch = watch

    def close(self) -> Any:
        """As the response's own."""
        self._self_watch.ended(aborted=True)
        return self._self_response.close()

    async def aclose(self) -> Any:
        """As the response's own."""
        self._self_watch.ended(aborted=True)
        return await self._self_response.aclose()


class _Observed(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """What both kinds of streams have."""

    def __init__(self, stream: Any, watch: Watch):
        super().__init__(stream)  # pyright: ignore[reportUnknownMemberType]
        self._self_stream = stream
        self._self_watch = watch
        watch.begun = True

    @property
    def response(self) -> Any:
        """The HTTP response; closing it ends the call, too."""
        return _WatchedResponse(self._self_stream.response, self._self_watch)


class ObservedStream(_Observed):
    """A stream that is iterated with `for` or `next`."""

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        try:
            chunk = next(self._self_stream)
        except StopIteration:
            self._self_watch.ended()
            raise
        except BaseException as error:
            self._self_watch.failed(error)
            raise
        self._self_watch.saw(chunk)
        return chunk

    def __enter__(self) -> Self:
        self._self_stream.__enter__()
        return self

    def __exit__(self, kind: Any, raised: BaseException | None, trace: Any) -> Any:
        self._self_watch.ended(aborted=True)
        return self._self_stream.__exit__(kind, raised, trace)

    def close(self) -> Any:
        """As the stream's own; the call ends with what has gone by."""
        self._self_watch.ended(aborted=True)
        return self._self_stream.close()


class ObservedAsyncStream(_Observed):
    """A stream that is iterated with `async for`."""

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        try:
            chunk = await self._self_stream.__anext__()
        except StopAsyncIteration:
            self._self_watch.ended()
            raise
        except BaseException as error:
            self._self_watch.failed(error)
            raise
        self._self_watch.saw(chunk)
        return chunk

    async def __aenter__(self) -> Self:
        await self._self_stream.__aenter__()
        return self

    async def __aexit__(self, kind: Any, raised: BaseException | None, trace: Any) -> Any:
        self._self_watch.ended(aborted=True)
        return await self._self_stream.__aexit__(kind, raised, trace)

    async def close(self) -> Any:
        """As the stream's own; the call ends with what has gone by."""
        self._self_watch.ended(aborted=True)
        return await self._self_stream.close()


class ObservedRawResponse(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """A raw response whose body is a stream: observed once it is asked for as one."""

    def __init__(self, response: Any, watch: Watch, *, streamed: bool = True):
        super().__init__(response)  # pyright: ignore[reportUnknownMemberType]
        self._self_response = response
        self._self_watch = watch
        self._self_streamed = streamed

    def parse(self, *args: Any, **kwargs: Any) -> Any:
        """As the response's own: the stream, or an awaitable of it."""
        parsed = self._self_response.parse(*args, **kwargs)
        return self._seen_later(parsed) if isawaitable(parsed) else self._seen(parsed)

    async def _seen_later(self, parsed: Awaitable[Any]) -> Any:
        return self._seen(await parsed)

    def _seen(self, parsed: Any) -> Any:
        if self._self_streamed:
            return observed_stream(parsed, self._self_watch)
        self._self_watch.whole(parsed)
        return parsed


class ObservedOpenResponse(ObservedRawResponse):
    """A raw response that is read by whoever asked: what it says is known if that is the client's own `parse()`."""

    def close(self) -> Any:
        """As the response's own, also if that has to be awaited."""
        self._self_watch.ended(aborted=self._self_watch.begun)
        return self._self_response.close()


def observed_stream(stream: Any, watch: Watch) -> Any:
    """The stream, observed; what is no stream ends the call and is given back as it is."""
    kind = cast(Any, type(stream))
    if hasattr(kind, "__next__"):
        return ObservedStream(stream, watch)
    if hasattr(kind, "__anext__"):
        return ObservedAsyncStream(stream, watch)
    watch.ended()
    return stream

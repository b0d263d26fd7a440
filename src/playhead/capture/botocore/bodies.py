"""Records the streams in Bedrock's responses while the program reads them, and rebuilds them from a record."""

import io
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any, cast

import wrapt

from playhead.capture.streams import StreamRecording
from playhead.kernel.guard import swallowed
from playhead.model.objects.interrupts import let_through


def observe_events(stream: Any, recording: StreamRecording, copy_of: Callable[[Any], Any]) -> None:
    """Changes an `EventStream` of the client so that its call ends when reading ends, in whatever way.  `copy_of`
    returns the copy of an event to record: programs change events (langchain-aws pops the usage from them).

    Sets the class of the object to a subclass.  A proxy would not do: it behaves differently in `list += stream`.
    """
    recording.begun = True
    stream._playhead_recording, stream._playhead_copy = recording, copy_of
    stream.__class__ = _observed_class(cast(Any, type(stream)))


def _copied(copy_of: Callable[[Any], Any], event: Any) -> Any:
    try:
        return copy_of(event)
    except BaseException as error:  # noqa: BLE001 - the guard
        let_through(error)
        swallowed("record an event of a stream", error)
        return {}


@lru_cache(maxsize=8)
def _observed_class(kind: Any) -> Any:
    def iterate(self: Any) -> Iterator[Any]:
        watch, events = self._playhead_recording, kind.__iter__(self)
        while True:
            try:
                event = next(events)
            except StopIteration:
                watch.finish()
                return
            except BaseException as error:
                watch.fail(error)
                raise
            watch.add_chunk(_copied(self._playhead_copy, event))
            yield event

    def close(self: Any) -> Any:
        self._playhead_recording.finish(aborted=True)
        return kind.close(self)

    names = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
    return type(kind.__name__, (kind,), {"__iter__": iterate, "close": close, **names})


class ObservedBody(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """Proxy of a `StreamingBody`'s raw stream: ends the call when the body ends, whichever method the program reads it
    with."""

    def __init__(self, raw: Any, length: int | None, recording: StreamRecording):
        super().__init__(raw)  # pyright: ignore[reportUnknownMemberType]
        self._self_raw = raw
        self._self_left = length
        self._self_watch = recording
        self._self_read: list[bytes] = []

    def read(self, *args: Any, **kwargs: Any) -> Any:
        """Reads from the body, and records the bytes."""
        wanted = args[0] if args else kwargs.get("amt")
        data = self._reading(lambda: self._self_raw.read(*args, **kwargs))
        self._note(data, is_last=wanted is None or (wanted > 0 and not data))
        return data

    def readinto(self, buffer: Any) -> Any:
        """Reads from the body, and records the bytes."""
        count = self._reading(lambda: self._self_raw.readinto(buffer))
        self._note(bytes(memoryview(buffer)[:count]), is_last=count == 0 and len(buffer) > 0)
        return count

    def readlines(self, *args: Any) -> Any:
        """Reads from the body, and records the bytes."""
        lines = self._reading(lambda: self._self_raw.readlines(*args))
        self._note(b"".join(lines), is_last=not args)
        return lines

    def close(self) -> Any:
        """Ends the call with the bytes read so far, and closes the body."""
        self._self_watch.chunks = [b"".join(self._self_read)]
        self._self_watch.finish(aborted=True)
        return self._self_raw.close()

    def _reading(self, read: Callable[[], Any]) -> Any:
        try:
            return read()
        except BaseException as error:
            self._self_watch.chunks = [b"".join(self._self_read)]
            self._self_watch.fail(error)
            raise

    def _note(self, data: bytes, *, is_last: bool) -> None:
        self._self_watch.begun = True
        if self._self_watch.call is None:
            return
        self._self_read.append(data)
        if self._self_left is not None:
            self._self_left -= len(data)
            is_last = is_last or self._self_left <= 0
        if is_last:
            self._self_watch.finish_unstreamed(b"".join(self._self_read))
        else:  # the answer to record if the program drops the body now
            self._self_watch.chunks = self._self_read


class RecordedBytes(io.BytesIO):
    """A recorded body to read from; reading raises `ending` (None: nothing) at its end."""

    def __init__(self, data: bytes, ending: BaseException | None):
        super().__init__(data)
        self._ending = ending

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        if self._ending is not None and (size is None or size < 0 or not data):
            raise self._ending
        return data


class RecordedFrames:
    """Frames of a recorded event stream, with the interface of the HTTP library's response."""

    def __init__(self, frames: Sequence[bytes], ending: BaseException | None):
        self._frames = frames
        self._ending = ending
        self._is_closed = False

    def stream(self, *_: Any, **__: Any) -> Iterator[bytes]:
        """Yields one frame after the other, then raises `ending` if there is one."""
        for frame in self._frames:
            if self._is_closed:
                return
            yield frame
        if self._ending is not None:
            raise self._ending

    def close(self) -> None:
        """Ends the iteration of `stream`."""
        self._is_closed = True

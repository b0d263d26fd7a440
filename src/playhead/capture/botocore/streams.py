"""Bedrock's responses: their streams and bodies are recorded while the program reads them; recorded answers are made
again in the form that the live call returned.

The client's own parser reads the recorded answer, so that types (bytes, event streams, bodies to read) are the
library's, whatever its version. For that, events are written as AWS's binary event stream
(`application/vnd.amazon.eventstream`), one frame per event. Nothing leaves the process.
"""

import base64
import dataclasses
import io
import struct
import zlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from sys import modules
from typing import Any, TypeVar

import wrapt

from playhead.calls.replay import ReplayAnswer
from playhead.capture.restoring import kept_answer
from playhead.capture.streams import StreamRecording
from playhead.errors import CannotRestore
from playhead.kernel.guard import guarded
from playhead.model.canonical import canonical_json
from playhead.model.json_value import JsonMapping, JsonValue, object_at, object_of, objects_of, text_at

T = TypeVar("T")

STREAMED = frozenset({"ConverseStream", "InvokeModelWithResponseStream"})
INVOKED = frozenset({"InvokeModel", "InvokeModelWithResponseStream"})


# --- recorded while read ----------------------------------------------------------------------------------------------


class ObservedEvents:
    """Stands for an `EventStream` of the client: its call ends when reading ends, in whatever way.

    No `wrapt.ObjectProxy`: that one also passes number methods on, and then Python's `list += stream` asks the stream
    to add itself to the list.  `isinstance(stream, EventStream)` is False.
    """

    def __init__(self, stream: Any, recording: StreamRecording, copy_of: Callable[[object], object]):
        """`copy_of` returns the copy of an event to record: programs change events (langchain-aws pops the usage from
        them)."""
        recording.begun = True
        self._playhead_stream = stream
        self._playhead_recording = recording
        self._playhead_copy = copy_of

    def __iter__(self) -> Iterator[object]:
        recording, events = self._playhead_recording, iter(self._playhead_stream)
        while True:
            try:
                event = next(events)
            except StopIteration:
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


def copied(copy_of: Callable[[object], object], event: object) -> object:
    """Returns the copy of an event; an empty object if it cannot be copied."""
    with guarded("record an event of a stream"):
        return copy_of(event)
    return {}


class ObservedBody(wrapt.ObjectProxy):  # pyright: ignore[reportMissingTypeArgument]
    """Proxy of a `StreamingBody`'s raw stream: ends the call when the body ends, whichever method the program reads it
    with."""

    def __init__(self, raw: Any, length: int | None, recording: StreamRecording):
        super().__init__(raw)  # pyright: ignore[reportUnknownMemberType]
        self._self_raw = raw
        self._self_left = length
        self._self_recording = recording
        self._self_read: list[bytes] = []

    def read(self, *args: Any, **kwargs: Any) -> bytes:
        """Reads from the body, and records the bytes."""
        wanted = args[0] if args else kwargs.get("amt")
        data = self._reading(lambda: self._self_raw.read(*args, **kwargs))
        self.note(data, is_last=wanted is None or (wanted > 0 and not data))
        return data

    def readinto(self, buffer: bytearray | memoryview) -> int:
        """Reads from the body, and records the bytes."""
        count = self._reading(lambda: self._self_raw.readinto(buffer))
        self.note(bytes(memoryview(buffer)[:count]), is_last=count == 0 and len(buffer) > 0)
        return count

    def readlines(self, *args: int) -> list[bytes]:
        """Reads from the body, and records the bytes."""
        lines = self._reading(lambda: self._self_raw.readlines(*args))
        self.note(b"".join(lines), is_last=not args)
        return lines

    def close(self) -> object:
        """Ends the call with the bytes read so far, and closes the body."""
        self._self_recording.chunks = [b"".join(self._self_read)]
        self._self_recording.finish(aborted=True)
        return self._self_raw.close()

    def _reading(self, read: Callable[[], T]) -> T:
        try:
            return read()
        except BaseException as error:
            self._self_recording.chunks = [b"".join(self._self_read)]
            self._self_recording.fail(error)
            raise

    def note(self, data: bytes, *, is_last: bool) -> None:
        """Records bytes that the program read; `is_last`: the body has ended."""
        self._self_recording.begun = True
        if self._self_recording.call is None:
            return
        self._self_read.append(data)
        if self._self_left is not None:
            self._self_left -= len(data)
            is_last = is_last or self._self_left <= 0
        if is_last:
            self._self_recording.finish_unstreamed(b"".join(self._self_read))
        else:  # the answer to record if the program drops the body now
            self._self_recording.chunks = self._self_read


# --- made again from a record -----------------------------------------------------------------------------------------

_JSON = "application/json"
_UNKNOWN_MEMBER = "SDK_UNKNOWN_MEMBER"


@dataclass(frozen=True, slots=True)
class RecordedForms:
    """How a library reads what it streams: makers of its raw event stream, from frames, and of the body of an invoked
    model, from bytes.  Both raise the given error (None: none) at their end."""

    events: Callable[[Sequence[bytes], BaseException | None], object]
    body: Callable[[bytes, BaseException | None], object]


def restore(raw: object, client: Any, operation: str, ending: BaseException | None) -> object:
    """Rebuilds the client's response to this operation from `raw`.  Raises CannotRestore."""
    with reading("botocore"):
        response = recorded_response(raw, operation, ending, _FORMS)
        parser = modules["botocore.parsers"].create_parser(protocol_of(client))
        return parser.parse(response, output_shape(client, operation))


@contextmanager
def reading(library: str) -> Generator[None]:
    """Raises CannotRestore for any other error of the library that reads the recorded answer."""
    try:
        yield
    except CannotRestore:
        raise
    except Exception as error:
        message = f"{library} cannot read the recorded answer ({type(error).__name__}: {error})"
        raise CannotRestore(message) from error


def protocol_of(client: Any) -> str:
    """Returns the name of the protocol that the client's service speaks."""
    return client.meta.service_model.metadata["protocol"]


def output_shape(client: Any, operation: str) -> object:
    """Returns the client's description of this operation's response."""
    return client.meta.service_model.operation_model(operation).output_shape


def recorded_response(
    raw: object, operation: str, ending: BaseException | None, forms: RecordedForms
) -> dict[str, object]:
    """Returns the HTTP response of `raw` in the form that the client's parser takes.  Raises CannotRestore."""
    recorded = kept_answer(raw)
    is_stream = isinstance(recorded.get("stream"), list)
    if is_stream != (operation in STREAMED):
        wanted = "a stream" if operation in STREAMED else "an unstreamed answer"
        raise CannotRestore(f"{wanted} is asked for, and none was recorded")
    headers = modules["botocore.awsrequest"].HeadersDict({"content-type": _JSON, **object_at(recorded, "headers")})
    response: dict[str, object] = {"headers": headers, "status_code": 200, "context": {"operation_name": operation}}
    if operation in STREAMED:
        events = objects_of(_with_unknown_members(recorded["stream"]))
        frames = [event_frame(name, payload) for event in events for name, payload in _event_payloads(event)]
        response["body"] = forms.events(frames, ending)
    elif operation in INVOKED:
        response["body"] = forms.body(body_bytes(recorded), ending)
    else:
        response["body"] = canonical_json(_with_unknown_members(recorded.get("body")))
    return response


def _body(data: bytes, ending: BaseException | None) -> object:
    return modules["botocore.response"].StreamingBody(RecordedBytes(data, ending), str(len(data)))


def _with_unknown_members(value: JsonValue) -> JsonValue:
    """Replaces the client's markers for blocks of a kind unknown to its version by empty blocks of that kind."""
    if isinstance(value, list):
        return [_with_unknown_members(item) for item in value]
    if not isinstance(value, dict):
        return value
    marker = value.get(_UNKNOWN_MEMBER)
    if len(value) == 1 and isinstance(marker, dict):
        return {str(marker.get("name")): {}}
    return {name: _with_unknown_members(item) for name, item in value.items()}


def body_bytes(recorded: JsonMapping) -> bytes:
    """Returns the recorded body of an invoked model.  Raises CannotRestore."""
    if isinstance(text := recorded.get("text"), str):
        return text.encode()
    if isinstance(data := recorded.get("base64"), str):
        return base64.b64decode(data)
    raise CannotRestore("the model's answer was not recorded whole")


def _event_payloads(event: JsonMapping) -> list[tuple[str, JsonMapping]]:
    """Returns the event's type and payload; a chunk of an invoked model's answer is sent as base64 of its bytes."""
    if isinstance(chunk := event.get("chunk"), dict):
        return [("chunk", {"bytes": base64.b64encode(body_bytes(chunk)).decode()})]
    return [(name, object_of(payload)) for name, payload in event.items()]


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

    def stream(self, *_: object, **__: object) -> Iterator[bytes]:
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


_FORMS = RecordedForms(RecordedFrames, _body)


def with_own_error(answer: ReplayAnswer, client: Any) -> ReplayAnswer:
    """Converts the answer's error to the client's own exception class, which each client makes per error code."""
    response = getattr(answer.error, "response", None)
    operation = getattr(answer.error, "operation_name", None)
    code = text_at(object_at(response, "Error"), "Code", None)
    if answer.is_new or not isinstance(response, dict) or not isinstance(operation, str):
        return answer
    kind = client.exceptions.from_code(code)
    return answer if isinstance(answer.error, kind) else dataclasses.replace(answer, error=kind(response, operation))


# --- frames of an event stream ----------------------------------------------------------------------------------------

_STRING = 7  # the type of a header whose value is a string
_OVERHEAD = 16  # two lengths and two checksums


def event_frame(event: str, payload: Mapping[str, object]) -> bytes:
    """Returns the frame of an event with a JSON payload."""
    about = {":event-type": event, ":content-type": "application/json", ":message-type": "event"}
    return frame(about, canonical_json(payload))


def exception_frame(kind: str, payload: Mapping[str, object]) -> bytes:
    """Returns the frame of an exception of the service's model; such a frame ends a stream."""
    about = {":exception-type": kind, ":content-type": "application/json", ":message-type": "exception"}
    return frame(about, canonical_json(payload))


def frame(headers: Mapping[str, str], payload: bytes) -> bytes:
    """Returns one frame with these headers.

    A frame is its length, the length of its headers, a checksum of these two, the headers, the payload, and a checksum
    of all that; integers are 4 bytes, most significant first, checksums CRC-32.
    """
    head = b"".join(_frame_header(name, value) for name, value in headers.items())
    prelude = struct.pack("!II", _OVERHEAD + len(head) + len(payload), len(head))
    message = prelude + struct.pack("!I", zlib.crc32(prelude)) + head + payload
    return message + struct.pack("!I", zlib.crc32(message))


def _frame_header(name: str, value: str) -> bytes:
    key, text = name.encode(), value.encode()
    return struct.pack("!B", len(key)) + key + struct.pack("!BH", _STRING, len(text)) + text

"""The messages of a stream as server-sent events, batches of them that all clients share, and a client's position.

An event of a run is a message without a type.  Other types: `changed`, `moved` and `end`. A position is the text of
`Last-Event-ID`.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from playhead.model.canonical import canonical_json
from playhead.model.event import RunEvent
from playhead.model.ref import ContentRef
from playhead_collector.errors import Refused
from playhead_collector.read.events import EventFilter, cut, event_previews, recorded_event

_POSITION_TEXT = re.compile(r"(?P<replay>r)?(?P<change>\d{1,18})(?:\.(?P<seq>\d{1,9}))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class StreamPosition:
    """What a client has received: all changes up to the one with the number `change`.

    With `seq`: of that change, only the events up to this seq. With `is_replay` also: only the events of the run up to
    this seq, numbered as they were after that change.
    """

    change: int
    seq: int | None = None
    is_replay: bool = False

    def __str__(self) -> str:
        """Returns the text that `read_position` reads: `12`, `12.7` or `r12.7`."""
        return f"{'r' if self.is_replay else ''}{self.change}{'' if self.seq is None else f'.{self.seq}'}"


def read_position(text: str) -> StreamPosition:
    """Returns the position in a `Last-Event-ID` header. Raises Refused (400)."""
    match = _POSITION_TEXT.fullmatch(text.strip())
    if match is None or (match["replay"] and match["seq"] is None):
        raise Refused(
            400,
            "bad_position",
            f"{text[:40]!r} is not the id of an event of a stream: send the last `id` that was received, or no "
            "Last-Event-ID to begin anew",
        )
    seq = None if match["seq"] is None else int(match["seq"])
    return StreamPosition(int(match["change"]), seq, match["replay"] is not None)


def position_expired() -> Refused:
    """Returns the 410 for a position whose following changes are no longer stored."""
    return Refused(
        410,
        "position_too_old",
        "what this client missed is not known any more: begin anew without Last-Event-ID, and see "
        "PLAYHEAD_STREAM_RESUME_SECONDS",
    )


# --- messages --------------------------------------------------------------------------------------------------------

HEARTBEAT: Final = b": still here\n\n"
# Approximate memory in bytes of an event in a batch, besides its message.
_PER_EVENT = 2_000
# Most chunks that a batch keeps, one per view; those for further views are made for each client.
_KEPT_CHUNKS = 16


@dataclass(frozen=True, slots=True)
class LiveMessage:
    """A message of a stream, and the client's position after it."""

    after: StreamPosition
    event: RunEvent | None = None
    changed: bool = False
    moved: tuple[str, int] | None = None
    """A run, and the first seq from which its events have moved."""


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """The client's filter and previews. `preview` is the length of each value's preview in characters; 0: none."""

    where: EventFilter = EventFilter()
    preview: int = 0


@dataclass(frozen=True, slots=True)
class MessageBytes:
    """Messages of a batch as bytes. `ends` has for each new event the offset at which its message ends."""

    data: bytes
    ends: Sequence[int]


@dataclass(slots=True)
class MessageBatch:
    """Consecutive messages of a stream. `after` is the position of a client that has received them."""

    items: Sequence[LiveMessage]
    after: StreamPosition
    previews: Mapping[ContentRef, str] = field(default_factory=dict[ContentRef, str])
    preview_length: int = 0
    _chunks: dict[StreamOptions, MessageBytes] = field(default_factory=dict[StreamOptions, MessageBytes], repr=False)

    @property
    def memory_bytes(self) -> int:
        """Approximate memory in bytes."""
        texts = sum(map(len, self.previews.values()))
        return _PER_EVENT * len(self.items) + texts + sum(len(chunk.data) for chunk in self._chunks.values())

    @property
    def events(self) -> list[RunEvent]:
        """The events in the batch."""
        return [item.event for item in self.items if item.event is not None]

    def made(self, options: StreamOptions) -> MessageBytes | None:
        """Returns the messages for this view if they were made before, else None."""
        return self._chunks.get(options)

    def chunk(self, options: StreamOptions) -> MessageBytes:
        """Returns the messages for this view, followed by the position after the batch."""
        encoded = self._chunks.get(options)
        if encoded is None:
            encoded = self._encoded(options)
            if len(self._chunks) < _KEPT_CHUNKS:
                self._chunks[options] = encoded
        return encoded

    def _encoded(self, options: StreamOptions) -> MessageBytes:
        data, ends = bytearray(), list[int]()
        last: StreamPosition | None = None
        for item in self.items:
            if item.event is not None and not options.where.fits(item.event):
                continue
            data += self._message(item, options.preview)
            last = item.after
            if item.event is not None and not item.changed:
                ends.append(len(data))
        if last != self.after:
            data += b"id: %b\n\n" % str(self.after).encode()
        return MessageBytes(bytes(data), ends)

    def _message(self, item: LiveMessage, preview: int) -> bytes:
        if item.moved is not None:
            run, first = item.moved
            return message({"run": run, "from": first}, item.after, "moved")
        if item.event is None:
            return b""
        value = recorded_event(item.event)
        if preview:
            texts = event_previews(value["refs"], self.previews)
            value["previews"] = {name: cut(text, preview) for name, text in texts.items()}
        return message(value, item.after, "changed" if item.changed else None)


def message(value: Any, after: StreamPosition | None, kind: str | None = None) -> bytes:
    """Returns a message with this value as JSON, which contains no line breaks."""
    lines = [b"id: %b" % str(after).encode()] if after is not None else []
    if kind is not None:
        lines.append(b"event: %b" % kind.encode())
    return b"\n".join([*lines, b"data: %b" % canonical_json(value), b"", b""])

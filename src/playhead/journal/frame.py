"""Frames: the records in the journal's files.  Pure; written by `lane`, read by `export` and by resume.

A frame is a header (payload length, CRC-32 of kind and payload, kind) and a payload.  A crash can only cut the last
frame short, and a cut frame fails its length or its checksum, as does a run of zeros.  After damage in the middle of a
file, reading goes on with the next frame whose checksum is right.

| kind | payload |
|---|---|
| `R` resource | JSON: the resource's attributes; holds for the spans and log events after it in the file |
| `C` content | 32 bytes digest, 1 byte length of the media type, media type, bytes |
| `T` thread | 1 byte: has a parent; then 32 bytes each: the parent, the messages that are appended to it |
| `A` announcement, `S` span | JSON array, see `read_span`; an announcement has no end; only foreign spans a scope |
| `L` log event | JSON array: name, time ns, trace id, span id, attributes |
| `E` end of the segment before | JSON array: its number, the bytes that were written to it |
"""

import re
import struct
from collections.abc import Iterator, Sequence
from operator import attrgetter
from typing import Any, cast
from zlib import crc32

import orjson

from playhead.model.canonical import JSON, TEXT, Content
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span, SpanEvent
from playhead.wire.pack import ThreadExtension

RESOURCE, CONTENT, THREAD, ANNOUNCEMENT, SPAN, LOG, END = b"R", b"C", b"T", b"A", b"S", b"L", b"E"
_HEADER = struct.Struct(">IIc")
HEADER_BYTES = _HEADER.size


_CONTENT_CHECKSUM, _THREAD_CHECKSUM = crc32(CONTENT), crc32(THREAD)
_SMALL = 16 * 1024
# Lengths up to half a gigabyte begin with a control character. JSON has none, so little else looks like a header.
_LIKE_A_HEADER = re.compile(rb"[\x00-\x1f].{7}[RCTASLE]", re.DOTALL)
_SMALL_ENOUGH_TO_TRY = 64 * 1024
# A process may be killed while the kernel copies a large frame to the file; a small one is copied in an instant.
_WRITTEN_AT_ONCE = 64 * 1024


def frame(kind: bytes, payload: bytes) -> bytes:
    """Returns a frame of one of the kinds above, ready to append."""
    return _HEADER.pack(len(payload), crc32(payload, crc32(kind)), kind) + payload


def frames_in(data: bytes, offset: int = 0) -> Iterator[tuple[bytes, bytes, int]]:
    """Yields (kind, payload, offset after it) of each whole frame from `offset` on; stops at the first cut or damaged
    one."""
    end = len(data)
    while offset + HEADER_BYTES <= end:
        size, checksum, kind = _HEADER.unpack_from(data, offset)
        start = offset + HEADER_BYTES
        offset = start + size
        if offset > end:
            return
        payload = data[start:offset]
        if crc32(payload, crc32(kind)) != checksum:
            return
        yield kind, payload, offset


def readable_frames(data: bytes) -> Iterator[tuple[bytes, bytes, int]]:
    """Yields (kind, payload, offset after it) of all readable frames of a file; skips damaged parts."""
    offset: int | None = 0
    while offset is not None:
        for item in frames_in(data, offset):
            yield item
            offset = item[2]
        offset = next_frame(data, offset + 1)


def next_frame(data: bytes, offset: int) -> int | None:
    """The offset of the first whole frame that begins at `offset` or later; None if there is none."""
    while (match := _LIKE_A_HEADER.search(data, offset)) is not None:
        offset = match.start()
        size, checksum, kind = _HEADER.unpack_from(data, offset)
        start = offset + HEADER_BYTES
        end = start + size
        # In a large payload, many offsets look like a header by chance; each would take a checksum over megabytes.
        if end <= len(data) and (size <= _SMALL_ENOUGH_TO_TRY or _may_follow(data, end)):
            with memoryview(data) as view:
                if crc32(view[start:end], crc32(kind)) == checksum:
                    return offset
        offset += 1
    return None


def is_cut_frame(data: bytes) -> bool:
    """Whether these bytes at the end of a file can be the result of a crash: an incomplete frame, or zeros."""
    if len(data) < HEADER_BYTES:
        return True
    return HEADER_BYTES + int.from_bytes(data[:4], "big") > len(data) or not data.strip(b"\0")


def may_be_lost_end(rest: bytes) -> bool:
    """Whether `rest`, the bytes after the last readable frame of a dead process's file, may mean that the file has lost
    its end: True for a part of a frame (unless the frame is large), and for damage.
    """
    size = HEADER_BYTES + int.from_bytes(rest[:4], "big")
    return bool(rest) and not (len(rest) >= HEADER_BYTES and size > max(len(rest), _WRITTEN_AT_ONCE))


def _may_follow(data: bytes, offset: int) -> bool:
    """Whether a frame may begin at `offset`, or the file ends there."""
    return len(data) - offset < HEADER_BYTES or _LIKE_A_HEADER.match(data, offset) is not None


def content_frame(digest: bytes, data: bytes, media_type: str) -> bytes:
    """The frame of a content; `digest` is the SHA-256 in its ref."""
    head = digest + (_MEDIA.get(media_type) or _media(media_type))
    if len(data) <= _SMALL:
        payload = head + data
        return _HEADER.pack(len(payload), crc32(payload, _CONTENT_CHECKSUM), CONTENT) + payload
    checksum = crc32(data, crc32(head, _CONTENT_CHECKSUM))  # in two steps: large data are copied once
    return b"".join((_HEADER.pack(len(head) + len(data), checksum, CONTENT), head, data))


def _media(media_type: str) -> bytes:
    text = media_type.encode()
    return b"%c%b" % (len(text), text)


_digest_of = attrgetter("digest")
_MEDIA = {media_type: _media(media_type) for media_type in (JSON, TEXT)}


def read_content(payload: bytes) -> tuple[bytes, Content]:
    """The digest and the content that `content_frame` wrote."""
    start = 33 + payload[32]
    return payload[:32], Content(payload[start:], payload[33:start].decode())


def thread_frame(parent: ContentRef | None, messages: Sequence[ContentRef]) -> bytes:
    """The frame of messages that are appended to a thread."""
    digests = b"".join(map(_digest_of, messages))
    payload = b"\x00" + digests if parent is None else b"\x01" + parent.digest + digests
    return _HEADER.pack(len(payload), crc32(payload, _THREAD_CHECKSUM), THREAD) + payload


def read_thread(payload: bytes) -> ThreadExtension:
    """The extension that `thread_frame` wrote."""
    refs = tuple(ContentRef.from_digest(payload[offset : offset + 32]) for offset in range(1, len(payload), 32))
    return ThreadExtension(refs[0], refs[1:]) if payload[0] else ThreadExtension(None, refs)


def span_frame(kind: bytes, fields: Sequence[Any]) -> bytes:
    """The frame of a span or an announcement; `fields` in the order in which `read_span` unpacks them."""
    return frame(kind, orjson.dumps(fields, option=orjson.OPT_NON_STR_KEYS))


def read_span(payload: bytes) -> Span:
    """The span that `span_frame` wrote. The caller sets its resource, and its scope if that is empty (our own)."""
    fields = cast("list[Any]", orjson.loads(payload))
    trace_id, span_id, parent_id, name, kind, start_ns, end_ns, status, message, attributes, events, links = fields[:12]
    return Span(  # positional arguments take half the time, and each span that is shipped is read here
        trace_id,
        span_id,
        parent_id,
        name,
        start_ns,
        end_ns,
        attributes,
        kind,
        status,
        message,
        [SpanEvent(*event) for event in events] if events else [],
        links,
        fields[12] if len(fields) > 12 else "",
    )


def log_frame(log: LogEvent) -> bytes:
    """The frame of a log event."""
    return frame(LOG, orjson.dumps([log.name, log.time_ns, log.trace_id, log.span_id, log.attributes]))


def read_log(payload: bytes) -> LogEvent:
    """The log event that `log_frame` wrote. The caller sets its scope and resource."""
    return LogEvent(*orjson.loads(payload))


def end_frame(number: int, size: int) -> bytes:
    """The frame with the number of a segment and the bytes written to it, for the beginning of the next segment."""
    return frame(END, orjson.dumps([number, size]))


def read_end(payload: bytes) -> tuple[int, int]:
    """The number of the segment and its size that `end_frame` wrote."""
    number, size = orjson.loads(payload)
    return int(number), int(size)

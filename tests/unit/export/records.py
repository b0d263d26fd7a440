"""Frames for tests of the stage: spans, contents and log events with readable names."""

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from playhead.journal.frame import (
    ANNOUNCEMENT,
    RESOURCE,
    SPAN,
    content_frame,
    frame,
    log_frame,
    span_frame,
    thread_frame,
)
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent

TRACE = "0af7651916cd43dd8448eb211c80319c"
START_NS = 1_700_000_000_000_000_000
WHO = frame(RESOURCE, b'{"service.name":"shop"}')


def span_id(number: int) -> str:
    return f"{number:016x}"


def span(
    number: int, *, ended: bool = True, parent: int | None = None, trace_id: str = TRACE, **attributes: Any
) -> bytes:
    """The frame of a span `step <number>`, or of its announcement."""
    fields: Sequence[Any] = (
        trace_id,
        span_id(number),
        None if parent is None else span_id(parent),
        f"step {number}",
        1,
        START_NS + number,
        START_NS + number + 5 if ended else None,
        0,
        "",
        attributes,
        (),
        (),
    )
    return span_frame(SPAN if ended else ANNOUNCEMENT, fields)


def log(name: str, number: int, **attributes: Any) -> bytes:
    """The frame of a log event within span `number`."""
    return log_frame(LogEvent(name, START_NS + number, TRACE, span_id(number), attributes))


def content(data: bytes, media_type: str = "text/plain; charset=utf-8") -> bytes:
    return content_frame(sha256(data).digest(), data, media_type)


def thread(parent: ContentRef | None, *messages: bytes) -> bytes:
    """The frame that appends these contents to a thread."""
    return thread_frame(parent, [ContentRef.of(message) for message in messages])

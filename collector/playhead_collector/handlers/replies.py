"""Answers of handlers that are more than a value for JSON: stored contents, files, bytes with headers, and streams."""

from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import BinaryIO

from playhead.model.canonical import Content
from playhead.model.ref import ContentRef


class Reply:
    """An answer that says by itself how it is sent."""


@dataclass(frozen=True, slots=True)
class BytesReply(Reply):
    """Some bytes, with their media type and further headers (names in lower case)."""

    content: Content
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class StoredContentReply(Reply):
    """A stored content. Over HTTP, ranges and conditions of the request are kept to, and caches may keep it."""

    ref: ContentRef
    content: Content


@dataclass(frozen=True, slots=True)
class FileReply(Reply):
    """A file to download, which is closed when it was sent. `name` is offered to whoever stores it."""

    file: BinaryIO
    name: str
    media_type: str


@dataclass(frozen=True, slots=True)
class EventStreamReply(Reply):
    """Server-sent events of one answer, such as the pieces of a model's text, as encoded bytes."""

    events: AsyncIterator[bytes]


@dataclass(frozen=True, slots=True)
class LiveStream(Reply):
    """Live events, as encoded server-sent events. `resources` is closed when the stream ends or the client has gone."""

    events: AsyncIterator[bytes]
    resources: AsyncExitStack

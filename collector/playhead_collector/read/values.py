"""Hydration: returns the values that refs name, as JSON.

Stored JSON is joined as bytes and not decoded and encoded again. This keeps integers of any size exact, and makes a
thread of a thousand messages cheap.  Each content is checked first, because one that only claims to be JSON would make
the whole answer invalid.
"""

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, cast

import orjson

from playhead.dialect.langfuse_media import MARK, digest_beginning, media_id, media_ids, with_media
from playhead.model.canonical import Content, canonical_json, is_json_type, parse_json, value_of
from playhead.model.message import REF_PART, Message, read_message, refs_inside, resolve_parts
from playhead.model.ref import ContentRef, is_ref
from playhead.projection.known_messages import KnownMessages
from playhead_collector.errors import ContentMissing
from playhead_collector.store.ports import ReadStore

# Refs per query; other requests are answered between two queries.
_AT_ONCE = 1_000
MEDIA_MARK = MARK.encode()
NO_MEDIA: Mapping[str, bytes] = MappingProxyType({})
PART_MARK = b'"' + REF_PART.encode() + b'"'
"""In the bytes of a message with parts that are contents of their own."""


class ContentCache:
    """Contents that were fetched together. Records the requested refs that are not stored."""

    def __init__(self, contents: Mapping[ContentRef, Content], media: Mapping[str, bytes] = NO_MEDIA) -> None:
        """`media`: bytes of uploaded media, by the ids that Langfuse gave them."""
        self._contents, self._media = contents, media
        self._missing: dict[str, None] = {}
        self._masked: dict[str, None] = {}

    @property
    def missing(self) -> list[str]:
        """The requested refs that are not stored, in the order of the requests."""
        return list(self._missing)

    @property
    def masked(self) -> list[str]:
        """Those of the requested refs of which a part was masked, in the order of the requests."""
        return list(self._masked)

    def is_masked(self, ref: ContentRef | None) -> bool:
        """Whether a part of the content was masked."""
        content = None if ref is None else self._contents.get(ref)
        return content is not None and content.is_masked

    def where(self, fits: Callable[[bytes], bool]) -> "ContentCache":
        """Returns the contents whose bytes fit, as if no others were stored."""
        contents = {ref: content for ref, content in self._contents.items() if fits(content.data)}
        return ContentCache(contents, self._media)

    def value(self, ref: ContentRef | None) -> Any:
        """Returns the content as JSON bytes; None when the ref is None or not stored."""
        content = self._get(ref)
        return None if content is None else json_value(content)

    def parsed(self, ref: ContentRef | None) -> Any:
        """Returns the content as a Python value (JSON or text); None for any other content, or when it is not
        stored."""
        content = self._get(ref)
        return None if content is None or plain_value(content) is None else value_of(content)

    def message(self, ref: ContentRef | None) -> Any:
        """Returns the message as JSON bytes, with its large parts; None when it is not stored."""
        content = self._get(ref)
        if content is None or not (PART_MARK in content.data or self._media):
            return None if content is None else json_value(content)
        message = self.parsed_message(ref)
        return json_value(content) if message is None else orjson.Fragment(canonical_json(message))

    def parsed_message(self, ref: ContentRef | None) -> Message | None:
        """Returns the message as a Python value; None when it is not stored or is not a message."""
        content = self._get(ref)
        message = None if content is None else _read_message(content)
        return None if message is None else with_media(resolve_parts(message, self._part), self._media)

    def _part(self, ref: ContentRef) -> bytes | None:
        content = self._get(ref)
        return None if content is None else content.data

    def _get(self, ref: ContentRef | None) -> Content | None:
        if ref is None:
            return None
        content = self._contents.get(ref)
        if content is None:
            self._missing[str(ref)] = None
        elif content.is_masked:
            self._masked[str(ref)] = None
        return content


async def fetch(store: ReadStore, project_id: int, refs: Iterable[ContentRef | None]) -> ContentCache:
    """Reads the contents of these refs, and the large parts of messages among them, with at most two queries per 1,000
    refs. References to uploaded media in messages need two more."""
    contents = await _stored(store, project_id, refs)
    parts = [ref for content in contents.values() if PART_MARK in content.data for ref in _parts(content)]
    media = await _media(store, project_id, contents.values())
    return ContentCache({**contents, **await _stored(store, project_id, parts)} if parts else contents, media)


async def _media(store: ReadStore, project_id: int, contents: Iterable[Content]) -> Mapping[str, bytes]:
    """Returns the bytes that Langfuse's SDK uploaded for media in these messages, by Langfuse's ids. Media that have
    not arrived are left out."""
    messages = (_read_message(content) for content in contents if MEDIA_MARK in content.data)
    ids = {number for message in messages if message is not None for number in media_ids(message)}
    if not ids:
        return NO_MEDIA
    beginnings = list({digest_beginning(number) for number in ids})
    refs: list[ContentRef] = []
    for start in range(0, len(beginnings), _AT_ONCE):
        refs += await store.contents.refs_with_prefix(project_id, beginnings[start : start + _AT_ONCE])
    stored = await _stored(store, project_id, refs)
    by_id = {media_id(ref.digest): content.data for ref, content in stored.items()}
    return {number: data for number, data in by_id.items() if number in ids}


async def messages_of(store: ReadStore, project_id: int, thread: ContentRef | None) -> list[ContentRef]:
    """Returns the refs of a thread's messages, first to last; an empty list for None, the empty thread.  Raises
    ContentMissing."""
    return [] if thread is None else [node.message for node in await store.contents.thread(project_id, thread)]


async def fetch_thread(
    store: ReadStore, project_id: int, thread: ContentRef | None, *others: ContentRef | None
) -> tuple[list[ContentRef], ContentCache]:
    """Reads a thread's messages together with other contents. A thread that is not stored has no messages and counts as
    missing."""
    try:
        messages, lost = await messages_of(store, project_id, thread), None
    except ContentMissing:
        messages, lost = [], thread
    cache = await fetch(store, project_id, (*messages, *others))
    cache.value(lost)
    return messages, cache


def known_messages(cache: ContentCache, refs: Iterable[ContentRef]) -> KnownMessages:
    """The roles and texts of those of the messages that are stored, for a comparison of two contexts."""
    messages: dict[ContentRef, Message] = {}
    for ref in refs:
        message = cache.parsed_message(ref)
        if message is not None:
            messages[ref] = message
    return KnownMessages({ref: message["role"] for ref, message in messages.items()}, messages)


def json_value(content: Content) -> Any:
    """Returns a content as JSON bytes or a string; `{"$bytes": base64}` if it has no JSON form."""
    value = plain_value(content)
    return {"$bytes": base64.b64encode(content.data).decode()} if value is None else value


def plain_value(content: Content) -> str | orjson.Fragment | None:
    """Returns stored JSON unchanged and text as a string; None for anything else."""
    if content.media_type.startswith("text/"):
        return content.data.decode("utf-8", "replace")
    return _fragment(content.data) if is_json_type(content.media_type) else None


def _fragment(data: bytes) -> orjson.Fragment | None:
    try:
        orjson.loads(data)
        return orjson.Fragment(data)
    except orjson.JSONDecodeError:
        pass
    try:  # lone surrogates have no UTF-8 form, but JSON can escape them
        return orjson.Fragment(json.dumps(parse_json(data)).encode())
    except (ValueError, RecursionError):
        return None


async def _stored(store: ReadStore, project_id: int, refs: Iterable[ContentRef | None]) -> Mapping[ContentRef, Content]:
    # Foreign refs (`gs://...`) are kept in spans, and are not fetched.
    ours = list(dict.fromkeys(ref for ref in refs if is_ref(ref) and ref is not None))
    contents: dict[ContentRef, Content] = {}
    for start in range(0, len(ours), _AT_ONCE):
        contents |= await store.contents.get_many(project_id, ours[start : start + _AT_ONCE])
    return contents


def _parts(content: Content) -> list[ContentRef]:
    message = _read_message(content)
    return [] if message is None else refs_inside(message)


def _read_message(content: Content) -> Message | None:
    try:
        message: Any = read_message(content.data)
    except (ValueError, RecursionError):
        return None
    # Clients may upload anything as a message; callers rely on this shape.
    shaped = isinstance(message.get("role"), str) and all(isinstance(part, dict) for part in message["parts"])
    return cast(Message, message) if shaped else None

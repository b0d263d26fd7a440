"""Packs: the body of a content upload, SDK to collector.

Small after compression: a ref is 32 bytes that cannot be compressed, so refs that the reader can compute are not
sent.  Layout: header length (4 bytes, big endian), header (JSON), then the contents' bytes one after another.

| header field | meaning |
|---|---|
| `v` | 1 |
| `media` | media types, named by index below |
| `contents` | `[[media index, size in bytes], ...]` |
| `threads` | `[[parent, [message, ...]], ...]`; a message is an index into `contents` or a ref; a parent is null, an index of an earlier thread in this pack, or a ref |
| `digest` | SHA-256, hex, over the digests of all contents and then of all resulting thread refs: proves the whole pack |
| `masked` | `[[index of a content, ref], ...]` of contents of which a collector has masked a part: `ref` is that of the whole content, and messages that are indices mean it. Such a content counts in `digest` with the digest of its bytes, followed by that of `ref`. Missing if there are none |
"""  # noqa: E501 - the table reads better unbroken

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import orjson

from playhead.model.canonical import Content
from playhead.model.digest import sha256
from playhead.model.ref import ContentRef
from playhead.model.thread import node_ref

PACK = "application/vnd.playhead.pack"
_VERSION = 1


class BadPack(ValueError):
    """The upload cannot be read, or its content does not match its digest."""


@dataclass(frozen=True, slots=True)
class ThreadExtension:
    """Messages to append, in this order, to the thread `parent` (None: a new thread)."""

    parent: ContentRef | None
    messages: tuple[ContentRef, ...]

    @property
    def ref(self) -> ContentRef | None:
        """The ref of the resulting thread; None when both fields are empty."""
        ref = self.parent
        for message in self.messages:
            ref = node_ref(message, ref)
        return ref


@dataclass(frozen=True, slots=True)
class Pack:
    """Contents and thread extensions that are sent together. A thread comes before its extensions."""

    contents: tuple[Content, ...]
    threads: tuple[ThreadExtension, ...]


def encode_pack(pack: Pack) -> bytes:
    """Returns the bytes to send, not compressed."""
    media: dict[str, int] = {}
    index = {content.ref.plain: n for n, content in enumerate(pack.contents)}
    contents = [[media.setdefault(content.media_type, len(media)), len(content.data)] for content in pack.contents]
    tips: dict[ContentRef, int] = {}
    threads: list[list[Any]] = []
    refs = [thread.ref for thread in pack.threads]
    for n, (thread, ref) in enumerate(zip(pack.threads, refs, strict=True)):
        parent = None if thread.parent is None else tips.get(thread.parent, thread.parent)
        threads.append([parent, [index.get(message, message) for message in thread.messages]])
        if ref is not None:
            tips[ref] = n
    digest = _digest(pack.contents, refs)
    header = {"v": _VERSION, "media": list(media), "contents": contents, "threads": threads, "digest": digest}
    if masked := [[n, content.ref] for n, content in enumerate(pack.contents) if content.is_masked]:
        header["masked"] = masked
    head = orjson.dumps(header)
    return b"".join((len(head).to_bytes(4, "big"), head, *(content.data for content in pack.contents)))


def decode_pack(data: bytes) -> Pack:
    """Reads a pack and verifies its digest. Raises BadPack."""
    try:
        size = int.from_bytes(data[:4], "big")
        header = cast(dict[str, Any], orjson.loads(data[4 : 4 + size]))
        if header["v"] != _VERSION:
            raise BadPack(f"pack version {header['v']!r} is not {_VERSION}; update the collector or the SDK")
        contents = _contents(header, data, 4 + size)
        for n, ref in header.get("masked", ()):
            whole = contents[_index(n)]
            contents[n] = Content.masked(ContentRef.parse(ref), whole.data, whole.media_type)
        threads, tips = _threads(header, contents)
        digest = header["digest"]
    except BadPack:
        raise
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise BadPack(f"this is not a pack: {error!r}") from error
    if _digest(contents, tips) != digest:
        raise BadPack("the pack's bytes do not match its digest; send it again")
    return Pack(tuple(contents), tuple(threads))


def _contents(header: dict[str, Any], data: bytes, offset: int) -> list[Content]:
    contents: list[Content] = []
    for media, size in header["contents"]:
        if offset + _index(size) > len(data):
            raise BadPack(f"content {len(contents)} ends after the end of the pack; it was cut off")
        media_type = header["media"][_index(media)]
        if not isinstance(media_type, str):
            raise BadPack(f"the media type of content {len(contents)} is not text")
        contents.append(Content(data[offset : offset + size], media_type))
        offset += size
    if offset != len(data):
        raise BadPack(f"{len(data) - offset} bytes follow the last content")
    return contents


def _threads(
    header: dict[str, Any], contents: Sequence[Content]
) -> tuple[list[ThreadExtension], list[ContentRef | None]]:
    threads: list[ThreadExtension] = []
    tips: list[ContentRef | None] = []
    for parent, messages in header["threads"]:
        refs = tuple(
            ContentRef.parse(m).plain if isinstance(m, str) else contents[_index(m)].ref.plain for m in messages
        )
        if parent is not None:
            parent = ContentRef.parse(parent).plain if isinstance(parent, str) else tips[_index(parent)]  # noqa: PLW2901
        threads.append(ThreadExtension(parent, refs))
        tips.append(threads[-1].ref)
    return threads, tips


def _index(value: object) -> int:
    if type(value) is not int or value < 0:  # True is an int, and -1 would count from the end
        raise BadPack(f"{value!r} is not an index or a size")
    return value


def _digest(contents: Sequence[Content], tips: Sequence[ContentRef | None]) -> str:
    whole = sha256()
    for content in contents:
        if content.is_masked:
            whole.update(sha256(content.data).digest())
        whole.update(content.ref.digest)
    for ref in tips:
        whole.update(ref.digest if ref is not None else b"")
    return whole.hexdigest()

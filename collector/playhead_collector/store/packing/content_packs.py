"""[store]: contents and thread nodes of sealed runs, packed together.  Pure.

A pack is one body: contents one after the other, so that repeated text is compressed, and nodes as the numbers of their
message and their parent.  Refs of items in the pack are not stored, since they can be computed; only refs to items
outside of it are.

Items are found by `keys`, the first four bytes of each ref. Two refs may have the same key, so a look-up compares the
whole hash.
"""

import datetime
import struct
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

import orjson

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode, node_ref

# Reading a content decompresses its whole pack, which takes 0.2 ms for this many bytes.
PACK_BYTES = 128 * 1024
# Larger contents are not packed: it would save little, and they are read one at a time.
LARGEST_PACKED = 32 * 1024
# Each node is hashed once when its pack is read: this many take 3 ms.
PACK_NODES = 1_000
_LENGTH = struct.Struct(">I")


class PackedContent(NamedTuple):
    """A content in a pack; `media` and `role` are the numbers that its row had."""

    ref: ContentRef
    media: int
    role: int
    data: bytes


@dataclass(slots=True)
class PackItems:
    """The items of one pack. Each node comes after its parent."""

    contents: list[PackedContent] = field(default_factory=list[PackedContent])
    nodes: list[ThreadNode] = field(default_factory=list[ThreadNode])

    @property
    def keys(self) -> list[int]:
        """Keys of all refs: contents, then nodes."""
        return [key_of(each.ref) for each in (*self.contents, *self.nodes)]


def key_of(ref: ContentRef) -> int:
    """The first four bytes of a ref, signed; `playhead_key` in SQL."""
    return int.from_bytes(ref.digest[:4], signed=True)


def array_of(keys: Iterable[int]) -> str:
    """Keys as the text of a Postgres array."""
    return "{" + ",".join(map(str, keys)) + "}"


def split(items: Iterable[PackedContent | ThreadNode]) -> list[PackItems]:
    """Packs for these, none much larger than PACK_BYTES, in the given order."""
    packs, size = [PackItems()], 0
    for item in items:
        more = len(item.data) if isinstance(item, PackedContent) else 0
        begun = packs[-1].contents or packs[-1].nodes
        if begun and (size + more > PACK_BYTES or len(packs[-1].nodes) == PACK_NODES):
            packs.append(PackItems())
            size = 0
        size += more
        if isinstance(item, PackedContent):
            packs[-1].contents.append(item)
        else:
            packs[-1].nodes.append(item)
    return [pack for pack in packs if pack.contents or pack.nodes]


def encode(items: PackItems) -> bytes:
    """The body of a pack, not compressed: the length of a JSON head, the head, refs of what is elsewhere, contents.

    Head: `{"c": [[media, role, bytes]], "n": [[message, parent, depth]]}`.  Messages and parents are numbers of
    contents and nodes of this pack, or -1 - the number of a ref that is elsewhere; a root's parent is null.
    """
    contents = {each.ref: n for n, each in enumerate(items.contents)}
    nodes = {each.ref: n for n, each in enumerate(items.nodes)}
    others: dict[ContentRef, int] = {}

    def number(ref: ContentRef, here: dict[ContentRef, int]) -> int:
        found = here.get(ref)
        return -1 - others.setdefault(ref, len(others)) if found is None else found

    rows = [
        [number(each.message, contents), each.parent and number(each.parent, nodes), each.depth] for each in items.nodes
    ]
    head = orjson.dumps({"c": [[each.media, each.role, len(each.data)] for each in items.contents], "n": rows})
    refs = b"".join([ref.digest for ref in others])
    return _LENGTH.pack(len(head)) + head + refs + b"".join([each.data for each in items.contents])


class OpenPack:
    """A pack that was read. Its items are hashed on first use."""

    def __init__(self, keys: Sequence[int], body: bytes, packed: datetime.date = datetime.date.min) -> None:
        """`packed`: the day of packing."""
        self.packed = packed
        head_end = _LENGTH.size + _LENGTH.unpack_from(body)[0]
        head = orjson.loads(body[_LENGTH.size : head_end])
        self._contents: list[tuple[int, int, int]] = head["c"]
        self._nodes: list[tuple[int, int | None, int]] = head["n"]
        at = len(body) - sum(size for _, _, size in self._contents)
        self._others = [ContentRef.from_digest(body[n : n + 32]) for n in range(head_end, at, 32)]
        self._spans: list[tuple[int, int]] = []
        for _, _, size in self._contents:
            self._spans.append((at, at + size))
            at += size
        self._body = body
        self._at: dict[int, list[int]] = {}
        for n, key in enumerate(keys):
            self._at.setdefault(key, []).append(n)
        self._content_refs: dict[int, ContentRef] = {}
        self._hashed: list[ThreadNode] = []
        self.bytes = len(body) + 400 * len(self._nodes) + 200 * len(self._contents)

    @property
    def content_sizes(self) -> list[int]:
        """The size of each content in bytes."""
        return [size for _, _, size in self._contents]

    def content(self, ref: ContentRef) -> PackedContent | None:
        """None: it is not in here."""
        for n in self._at.get(key_of(ref), ()):
            if n < len(self._contents) and self._content_ref(n) == ref:
                return self._content(n)
        return None

    def beginning_with(self, beginning: bytes) -> ContentRef | None:
        """The ref of a content whose digest begins with this, of at least four bytes; None: there is none."""
        numbers = self._at.get(int.from_bytes(beginning[:4], signed=True), ())
        refs = (self._content_ref(n) for n in numbers if n < len(self._contents))
        return next((ref for ref in refs if ref.digest.startswith(beginning)), None)

    def node(self, ref: ContentRef) -> ThreadNode | None:
        """None: it is not in here."""
        n = self._number(ref)
        return None if n is None else self._hash_nodes()[n]

    def chain(self, ref: ContentRef, known: Container[ContentRef] = ()) -> list[ThreadNode]:
        """A node and its ancestors, last one first, as far as they are in this pack and not in `known`."""
        found: list[ThreadNode] = []
        n, nodes = self._number(ref), self._hash_nodes()
        while n is not None and n >= 0 and nodes[n].ref not in known:
            found.append(nodes[n])
            n = self._nodes[n][1]
        return found

    def items(self) -> PackItems:
        """All items of the pack."""
        return PackItems([self._content(n) for n in range(len(self._contents))], list(self._hash_nodes()))

    def _number(self, ref: ContentRef) -> int | None:
        first = len(self._contents)
        for n in self._at.get(key_of(ref), ()):
            if n >= first and self._hash_nodes()[n - first].ref == ref:
                return n - first
        return None

    def _content(self, n: int) -> PackedContent:
        media, role, _ = self._contents[n]
        start, end = self._spans[n]
        return PackedContent(self._content_ref(n), media, role, self._body[start:end])

    def _content_ref(self, n: int) -> ContentRef:
        if n not in self._content_refs:
            start, end = self._spans[n]
            self._content_refs[n] = ContentRef.from_digest(sha256(self._body[start:end]).digest())
        return self._content_refs[n]

    def _hash_nodes(self) -> list[ThreadNode]:
        if len(self._hashed) < len(self._nodes):
            hashed: list[ThreadNode] = []
            for message, parent, depth in self._nodes:
                said = self._content_ref(message) if message >= 0 else self._others[-1 - message]
                before = None if parent is None else hashed[parent].ref if parent >= 0 else self._others[-1 - parent]
                hashed.append(ThreadNode(node_ref(said, before), before, said, depth))
            self._hashed = hashed
        return self._hashed

"""[store]: packs of contents and thread nodes of sealed runs.  Pure.

The body of a pack has its contents one after the other, so that repeated text is compressed, and its nodes as numbers
of their message and parent. The refs of items in the pack are not stored, since they can be computed from the items.
Only refs to items outside of the pack are stored.

Items are looked up by `keys`, the first four bytes of each ref. Two refs may have the same key, so a look-up also
compares the whole hash.

The outline of a pack has all of it but the bytes of its contents: their refs instead, and the refs that they name. It
stays in Postgres when the pack moves to the object store, so that only reading a content needs the object store.
"""

import datetime
import re
import struct
from collections.abc import Container, Iterable, Iterator, Sequence
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
_REF = re.compile(rb"sha256:([0-9a-f]{64})")
_DIGEST = 32


class PackedContent(NamedTuple):
    """A content in a pack. `media` and `role` are the numbers from its row before it was packed."""

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
        """The keys of all refs: first of the contents, then of the nodes."""
        return [key_of(item.ref) for item in (*self.contents, *self.nodes)]


def key_of(ref: ContentRef) -> int:
    """Returns the first four bytes of a ref as a signed number; `playhead_key` in SQL."""
    return int.from_bytes(ref.digest[:4], signed=True)


def digests_in(text: bytes) -> Iterator[bytes]:
    """Yields the digest of everything in the text that looks like a ref."""
    return (bytes.fromhex(match[1].decode()) for match in _REF.finditer(text))


def array_of(keys: Iterable[int]) -> str:
    """Formats keys as the text of a Postgres array."""
    return "{" + ",".join(map(str, keys)) + "}"


def split(items: Iterable[PackedContent | ThreadNode]) -> list[PackItems]:
    """Distributes items to packs, in the given order. No pack is much larger than PACK_BYTES."""
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
    """Returns the uncompressed body of a pack: length of the JSON head, head, refs to items outside of the pack,
    contents.

    Head: `{"c": [[media, role, bytes]], "n": [[message, parent, depth]]}`.  Messages and parents are numbers of
    contents and nodes of this pack. For an item outside of the pack, the number is -1 - the index of its ref. The
    parent of a root is null.
    """
    contents = {item.ref: n for n, item in enumerate(items.contents)}
    nodes = {item.ref: n for n, item in enumerate(items.nodes)}
    others: dict[ContentRef, int] = {}

    def number(ref: ContentRef, here: dict[ContentRef, int]) -> int:
        index = here.get(ref)
        return -1 - others.setdefault(ref, len(others)) if index is None else index

    rows = [
        [number(item.message, contents), item.parent and number(item.parent, nodes), item.depth] for item in items.nodes
    ]
    head = orjson.dumps({"c": [[item.media, item.role, len(item.data)] for item in items.contents], "n": rows})
    refs = b"".join([ref.digest for ref in others])
    return _LENGTH.pack(len(head)) + head + refs + b"".join([item.data for item in items.contents])


def outline_of(pack: "OpenPack") -> bytes:
    """Returns the outline of a pack, not compressed: as a body, with digests instead of contents.

    Head: as in `encode`, and `"r"`, the number of refs that each content names. After the refs to items outside of the
    pack come the digests of its contents, and the digests that they name.
    """
    items = pack.items()
    named = [list(dict.fromkeys(digests_in(item.data))) for item in items.contents]
    body = encode(items)
    head_end = _LENGTH.size + _LENGTH.unpack_from(body)[0]
    head = orjson.loads(body[_LENGTH.size : head_end]) | {"r": [len(digests) for digests in named]}
    encoded = orjson.dumps(head)
    others = body[head_end : len(body) - sum(len(item.data) for item in items.contents)]
    digests = b"".join([item.ref.digest for item in items.contents])
    return b"".join((_LENGTH.pack(len(encoded)), encoded, others, digests, *(each for row in named for each in row)))


class OpenPack:
    """A decoded pack, or the outline of one. The refs of a pack's items are computed on first use.

    Of an outline, contents cannot be read: `content` and `items` raise ValueError.
    """

    def __init__(
        self,
        keys: Sequence[int],
        body: bytes,
        packed: datetime.date = datetime.date.min,
        *,
        number: int = 0,
        is_outline: bool = False,
    ) -> None:
        """`keys`: the pack's keys; `body`: its uncompressed body or outline; `packed`: the day when it was packed;
        `number`: its number in its project."""
        self.packed, self.number = packed, number
        self.is_outline = is_outline
        head_end = _LENGTH.size + _LENGTH.unpack_from(body)[0]
        head = orjson.loads(body[_LENGTH.size : head_end])
        self._contents: list[tuple[int, int, int]] = head["c"]
        self._nodes: list[tuple[int, int | None, int]] = head["n"]
        self._content_refs: dict[int, ContentRef] = {}
        self._named: list[list[bytes]] = []
        self._spans: list[tuple[int, int]] = []
        if is_outline:
            offset = len(body) - _DIGEST * (len(self._contents) + sum(head["r"]))
            digests = _split_digests(body[offset:])
            self._content_refs = {n: ContentRef.from_digest(next(digests)) for n in range(len(self._contents))}
            self._named = [[next(digests) for _ in range(count)] for count in head["r"]]
        else:
            offset = len(body) - sum(size for _, _, size in self._contents)
        self._others = [ContentRef.from_digest(digest) for digest in _split_digests(body[head_end:offset])]
        for _, _, size in self._contents:
            self._spans.append((offset, offset + size))
            offset += size
        self._body = body
        self._at: dict[int, list[int]] = {}
        for n, key in enumerate(keys):
            self._at.setdefault(key, []).append(n)
        self._hashed: list[ThreadNode] = []
        self.bytes = len(body) + 400 * len(self._nodes) + 200 * len(self._contents)

    def has(self, ref: ContentRef) -> bool:
        """Returns whether the pack has this content or thread node."""
        return self._content_number(ref) is not None or self._number(ref) is not None

    def has_content(self, ref: ContentRef) -> bool:
        """Returns whether the pack has this content."""
        return self._content_number(ref) is not None

    def role_and_size(self, ref: ContentRef) -> tuple[int, int] | None:
        """Returns the role's number and the size in bytes of the content with this ref; None if there is none."""
        n = self._content_number(ref)
        return None if n is None else (self._contents[n][1], self._contents[n][2])

    def content_digests(self) -> list[bytes]:
        """Returns the digests of all contents."""
        return [self._content_ref(n).digest for n in range(len(self._contents))]

    def node_digests(self) -> list[bytes]:
        """Returns the digests of all thread nodes."""
        return [node.ref.digest for node in self._hash_nodes()]

    def digests_named_by(self, ref: ContentRef) -> list[bytes]:
        """Returns the digests that look like refs in the content with this ref; none if there is no such content."""
        n = self._content_number(ref)
        if n is None:
            return []
        return self._named[n] if self.is_outline else list(digests_in(self._content(n).data))

    @property
    def content_sizes(self) -> list[int]:
        """The size of each content in bytes."""
        return [size for _, _, size in self._contents]

    def content(self, ref: ContentRef) -> PackedContent | None:
        """Returns the content with this ref; None if the pack does not have it."""
        n = self._content_number(ref)
        return None if n is None else self._content(n)

    def ref_with_prefix(self, prefix: bytes) -> ContentRef | None:
        """Returns the ref of a content whose digest begins with these bytes (at least four); None if there is none."""
        numbers = self._at.get(int.from_bytes(prefix[:4], signed=True), ())
        refs = (self._content_ref(n) for n in numbers if n < len(self._contents))
        return next((ref for ref in refs if ref.digest.startswith(prefix)), None)

    def node(self, ref: ContentRef) -> ThreadNode | None:
        """Returns the thread node with this ref; None if the pack does not have it."""
        n = self._number(ref)
        return None if n is None else self._hash_nodes()[n]

    def chain(self, ref: ContentRef, known_refs: Container[ContentRef] = ()) -> list[ThreadNode]:
        """Returns a node and its ancestors, last node first, as far as they are in this pack and not in
        `known_refs`."""
        path: list[ThreadNode] = []
        n, nodes = self._number(ref), self._hash_nodes()
        while n is not None and n >= 0 and nodes[n].ref not in known_refs:
            path.append(nodes[n])
            n = self._nodes[n][1]
        return path

    def items(self) -> PackItems:
        """Returns all items of the pack."""
        return PackItems([self._content(n) for n in range(len(self._contents))], list(self._hash_nodes()))

    def _content_number(self, ref: ContentRef) -> int | None:
        for n in self._at.get(key_of(ref), ()):
            if n < len(self._contents) and self._content_ref(n) == ref:
                return n
        return None

    def _number(self, ref: ContentRef) -> int | None:
        first = len(self._contents)
        for n in self._at.get(key_of(ref), ()):
            if n >= first and self._hash_nodes()[n - first].ref == ref:
                return n - first
        return None

    def _content(self, n: int) -> PackedContent:
        if self.is_outline:
            raise ValueError("an outline has no contents: read the pack's body from the object store")
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
                message_ref = self._content_ref(message) if message >= 0 else self._others[-1 - message]
                before = None if parent is None else hashed[parent].ref if parent >= 0 else self._others[-1 - parent]
                hashed.append(ThreadNode(node_ref(message_ref, before), before, message_ref, depth))
            self._hashed = hashed
        return self._hashed


def _split_digests(digests: bytes) -> Iterator[bytes]:
    return (digests[start : start + _DIGEST] for start in range(0, len(digests), _DIGEST))

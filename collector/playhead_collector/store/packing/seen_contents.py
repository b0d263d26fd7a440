"""[store]: which contents a run had, with the seq at which each entered it and its block in the search index.  Pure.

Contents are named by the first eight bytes of their refs.
"""

import struct
from collections.abc import Mapping
from typing import NamedTuple

from playhead.model.ref import ContentRef
from playhead_collector.store.packing.zstd import Zstd

PREFIX_BYTES = 8
"""Bytes of a ref that name a content in the search index: enough for any number of contents, a quarter of a ref."""
_ZSTD = Zstd(b"")


class SeenContent(NamedTuple):
    """The seq with which a content entered a run, and the number of the content's block."""

    seq: int
    block: int


def prefix_of(ref: ContentRef) -> bytes:
    """Returns the bytes that name a content here."""
    return ref.digest[:PREFIX_BYTES]


def encode(seen: Mapping[ContentRef, SeenContent]) -> bytes:
    """Returns the contents in a compact form."""
    in_order = sorted(seen.items(), key=lambda item: item[1].seq)
    numbers = [content.seq for _, content in in_order] + [content.block for _, content in in_order]
    names = b"".join(prefix_of(ref) for ref, _ in in_order)
    return _ZSTD.compress(names + struct.pack(f">{len(numbers)}q", *numbers))


def decode(body: bytes) -> dict[bytes, SeenContent]:
    """Returns what `encode` was given, by the first bytes of the refs."""
    plain = _ZSTD.read(body)
    count = len(plain) // (PREFIX_BYTES + 2 * 8)
    numbers = struct.unpack_from(f">{2 * count}q", plain, count * PREFIX_BYTES)
    return {
        plain[n * PREFIX_BYTES : (n + 1) * PREFIX_BYTES]: SeenContent(numbers[n], numbers[count + n])
        for n in range(count)
    }

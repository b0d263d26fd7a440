"""[store]: blocks of the search index: up to 64 contents, and which of them have which term.  Pure.

A row of a block has the terms of all its contents as an array, which an index of Postgres finds; the body says which
contents have each. So it is known without reading a text which contents of a block have all of some terms.

Body, compressed: number of contents; their names, roles and times; for each term in the order of the array a byte, the
number of the one content that has it, or 255; for each 255 a bit for each
content, in as many bytes as these need. A content is named by the first eight bytes of its ref.
"""

import struct
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import NamedTuple

from playhead_collector.store.packing.seen_contents import PREFIX_BYTES
from playhead_collector.store.packing.zstd import Zstd

MOST_CONTENTS = 64
"""The most contents of a block: one bit each."""
_SEVERAL = 255
_ZSTD = Zstd(b"")


class IndexedContent(NamedTuple):
    """A content in a block. `prefix`: the first bytes of its ref. `role`: the number of its role. `since_ns`: start of
    the first run that was indexed with it."""

    prefix: bytes
    role: int
    since_ns: int
    terms: Set[int]


class SearchBlock(NamedTuple):
    """A block in the form of its row. `oldest_ns` and `newest_ns`: the least and the greatest `since_ns`."""

    oldest_ns: int
    newest_ns: int
    contents: int
    terms: Sequence[int]
    body: bytes


def split(contents: Sequence[IndexedContent]) -> list[Sequence[IndexedContent]]:
    """Divides contents among as few blocks as possible, of about the same size."""
    blocks = -(-len(contents) // MOST_CONTENTS)
    return [contents[n * len(contents) // blocks : (n + 1) * len(contents) // blocks] for n in range(blocks)]


def encode(contents: Sequence[IndexedContent]) -> SearchBlock:
    """Returns the block of these contents, at least 1 and at most 64."""
    bits: defaultdict[int, int] = defaultdict(int)
    for number, content in enumerate(contents):
        for term in content.terms:
            bits[term] |= 1 << number
    terms = sorted(bits)
    single = [bits[term].bit_length() - 1 if bits[term].bit_count() == 1 else _SEVERAL for term in terms]
    several = [bits[term] for term, holder in zip(terms, single, strict=True) if holder == _SEVERAL]
    width = _bytes_for(len(contents))
    times = [content.since_ns for content in contents]
    plain = b"".join(
        (
            bytes((len(contents),)),
            *(content.prefix for content in contents),
            bytes(content.role for content in contents),
            struct.pack(f">{len(contents)}q", *times),
            bytes(single),
            b"".join(bits.to_bytes(width) for bits in several),
        )
    )
    return SearchBlock(min(times), max(times), len(contents), terms, _ZSTD.compress(plain))


class OpenBlock:
    """A block that was read."""

    def __init__(self, body: bytes, terms: int) -> None:
        """`terms`: how many terms the block has."""
        self._plain = plain = _ZSTD.read(body)
        self._count = count = plain[0]
        after_names = 1 + count * PREFIX_BYTES
        self._roles = plain[after_names : after_names + count]
        self._times = struct.unpack_from(f">{count}q", plain, after_names + count)
        self._holders = after_names + count * 9
        self._several = self._holders + terms
        self._width = _bytes_for(count)

    def contents(self, terms: Sequence[int]) -> list[IndexedContent]:
        """Returns all contents. `terms`: those of the block."""
        of_content: list[set[int]] = [set() for _ in range(self._count)]
        for place, term in enumerate(terms):
            for number in _numbers_in(self._bits(place)):
                of_content[number].add(term)
        return [self._content(number, each) for number, each in enumerate(of_content)]

    def having(self, places: Iterable[int]) -> Iterator[IndexedContent]:
        """Yields the contents that have all terms at these places of the block's array. Given without terms."""
        bits = (1 << self._count) - 1
        for place in places:
            bits &= self._bits(place)
        return (self._content(number, frozenset()) for number in _numbers_in(bits))

    def _content(self, number: int, terms: Set[int]) -> IndexedContent:
        start = 1 + number * PREFIX_BYTES
        return IndexedContent(
            self._plain[start : start + PREFIX_BYTES], self._roles[number], self._times[number], terms
        )

    def _bits(self, place: int) -> int:
        holder = self._plain[self._holders + place]
        if holder != _SEVERAL:
            return 1 << holder
        before = self._plain.count(_SEVERAL, self._holders, self._holders + place)
        start = self._several + self._width * before
        return int.from_bytes(self._plain[start : start + self._width])


def _bytes_for(contents: int) -> int:
    return -(-contents // 8)


def _numbers_in(bits: int) -> Iterator[int]:
    while bits:
        lowest = bits & -bits
        yield lowest.bit_length() - 1
        bits ^= lowest

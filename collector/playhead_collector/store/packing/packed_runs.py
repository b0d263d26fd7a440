"""[store]: the record of a thinned run in one piece: its pages of spans and events, and its snapshots.  Pure.

Body: the number of the zstd dictionary in a byte; then, compressed together, the length of the JSON head, the head, and
the JSON of all pages one after the other. Spans and events name the same refs, so that together they take much less.
"""

import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from uuid import UUID

import orjson

from playhead_collector.store.packing.zstd import NEWEST, builtin

_LENGTH = struct.Struct(">I")


class PlainSpanPage(NamedTuple):
    """A page of spans, not compressed, with what its row says beside."""

    page: int
    digest: UUID
    items: int
    json: bytes


class PlainEventPage(NamedTuple):
    """A page of events, not compressed: those from seq `first` to `last`."""

    page: int
    first: int
    last: int
    json: bytes


class PlainSnapshot(NamedTuple):
    """A state, not compressed, with the part of its history since the one before."""

    seq: int
    history: bytes
    json: bytes


@dataclass(slots=True)
class WholeRecord:
    """All pages of a run."""

    spans: list[PlainSpanPage] = field(default_factory=list[PlainSpanPage])
    events: list[PlainEventPage] = field(default_factory=list[PlainEventPage])
    snapshots: list[PlainSnapshot] = field(default_factory=list[PlainSnapshot])

    def texts(self) -> Iterator[bytes]:
        """Yields the JSON of all pages, in which refs are found."""
        for page in (*self.spans, *self.events, *self.snapshots):
            yield page.json


def encode(record: WholeRecord) -> bytes:
    """Returns the body of a record."""
    head = {
        "s": [[page.page, page.digest.hex, page.items, len(page.json)] for page in record.spans],
        "e": [[page.page, page.first, page.last, len(page.json)] for page in record.events],
        "n": [[state.seq, state.history.hex(), len(state.json)] for state in record.snapshots],
    }
    json = orjson.dumps({name: rows for name, rows in head.items() if rows})
    plain = b"".join([_LENGTH.pack(len(json)), json, *record.texts()])
    return bytes((NEWEST,)) + builtin(NEWEST).compress_pack(plain)


def decode(body: bytes) -> WholeRecord:
    """Reads the body of a record."""
    plain = builtin(body[0]).read(body[1:])
    at = _LENGTH.size + _LENGTH.unpack_from(plain)[0]
    head: dict[str, list[list[Any]]] = orjson.loads(plain[_LENGTH.size : at])
    texts = _cut(plain, at, [row[-1] for name in "sen" for row in head.get(name, ())])
    return WholeRecord(
        [PlainSpanPage(page, UUID(digest), items, next(texts)) for page, digest, items, _ in head.get("s", ())],
        [PlainEventPage(page, first, last, next(texts)) for page, first, last, _ in head.get("e", ())],
        [PlainSnapshot(seq, bytes.fromhex(history), next(texts)) for seq, history, _ in head.get("n", ())],
    )


def _cut(plain: bytes, at: int, sizes: Iterable[int]) -> Iterator[bytes]:
    for size in sizes:
        yield plain[at : at + size]
        at += size


def digests_of(kept: bytes) -> Sequence[bytes]:
    """Returns the digests in the column `kept`, 32 bytes each."""
    return [kept[at : at + 32] for at in range(0, len(kept), 32)]

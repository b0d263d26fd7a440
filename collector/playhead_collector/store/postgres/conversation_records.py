"""serve → [store]: the records of conversations that are kept as records: texts that name contents by ref.

A ref in a record keeps its content from being swept (`mark_stated` in gc.sql). In the stored text each ref is a byte 1,
which JSON does not have; its digest is in a column of its own.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from playhead.model.ref import ContentRef
from playhead.model.thread import node_ref
from playhead_collector.store.packing.zstd import NEWEST_FOR_RECORDS, builtin
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.dictionaries import AS_IT_IS
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.statements import Conn

_REF: Final = re.compile(rb"sha256:([0-9a-f]{64})(?![0-9a-f])")
_PLACE: Final = b"\x01"
_DIGEST_BYTES: Final = 32
_MOST_BYTES: Final = 4 * 2**20


def refs_of(records: Sequence[str]) -> list[ContentRef]:
    """Returns the contents that records name, each once."""
    found = (ContentRef(f"sha256:{match[1].decode()}") for text in records for match in _REF.finditer(text.encode()))
    return [*dict.fromkeys(found)]


def head_of(records: Sequence[str], before: ContentRef | None) -> ContentRef | None:
    """Returns the head of a conversation with these records after `before`: as of a thread with them as messages."""
    head = before
    for text in records:
        head = node_ref(ContentRef.of(text.encode()), head)
    return head


async def add(conn: Conn, project_id: int, log: int, after: int, records: Sequence[str]) -> None:
    """Stores records behind the first `after`."""
    texts = [text.encode() for text in records]
    plain = [_REF.sub(_PLACE, text) for text in texts]
    packed = [builtin(NEWEST_FOR_RECORDS).compress(text) for text in plain]
    smaller = [len(body) < len(text) for body, text in zip(packed, plain, strict=True)]
    await sql.run(
        conn,
        "add_records",
        project_id=project_id,
        log=log,
        after=after,
        encodings=[-NEWEST_FOR_RECORDS if is_smaller else AS_IT_IS for is_smaller in smaller],
        refs=[b"".join(bytes.fromhex(match[1].decode()) for match in _REF.finditer(text)) for text in texts],
        bodies=[body if small else text for small, body, text in zip(smaller, packed, plain, strict=True)],
    )


async def read(conn: Conn, packs: Packs, project_id: int, log: int, after: int, limit: int) -> list[str]:
    """Returns records behind the first `after`: at most `limit`, and about 4 MiB."""
    records: list[str] = []
    size = 0
    for row in await sql.rows(conn, "records", project_id=project_id, log=log, after=after, how_many=limit):
        body = await packs.dictionaries.plain(conn, project_id, row["encoding"], row["body"])
        text = _with_refs(body, row["refs"])
        size += len(text)
        if records and size > _MOST_BYTES:
            break
        records.append(text)
    return records


def _with_refs(text: bytes, refs: bytes) -> str:
    digests = _digests(refs)
    first, *rest = text.split(_PLACE)
    return b"".join((first, *(b"sha256:%b%b" % (next(digests), part) for part in rest))).decode()


def _digests(refs: bytes) -> Iterator[bytes]:
    for at in range(0, len(refs), _DIGEST_BYTES):
        yield refs[at : at + _DIGEST_BYTES].hex().encode()

"""[receive, lift] → store: the rows of contents: written, read, and updated once a day.

A content that is stored already costs only one look-up: it is not compressed again, and its row is updated once a day.
"""

import asyncio
import datetime
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import zstandard
from asyncpg import Record

from playhead.model.canonical import BYTES, JSON, TEXT, Content, content_as
from playhead.model.digest import sha256
from playhead.model.ref import ContentRef
from playhead.model.thread import THREAD, node_bytes
from playhead_collector.errors import ContentCorrupt
from playhead_collector.store.packing.content_packs import PackedContent
from playhead_collector.store.packing.kinds import kind_in, kind_named
from playhead_collector.store.packing.roles import role_in, role_named
from playhead_collector.store.packing.zstd import ARRIVING_LEVEL, Zstd
from playhead_collector.store.ports.contents import ContentFacts, content_tier
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import WriteContext
from playhead_collector.store.postgres.dictionaries import AS_IT_IS, Dictionaries
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.statements import Conn

log = logging.getLogger(__name__)

# The numbers are stored in rows: add to these lists, never change them.
_MEDIA = {1: JSON, 2: TEXT, 3: BYTES, 4: "image/png", 5: "image/jpeg", 6: "text/plain"}
_MEDIA_NUMBERS = {name: number for number, name in _MEDIA.items()}

# Stored frames begin without the magic number. With it, the header of a frame has at most 18 bytes.
_MAGIC = b"\x28\xb5\x2f\xfd"
# Compressing more bytes than this takes milliseconds, in which the event loop would answer no other request.
_BUSY_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class _Row:
    ref: bytes
    media: int
    encoding: int
    role: int
    kind: int
    size: int
    body: bytes
    masked: bytes | None = None
    """Digest of the content's bytes, if they are masked and so not those of the ref."""


class StoredContents(NamedTuple):
    """Digests of the new contents, their size in bytes, and whether any run waits for content."""

    new: list[bytes]
    new_bytes: int
    is_awaited: bool


async def put(
    conn: Conn,
    packs: Packs,
    write_context: WriteContext,
    contents: Iterable[Content],
    today: datetime.date,
    unproven: Collection[bytes] = (),
) -> StoredContents:
    """Stores the contents that are not stored yet. Where a masked content is stored under the ref of another one that
    comes now, it is replaced.

    `unproven`: digests in the refs of contents that came masked: nobody can tell whether they are what is left of these
    refs, so they replace nothing.
    """
    project_id = write_context.project_id
    by_ref = {content.ref.digest: content for content in contents}
    # Sorted, so that transactions with the same contents wait for each other without a deadlock.
    refs = sorted(by_ref)
    await write_context.note_refs(conn, refs)
    touched: Sequence[Record] = ()
    if refs:
        touched = await sql.rows(conn, "touch_contents", project_id=project_id, refs=refs, today=today)
    stored = {row["ref"] for row in touched}
    if masked := [row for row in touched if row["masked"] is not None and row["ref"] not in unproven]:
        others = [by_ref[row["ref"]] for row in masked if _is_other(by_ref[row["ref"]], row)]
        await replace(conn, packs, project_id, others, proven=True)
    rest = [by_ref[ref].ref for ref in refs if ref not in stored]
    packed = await packs.mark_used(conn, project_id, rest, today)
    new = {ref.digest: by_ref[ref.digest] for ref in rest if ref not in packed}
    if not new:
        return StoredContents([], 0, is_awaited=False)
    rows = await _rows(conn, packs, project_id, new)
    claims = [True if row.ref in unproven else None for row in rows]
    awaited = await sql.value(
        conn, "insert_contents", project_id=project_id, today=today, unproven=claims, **_columns(rows)
    )
    return StoredContents(list(new), sum(len(content.data) for content in new.values()), awaited)


async def replace(conn: Conn, packs: Packs, project_id: int, contents: Iterable[Content], *, proven: bool) -> None:
    """Stores the bytes of contents in place of those that the rows of their refs have. `proven`: they were made of the
    bytes that the refs name, not of what the rows have."""
    by_ref = {content.ref.digest: content for content in contents}
    if by_ref:
        rows = await _rows(conn, packs, project_id, by_ref)
        await sql.run(conn, "replace_contents", project_id=project_id, proven=proven, **_columns(rows))


async def put_unpacked(
    conn: Conn,
    packs: Packs,
    project_id: int,
    contents: Iterable[Content],
    before: Mapping[bytes, PackedContent],
    today: datetime.date,
) -> None:
    """Stores contents that were taken out of packs, also where others are stored under their refs. `before`: by digest,
    what the packs had."""
    rows = await _rows(conn, packs, project_id, {content.ref.digest: content for content in contents})
    packed = [before[row.ref] for row in rows]
    columns = _columns(rows) | {
        "kinds": [item.kind or row.kind for item, row in zip(packed, rows, strict=True)],
        "tokens": [item.tokens for item in packed],
        "stored": [item.first_stored for item in packed],
    }
    await sql.run(conn, "insert_unpacked", project_id=project_id, today=today, **columns)


def _is_other(content: Content, stored: Record) -> bool:
    """Whether a content that came has other bytes than the masked one that is stored, or proves it."""
    return bool(stored["unproven"]) or sha256(content.data).digest() != stored["masked"]


async def _rows(conn: Conn, packs: Packs, project_id: int, new: Mapping[bytes, Content]) -> list[_Row]:
    media = await _media_numbers(conn, project_id, {content.media_type for content in new.values()})
    encoding = await packs.dictionaries.newest(conn, project_id)
    zstd = await packs.dictionaries.zstd(conn, project_id, encoding)
    if sum(len(content.data) for content in new.values()) > _BUSY_BYTES:
        return await asyncio.to_thread(_encode, new, media, encoding, zstd)
    return _encode(new, media, encoding, zstd)


def _columns(rows: Sequence[_Row]) -> dict[str, Any]:
    return {
        "refs": [row.ref for row in rows],
        "media": [row.media for row in rows],
        "encodings": [row.encoding for row in rows],
        "roles": [row.role for row in rows],
        "kinds": [row.kind for row in rows],
        "sizes": [row.size for row in rows],
        "bodies": [row.body for row in rows],
        "masked": [row.masked for row in rows],
    }


async def read(conn: Conn, packs: Packs, project_id: int, refs: Iterable[ContentRef]) -> dict[ContentRef, Content]:
    """Returns the stored contents and thread nodes by ref, in the form that the ref's suffix names. Raises
    ContentCorrupt; raises BodiesNeeded for contents in the object store."""
    wanted: dict[bytes, set[ContentRef]] = {}
    for ref in refs:
        wanted.setdefault(ref.digest, set()).add(ref)
    contents: dict[ContentRef, Content] = {}
    missing = set(wanted)
    rows = await sql.rows(conn, "read_contents", project_id=project_id, refs=list(wanted))
    for row, body in zip(rows, await packs.bodies_of(conn, project_id, rows, "content"), strict=True):
        ref = ContentRef.from_digest(row["ref"])
        try:
            content = await _content(conn, packs.dictionaries, project_id, row, body)
        except zstandard.ZstdError as error:
            raise ContentCorrupt(f"{ref} cannot be decompressed ({error}): restore it from a backup") from error
        if row["masked"] is not None and sha256(content.data).digest() == row["masked"]:
            content = Content.masked(ref, content.data, content.media_type)
        if content.ref.digest != row["ref"]:
            raise ContentCorrupt(f"what is stored under {ref} has another digest: restore it from a backup")
        contents |= _asked_as(content, wanted[row["ref"]])
        missing.discard(row["ref"])
    # After the rows: contents move from rows to packs, never back.
    for ref, content in (await _packed(conn, packs, project_id, missing)).items():
        contents |= _asked_as(content, wanted[ref.digest])
    return contents


async def read_rows(conn: Conn, packs: Packs, project_id: int, refs: Iterable[ContentRef]) -> list[Content]:
    """Returns those of these contents that have rows, as they are stored, without those that are damaged. Raises
    BodiesNeeded for contents in the object store."""
    contents: list[Content] = []
    rows = await sql.rows(conn, "read_contents", project_id=project_id, refs=[ref.digest for ref in refs])
    rows = [row for row in rows if row["encoding"] is not None]  # without nodes of threads
    for row, body in zip(rows, await packs.bodies_of(conn, project_id, rows, "content"), strict=True):
        with suppress(zstandard.ZstdError):
            content = await _content(conn, packs.dictionaries, project_id, row, body)
            if row["masked"] is not None:
                content = Content.masked(ContentRef.from_digest(row["ref"]), content.data, content.media_type)
            if content.ref.digest == row["ref"]:
                contents.append(content)
    return contents


def _asked_as(content: Content, refs: Iterable[ContentRef]) -> dict[ContentRef, Content]:
    return {ref: content_as(content, ref) for ref in refs}


async def _packed(conn: Conn, packs: Packs, project_id: int, digests: Iterable[bytes]) -> dict[ContentRef, Content]:
    refs = [ContentRef.from_digest(digest) for digest in digests]
    contents = await packs.contents(conn, project_id, refs)
    nodes = await packs.nodes(conn, project_id, [ref for ref in refs if ref not in contents])
    names = await media_names(conn, project_id, {packed.media for packed in contents.values()})
    by_ref = {ref: Content(packed.data, names.get(packed.media, BYTES)) for ref, packed in contents.items()}
    return by_ref | {ref: Content(node_bytes(node.message, node.parent), THREAD) for ref, node in nodes.items()}


async def media_names(conn: Conn, project_id: int, numbers: Iterable[int]) -> Mapping[int, str]:
    """Returns the media types of these numbers; others may be among them."""
    if not (others := [number for number in numbers if number not in _MEDIA]):
        return _MEDIA
    rows = await sql.rows(conn, "media_names", project_id=project_id, numbers=others)
    return {**_MEDIA, **{row["media"]: row["name"] for row in rows}}


async def roles_of(conn: Conn, packs: Packs, project_id: int, refs: Iterable[ContentRef]) -> dict[ContentRef, str]:
    """Returns the role of each stored content; an empty text for a content that is not a message."""
    if not (wanted := set(refs)):
        return {}
    rows = await sql.rows(conn, "roles_of", project_id=project_id, refs=[ref.digest for ref in wanted])
    roles = {ContentRef.from_digest(row["ref"]): role_named(row["role"]) or "" for row in rows}
    packed = await packs.facts_of_many(conn, project_id, wanted - roles.keys())
    return roles | {ref: role_named(facts.role) or "" for ref, facts in packed.items()}


async def missing(
    conn: Conn,
    packs: Packs,
    write_context: WriteContext,
    refs: Iterable[ContentRef],
    today: datetime.date,
    *,
    proven: bool = False,
) -> list[ContentRef]:
    """Returns the refs that are stored neither as content nor as thread. Sets `last_seen` of the others to today.

    `proven`: what came masked is missing, since nobody has shown that it is what is left of the ref's bytes.
    """
    project_id, by_digest = write_context.project_id, {ref.digest: ref for ref in refs}
    if by_digest:
        await write_context.note_refs(conn, by_digest)
        claimed: list[ContentRef] = []
        for row in await sql.rows(conn, "touch", project_id=project_id, refs=list(by_digest), today=today):
            ref = by_digest.pop(row["ref"], None)
            if proven and row["unproven"] and ref is not None:
                claimed.append(ref)
        packed = await packs.mark_used(conn, project_id, list(map(ContentRef.from_digest, by_digest)), today)
        return [ref for ref in by_digest.values() if ref.plain not in packed] + claimed
    return []


async def facts_of(conn: Conn, packs: Packs, project_id: int, ref: ContentRef) -> ContentFacts | None:
    """Returns what is stored about a content besides its bytes; None for a thread, and for what is not stored."""
    row = await sql.row(conn, "content_facts", project_id=project_id, ref=ref.digest)
    if row is not None:
        tier = content_tier(is_moved=row["moved"])
        return ContentFacts(kind_named(row["kind"]), row["tokens"], row["first_stored"], row["last_seen"], tier)
    # After the row: contents move from rows to packs, never back.
    return await packs.facts(conn, project_id, ref)


def plain_size(encoding: int, stored: int, head: bytes) -> int:
    """Returns the size that a body had before it was compressed. `stored`: its size now; `head`: its first 14 bytes."""
    return stored if encoding == AS_IT_IS else zstandard.frame_content_size(_MAGIC + head)


async def _media_numbers(conn: Conn, project_id: int, names: Iterable[str]) -> Mapping[str, int]:
    # A media type is ASCII; for any other text, the content is stored with the type of unknown bytes.
    others = [name for name in names if name not in _MEDIA_NUMBERS and name.isascii() and name.isprintable()]
    if not others:
        return _MEDIA_NUMBERS
    await sql.run(conn, "insert_media_types", project_id=project_id, names=sorted(others))
    rows = await sql.rows(conn, "media_types", project_id=project_id, names=others)
    return {**_MEDIA_NUMBERS, **{row["name"]: row["media"] for row in rows}}


def _encode(new: Mapping[bytes, Content], media: Mapping[str, int], encoding: int, zstd: Zstd) -> list[_Row]:
    rows: list[_Row] = []
    bodies = zstd.compress_many([content.data for content in new.values()], ARRIVING_LEVEL)
    for (ref, content), body in zip(new.items(), bodies, strict=True):
        number = media.get(content.media_type, _MEDIA_NUMBERS[BYTES])
        role = role_in(content.data)  # whatever the media type, which is only what the first of several senders said
        smaller = len(body) < len(content.data)
        rows.append(
            _Row(
                ref,
                number,
                encoding if smaller else AS_IT_IS,
                role,
                kind_in(content.data, role),
                len(content.data),
                body if smaller else content.data,
                sha256(content.data).digest() if content.is_masked else None,
            )
        )
    return rows


async def _content(conn: Conn, dictionaries: Dictionaries, project_id: int, row: Record, body: bytes) -> Content:
    if row["encoding"] is None:
        parent = ContentRef.from_digest(body[32:]) if len(body) > 32 else None
        return Content(node_bytes(ContentRef.from_digest(body[:32]), parent), THREAD)
    return Content(
        await dictionaries.plain(conn, project_id, row["encoding"], body),
        _MEDIA.get(row["media"], row["name"]) or BYTES,
    )

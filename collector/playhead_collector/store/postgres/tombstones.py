"""[store]: tombstones of erased contents: a digest with a secret of the project, never the ref.

A text that can be guessed can be found by its ref, which is a plain digest. With a secret that is in the database
alone, a tombstone tells whether a ref that somebody asks for was erased, and nothing to whoever has only the table.
"""

import datetime
import hmac
from collections.abc import Sequence

from playhead.model.ref import ContentRef
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.statements import Conn

_NS = 1_000_000_000


async def leave(conn: Conn, project_id: int, gone: Sequence[bytes], now_ns: int) -> None:
    """Leaves a tombstone for each of these deleted contents and thread nodes that was to be erased."""
    if not gone:
        return
    erased = await sql.column(conn, "erasing_among", project_id=project_id, refs=gone)
    if not erased:
        return
    secret = await sql.value(conn, "secret", project_id=project_id)
    digests = [digest_of(secret, ref) for ref in erased]
    await sql.run(conn, "erased", project_id=project_id, refs=erased, digests=digests, today=day_of(now_ns))


async def date_of(conn: Conn, project_id: int, ref: ContentRef) -> datetime.date | None:
    """Returns the day on which a content was erased; None: it never was."""
    secret = await sql.value(conn, "secret", project_id=project_id)
    if secret is None:
        return None
    return await sql.value(conn, "content_tombstone", project_id=project_id, digest=digest_of(secret, ref.digest))


def digest_of(secret: bytes, value: bytes) -> bytes:
    """Returns the digest of a ref's digest, or of what a request named, with the project's secret."""
    return hmac.digest(secret, value, "sha256")


def day_of(now_ns: int) -> datetime.date:
    """Returns the UTC date of a time in ns since 1970."""
    return datetime.datetime.fromtimestamp(now_ns // _NS, datetime.UTC).date()

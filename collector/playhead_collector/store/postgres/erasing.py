"""[store]: what is to be erased: contents and thread nodes that forgotten runs and conversations named.

The next sweep deletes those that nothing else names, without the grace period. Senders believe for an hour that what
they have sent, or asked for, is stored. So what was stored or named in this time is erased after it: by then, whoever
wants to name it has sent it again, since the epoch has changed. Who does so takes it out of the list (`note_news`).
"""

from collections.abc import Collection
from typing import Final
from uuid import UUID

from playhead.model.ref import ContentRef
from playhead_collector.store.postgres import named_refs
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.statements import Conn
from playhead_collector.store.postgres.tombstones import day_of

# An hour, as in `playhead.export.ship`, and some minutes for what is being sent.
BELIEVED_NS: Final = 3_900 * 1_000_000_000


async def add(
    conn: Conn,
    packs: Packs,
    project_id: int,
    refs: Collection[bytes],
    now_ns: int,
    hold_ns: int,
    job: UUID | None = None,
) -> None:
    """Adds contents and thread nodes. What was stored or named within `hold_ns` is erased after that time.

    Call it while writers are excluded, or for what was dropped."""
    in_order = sorted(refs)
    packed = await packs.packed_dates(conn, project_id, list(map(ContentRef.from_digest, in_order)))
    await sql.run(
        conn,
        "insert_erasing",
        project_id=project_id,
        job=job,
        refs=in_order,
        packed=[packed.get(ContentRef.from_digest(ref)) for ref in in_order],
        young=day_of(now_ns - hold_ns),
        now=now_ns,
        later=now_ns + hold_ns,
    )


async def add_late(conn: Conn, packs: Packs, project_id: int, refs: Collection[bytes], now_ns: int) -> None:
    """Adds what dropped spans of forgotten runs name, with all that this names, after the time for which senders may
    believe that it is stored."""
    named = await named_refs.with_all_below(conn, packs, project_id, refs)
    await add(conn, packs, project_id, named, now_ns, BELIEVED_NS)

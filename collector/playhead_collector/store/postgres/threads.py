"""[receive, lift] → store: threads.  A thread is read with one range scan for each lineage that it runs through."""

import asyncio
import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from asyncpg import Record

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead.wire.pack import ThreadExtension
from playhead_collector.store.packing.thread_nodes import Chain, NodePosition, ThreadGrowth, chains, grow
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Collision
from playhead_collector.store.postgres.content import role_named
from playhead_collector.store.postgres.gc.gate import WriteContext, begin_write
from playhead_collector.store.postgres.statements import Conn

# A thread of more messages is put together beside the event loop.
_OFF_LOOP_NODES = 2_000
BLOCK = 1000  # as the sequence in the schema has it


class LineageNumbers:
    """Numbers for new lineages, taken from the database a thousand at a time: a round trip less for most batches."""

    def __init__(self) -> None:
        self._free = iter(range(0))

    async def take(self, conn: Conn, how_many: int) -> list[int]:
        """Numbers that nobody else has.  Those of a transaction that is rolled back are lost, which is no harm."""
        taken = list(islice(self._free, how_many))
        while len(taken) < how_many:
            first: int = await sql.value(conn, "new_lineages")
            self._free = iter(range(first, first + BLOCK))
            taken += islice(self._free, how_many - len(taken))
        return taken


@dataclass(slots=True)
class StoredThreads:
    """What a call of `put` did: digests of the new nodes, whether any run waits for anything, all refs that are stored
    now of those given, and parents that are not."""

    new: list[bytes] = field(default_factory=list[bytes])
    awaited: bool = False
    stored: set[ContentRef] = field(default_factory=set[ContentRef])
    unknown_parents: list[ContentRef] = field(default_factory=list[ContentRef])


async def put(
    conn: Conn,
    lineage_numbers: LineageNumbers,
    write_context: WriteContext,
    extensions: Iterable[ThreadExtension],
    today: datetime.date,
) -> StoredThreads:
    """Stores what is not stored.  Extensions of unknown threads are kept until those come.

    Raises Collision when another transaction extended the same thread: run the transaction again.
    """
    grown, project = StoredThreads(), write_context.project
    todo = chains(extensions)
    while todo:
        growth = await _growth(conn, write_context, todo)
        grown.stored.update(growth.positions)
        grown.unknown_parents += [orphan.parent for orphan in growth.orphans if orphan.parent is not None]
        await _keep_orphans(conn, project, growth.orphans, today)
        inserted = await _insert(conn, lineage_numbers, project, growth, today) if growth.nodes else None
        grown.new += [node.ref.digest for _, node in growth.nodes]
        grown.awaited = grown.awaited or (inserted is not None and inserted["awaited"])
        # What was kept until its parent came, may be the parent of something else that was kept.
        todo = await _take_orphans(conn, project) if inserted is not None and inserted["orphans"] else []
    return grown


async def adopt(conn: Conn, lineage_numbers: LineageNumbers, project: int, today: datetime.date) -> None:
    """Makes extensions whole whose parent has come.

    `put` does it for what it stores.  A transaction that did not see that another one waited for it may leave some
    over, so readers that miss a thread do it, too.
    """
    if todo := await _take_orphans(conn, project):
        write_context = await begin_write(conn, project)
        await put(conn, lineage_numbers, write_context, [chain.extension for chain in todo], today)


async def read(conn: Conn, project: int, ref: ContentRef) -> list[ThreadNode]:
    """All nodes from first to last; empty when there is no such thread."""
    rows = await sql.rows(conn, "read_thread", project=project, ref=ref.digest)
    return _chain(rows) if len(rows) <= _OFF_LOOP_NODES else await asyncio.to_thread(_chain, rows)


def _chain(rows: Sequence[Record]) -> list[ThreadNode]:
    nodes: list[ThreadNode] = []
    parent: ContentRef | None = None
    for depth, row in enumerate(rows, 1):
        own = ContentRef.from_digest(row["ref"])
        nodes.append(ThreadNode(own, parent, ContentRef.from_digest(row["message"]), depth))
        parent = own
    return nodes


@dataclass(slots=True)
class Nodes:
    """Nodes of threads, the roles of their messages as far as these are stored, and how far each lineage is known."""

    nodes: dict[ContentRef, ThreadNode] = field(default_factory=dict[ContentRef, ThreadNode])
    roles: dict[ContentRef, str] = field(default_factory=dict[ContentRef, str])
    lineages: dict[int, int] = field(default_factory=dict[int, int])

    def take(self, row: Record, ref: ContentRef, parent: ContentRef | None) -> None:
        """One more, as a row has it."""
        message = ContentRef.from_digest(row["message"])
        self.nodes[ref] = ThreadNode(ref, parent, message, row["depth"])
        if (role := role_named(row["role"])) is not None:
            self.roles[message] = role
        self.lineages[row["lineage"]] = max(self.lineages.get(row["lineage"], 0), row["depth"])


async def read_many(
    conn: Conn, project: int, wanted: Sequence[tuple[Collection[ContentRef], Mapping[int, int]]]
) -> list[Nodes]:
    """For each: all nodes of these threads, but for those of lineages that are known, up to a depth."""
    found = [Nodes() for _ in wanted]
    refs = [(owner, ref.digest) for owner, (some, _) in enumerate(wanted) for ref in some]
    if not refs:
        return found
    known = [(owner, *each) for owner, (_, lineage_numbers) in enumerate(wanted) for each in lineage_numbers.items()]
    rows = await sql.rows(
        conn,
        "read_threads",
        project=project,
        owners=[owner for owner, _ in refs],
        refs=[ref for _, ref in refs],
        known_owners=[owner for owner, _, _ in known],
        known_lineages=[lineage for _, lineage, _ in known],
        known_depths=[depth for _, _, depth in known],
    )
    at = {(row["owner"], row["lineage"], row["depth"]): ContentRef.from_digest(row["ref"]) for row in rows}
    for row in rows:
        owner: int = row["owner"]
        depth: int = row["depth"]
        parent = None if row["parent"] is None else ContentRef.from_digest(row["parent"])
        if parent is None and depth > 1:
            parent = at[owner, row["parent_lineage"], depth - 1]
        found[owner].take(row, at[owner, row["lineage"], depth], parent)
    return found


async def _take_orphans(conn: Conn, project: int) -> list[Chain]:
    rows = await sql.rows(conn, "take_orphans", project=project)
    return chains(ThreadExtension(ContentRef.from_digest(row["parent"]), _unpack(row["messages"])) for row in rows)


async def _growth(conn: Conn, write_context: WriteContext, todo: Sequence[Chain]) -> ThreadGrowth:
    project, asked = write_context.project, {node.ref.digest for chain in todo for node in chain.nodes}
    asked.update(chain.extension.parent.digest for chain in todo if chain.extension.parent is not None)
    await write_context.note_refs(conn, asked)
    rows = await sql.rows(conn, "find_nodes", project=project, refs=list(asked))
    found = {ContentRef.from_digest(row["ref"]): NodePosition(row["lineage"], row["depth"]) for row in rows}
    return grow(todo, found, {row["lineage"]: row["tip"] for row in rows})


async def _insert(
    conn: Conn, lineage_numbers: LineageNumbers, project: int, growth: ThreadGrowth, today: datetime.date
) -> Record:
    given = await lineage_numbers.take(conn, growth.lineages)

    def lineage(number: int) -> int:
        return number if number > 0 else given[-number - 1]

    def parent_lineage(position: NodePosition) -> int | None:
        fork = growth.forks.get(position.lineage)
        return lineage(fork.lineage) if fork is not None and fork.depth + 1 == position.depth else None

    inserted = await sql.row(
        conn,
        "insert_nodes",
        project=project,
        today=today,
        lineages=[lineage(position.lineage) for position, _ in growth.nodes],
        parent_lineages=[parent_lineage(position) for position, _ in growth.nodes],
        depths=[position.depth for position, _ in growth.nodes],
        refs=[node.ref.digest for _, node in growth.nodes],
        messages=[node.message.digest for _, node in growth.nodes],
    )
    if inserted is None or inserted["inserted"] < len(growth.nodes):
        raise Collision("a thread was extended by two at once")
    return inserted


async def _keep_orphans(conn: Conn, project: int, orphans: Sequence[ThreadExtension], today: datetime.date) -> None:
    kept = [orphan for orphan in orphans if orphan.messages and orphan.parent and orphan.ref]
    if kept:
        await sql.run(
            conn,
            "insert_orphans",
            project=project,
            today=today,
            parents=[orphan.parent.digest for orphan in kept if orphan.parent],
            tips=[orphan.ref.digest for orphan in kept if orphan.ref],
            messages=[b"".join(message.digest for message in orphan.messages) for orphan in kept],
        )


def _unpack(messages: bytes) -> tuple[ContentRef, ...]:
    return tuple(ContentRef.from_digest(messages[at : at + 32]) for at in range(0, len(messages), 32))

"""[receive, lift] → store: threads.  A thread is read with one range scan for each lineage in which it has nodes."""

import asyncio
import datetime
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from asyncpg import Record

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode
from playhead.wire.pack import ThreadExtension
from playhead_collector.store.packing.roles import role_named
from playhead_collector.store.packing.thread_nodes import (
    PACKED,
    NodeChain,
    NodePosition,
    ThreadGrowth,
    chains,
    grow,
)
from playhead_collector.store.ports.contents import ThreadNodes
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.connection import Collision, WriteContext, begin_write
from playhead_collector.store.postgres.content_rows import roles_of
from playhead_collector.store.postgres.packs import Packs
from playhead_collector.store.postgres.statements import Conn

# A thread with more messages is assembled in another thread, not in the event loop.
_OFF_LOOP_NODES = 2_000
BLOCK = 1000  # the increment of the sequence in the schema


class LineageNumbers:
    """Numbers for new lineages. They are reserved in the database a thousand at a time, so most batches need no round
    trip."""

    def __init__(self) -> None:
        self._free = iter(range(0))

    async def take(self, conn: Conn, how_many: int) -> list[int]:
        """Returns unused numbers. Numbers of a rolled back transaction are never used, which does no harm."""
        numbers = list(islice(self._free, how_many))
        while len(numbers) < how_many:
            first: int = await sql.value(conn, "new_lineages")
            self._free = iter(range(first, first + BLOCK))
            numbers += islice(self._free, how_many - len(numbers))
        return numbers


@dataclass(slots=True)
class StoredThreads:
    """Result of `put`: digests of the new nodes, whether any run waits for content, those given refs that are stored
    now, and the parents that are not stored."""

    new: list[bytes] = field(default_factory=list[bytes])
    awaited: bool = False
    stored: set[ContentRef] = field(default_factory=set[ContentRef])
    unknown_parents: list[ContentRef] = field(default_factory=list[ContentRef])


async def put(
    conn: Conn,
    packs: Packs,
    lineage_numbers: LineageNumbers,
    write_context: WriteContext,
    extensions: Iterable[ThreadExtension],
    today: datetime.date,
) -> StoredThreads:
    """Stores the extensions that are not stored yet. Extensions of unknown threads are kept until these threads arrive.

    Raises Collision when another transaction extended the same thread: repeat the transaction.
    """
    grown, project_id = StoredThreads(), write_context.project_id
    todo = chains(extensions)
    while todo:
        growth = await _growth(conn, packs, write_context, todo)
        grown.stored.update(growth.positions)
        grown.unknown_parents += [orphan.parent for orphan in growth.orphans if orphan.parent is not None]
        await _keep_orphans(conn, project_id, growth.orphans, today)
        inserted = await _insert(conn, lineage_numbers, project_id, growth, today) if growth.nodes else None
        grown.new += [node.ref.digest for _, node in growth.nodes]
        grown.awaited = grown.awaited or (inserted is not None and inserted["awaited"])
        # A kept extension whose parent has arrived may be the parent of another kept one.
        todo = await _take_orphans(conn, project_id) if inserted is not None and inserted["orphans"] else []
    return grown


async def store_orphans(
    conn: Conn, packs: Packs, lineage_numbers: LineageNumbers, project_id: int, today: datetime.date
) -> None:
    """Stores the kept extensions whose parent has arrived.

    `put` does this for the threads that it stores, but misses extensions of concurrent transactions. So readers that do
    not find a thread call this, too.
    """
    if todo := await _take_orphans(conn, project_id):
        write_context = await begin_write(conn, project_id)
        await put(conn, packs, lineage_numbers, write_context, [chain.extension for chain in todo], today)


async def read(conn: Conn, packs: Packs, project_id: int, ref: ContentRef) -> list[ThreadNode]:
    """Returns all nodes of a thread from first to last; an empty list when the thread is not stored."""
    rows = await sql.rows(conn, "read_thread", project_id=project_id, ref=ref.digest)
    # After the rows: nodes move from rows to packs, never back.
    first = ref.plain if not rows else None if rows[0]["parent"] is None else ContentRef.from_digest(rows[0]["parent"])
    packed = [] if first is None else _thread_of(await packs.chains(conn, project_id, [first]), first)
    if first is not None and rows and not packed:
        return []
    nodes = _chain(rows, first) if len(rows) <= _OFF_LOOP_NODES else await asyncio.to_thread(_chain, rows, first)
    return packed + nodes


async def length(conn: Conn, packs: Packs, project_id: int, ref: ContentRef) -> int | None:
    """Returns the number of messages of a thread; None: it is not stored. Takes the same time for any length."""
    if rows := await sql.rows(conn, "find_nodes", project_id=project_id, refs=[ref.digest]):
        return rows[0]["depth"]
    node = (await packs.nodes(conn, project_id, [ref.plain])).get(ref.plain)
    return None if node is None else node.depth


async def read_together(
    conn: Conn, packs: Packs, project_id: int, refs: Sequence[ContentRef], most_nodes: int
) -> ThreadNodes:
    """Returns the nodes of the given threads that are stored, as long as all together have at most `most_nodes`.
    The first one is read whatever its length."""
    by_digest = {ref.digest: ref.plain for ref in refs}
    rows = await sql.rows(conn, "find_nodes", project_id=project_id, refs=list(by_digest))
    depths: dict[ContentRef, int] = {by_digest[row["ref"]]: row["depth"] for row in rows}
    packed = await packs.nodes(conn, project_id, [ref for ref in by_digest.values() if ref not in depths])
    depths |= {ref: node.depth for ref, node in packed.items()}
    together, unread = list[ContentRef](), set[ContentRef]()
    for ref in by_digest.values():
        if ref in depths and (depths[ref] <= most_nodes or not together):
            together.append(ref)
            most_nodes -= depths[ref]
        elif ref in depths:
            unread.add(ref)
    [thread_nodes] = await read_many(conn, packs, project_id, [(together, {})])
    return ThreadNodes(thread_nodes.nodes, unread)


def _thread_of(packed: Mapping[ContentRef, ThreadNode], tip: ContentRef) -> list[ThreadNode]:
    path: list[ThreadNode] = []
    ref: ContentRef | None = tip
    while ref is not None and ref in packed:
        path.append(packed[ref])
        ref = packed[ref].parent
    return path[::-1]


def _chain(rows: Sequence[Record], parent: ContentRef | None) -> list[ThreadNode]:
    nodes: list[ThreadNode] = []
    for row in rows:
        ref = ContentRef.from_digest(row["ref"])
        nodes.append(ThreadNode(ref, parent, ContentRef.from_digest(row["message"]), row["depth"]))
        parent = ref
    return nodes


@dataclass(slots=True)
class Nodes:
    """Nodes of threads, the roles of their stored messages, and the depth up to which each lineage was read. `packed`:
    the nodes that are in packs, not in rows."""

    nodes: dict[ContentRef, ThreadNode] = field(default_factory=dict[ContentRef, ThreadNode])
    roles: dict[ContentRef, str] = field(default_factory=dict[ContentRef, str])
    lineages: dict[int, int] = field(default_factory=dict[int, int])
    packed: set[ContentRef] = field(default_factory=set[ContentRef])

    def take(self, row: Record, ref: ContentRef, parent: ContentRef | None) -> None:
        """Adds the node of a row."""
        message = ContentRef.from_digest(row["message"])
        self.nodes[ref] = ThreadNode(ref, parent, message, row["depth"])
        if (role := role_named(row["role"])) is not None:
            self.roles[message] = role
        self.lineages[row["lineage"]] = max(self.lineages.get(row["lineage"], 0), row["depth"])


async def read_many(
    conn: Conn, packs: Packs, project_id: int, wanted: Sequence[tuple[Collection[ContentRef], Mapping[int, int]]]
) -> list[Nodes]:
    """Returns for each reader all nodes of its threads, except nodes of known lineages up to the known depth. `wanted`:
    for each reader, the refs of its threads, and the known depth of each known lineage."""
    by_reader = [Nodes() for _ in wanted]
    refs = [(owner, ref.digest) for owner, (thread_refs, _) in enumerate(wanted) for ref in thread_refs]
    if not refs:
        return by_reader
    known_lineages = [
        (owner, *lineage_depth)
        for owner, (_, lineage_numbers) in enumerate(wanted)
        for lineage_depth in lineage_numbers.items()
    ]
    rows = await sql.rows(
        conn,
        "read_threads",
        project_id=project_id,
        owners=[owner for owner, _ in refs],
        refs=[ref for _, ref in refs],
        known_owners=[owner for owner, _, _ in known_lineages],
        known_lineages=[lineage for _, lineage, _ in known_lineages],
        known_depths=[depth for _, _, depth in known_lineages],
    )
    ref_at = {(row["owner"], row["lineage"], row["depth"]): ContentRef.from_digest(row["ref"]) for row in rows}
    for row in rows:
        owner: int = row["owner"]
        depth: int = row["depth"]
        parent = None if row["parent"] is None else ContentRef.from_digest(row["parent"])
        if parent is None and depth > 1:
            parent = ref_at[owner, row["parent_lineage"], depth - 1]
        by_reader[owner].take(row, ref_at[owner, row["lineage"], depth], parent)
    await _add_packed(conn, packs, project_id, by_reader, _packed_tips(wanted, by_reader, rows))
    return by_reader


def _packed_tips(
    wanted: Sequence[tuple[Collection[ContentRef], Mapping[int, int]]],
    by_reader: Sequence[Nodes],
    rows: Iterable[Record],
) -> list[set[ContentRef]]:
    """Returns for each reader the refs at which packed parts of its threads may end: refs without a row, and packed
    parents of rows."""
    tips: list[set[ContentRef]] = []
    for (refs, _), nodes in zip(wanted, by_reader, strict=True):
        tips.append({ref.plain for ref in refs} - nodes.nodes.keys())
    for row in rows:
        owner: int = row["owner"]
        if row["packed_parent"] is not None:
            tips[owner].add(ContentRef.from_digest(row["packed_parent"]))
    return tips


async def _add_packed(
    conn: Conn, packs: Packs, project_id: int, by_reader: Sequence[Nodes], tips: Sequence[set[ContentRef]]
) -> None:
    """Adds packed nodes, and the roles of messages that are packed, to `by_reader`."""
    packed = await packs.chains(conn, project_id, set[ContentRef]().union(*tips))
    for nodes, reader_tips in zip(by_reader, tips, strict=True):
        for tip in reader_tips:
            node_ref: ContentRef | None = tip
            while node_ref is not None and node_ref in packed and node_ref not in nodes.packed:
                nodes.nodes[node_ref] = packed[node_ref]
                nodes.packed.add(node_ref)
                node_ref = packed[node_ref].parent
    unknown = {node.message for nodes in by_reader for node in nodes.nodes.values() if node.message not in nodes.roles}
    roles = {ref: role for ref, role in (await roles_of(conn, packs, project_id, unknown)).items() if role}
    for nodes in by_reader if roles else ():
        nodes.roles |= {node.message: roles[node.message] for node in nodes.nodes.values() if node.message in roles}


async def _take_orphans(conn: Conn, project_id: int) -> list[NodeChain]:
    rows = await sql.rows(conn, "take_orphans", project_id=project_id)
    return chains(ThreadExtension(ContentRef.from_digest(row["parent"]), _unpack(row["messages"])) for row in rows)


async def _growth(conn: Conn, packs: Packs, write_context: WriteContext, todo: Sequence[NodeChain]) -> ThreadGrowth:
    project_id, refs = write_context.project_id, {node.ref for chain in todo for node in chain.nodes}
    refs.update(chain.extension.parent.plain for chain in todo if chain.extension.parent is not None)
    by_digest = {ref.digest: ref for ref in refs}
    await write_context.note_refs(conn, by_digest)
    rows = await sql.rows(conn, "find_nodes", project_id=project_id, refs=list(by_digest))
    positions = {by_digest[row["ref"]]: NodePosition(row["lineage"], row["depth"]) for row in rows}
    rest = [ref for ref in refs if ref not in positions]
    for node in (await packs.nodes(conn, project_id, rest)).values():
        positions[node.ref] = NodePosition(PACKED, node.depth)
    return grow(todo, positions, {row["lineage"]: row["tip"] for row in rows})


async def _insert(
    conn: Conn, lineage_numbers: LineageNumbers, project_id: int, growth: ThreadGrowth, today: datetime.date
) -> Record:
    numbers = await lineage_numbers.take(conn, growth.lineages)

    def lineage(number: int) -> int:
        return number if number > 0 else numbers[-number - 1]

    def continued(position: NodePosition) -> NodePosition | None:
        """Returns the position of the node that the first node of a lineage continues; None for a node that is not the
        first, or of a root lineage."""
        fork = growth.forks.get(position.lineage)
        return fork if fork is not None and fork.depth + 1 == position.depth else None

    def parent_lineage(position: NodePosition) -> int | None:
        fork = continued(position)
        return None if fork is None or fork.lineage == PACKED else lineage(fork.lineage)

    def packed_parent(position: NodePosition, node: ThreadNode) -> bytes | None:
        fork = continued(position)
        return node.parent.digest if fork is not None and fork.lineage == PACKED and node.parent else None

    inserted = await sql.row(
        conn,
        "insert_nodes",
        project_id=project_id,
        today=today,
        lineages=[lineage(position.lineage) for position, _ in growth.nodes],
        parent_lineages=[parent_lineage(position) for position, _ in growth.nodes],
        parents=[packed_parent(position, node) for position, node in growth.nodes],
        depths=[position.depth for position, _ in growth.nodes],
        refs=[node.ref.digest for _, node in growth.nodes],
        messages=[node.message.digest for _, node in growth.nodes],
    )
    if inserted is None or inserted["inserted"] < len(growth.nodes):
        raise Collision("a thread was extended by two at once")
    return inserted


async def _keep_orphans(conn: Conn, project_id: int, orphans: Sequence[ThreadExtension], today: datetime.date) -> None:
    storable = [orphan for orphan in orphans if orphan.messages and orphan.parent and orphan.ref]
    if storable:
        await sql.run(
            conn,
            "insert_orphans",
            project_id=project_id,
            today=today,
            parents=[orphan.parent.digest for orphan in storable if orphan.parent],
            tips=[orphan.ref.digest for orphan in storable if orphan.ref],
            messages=[b"".join(message.digest for message in orphan.messages) for orphan in storable],
        )


def _unpack(messages: bytes) -> tuple[ContentRef, ...]:
    return tuple(ContentRef.from_digest(messages[start : start + 32]) for start in range(0, len(messages), 32))

"""Decides where new thread nodes are stored: lineage and depth. Pure.

A node whose parent is the last node of a lineage extends that lineage.  A node whose parent has another child there
begins a lineage that forks off, and a node without a parent begins a new root lineage.  New lineages are numbered -1,
-2, ... until the database assigns numbers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode, extend, node_ref
from playhead.wire.pack import ThreadExtension

PACKED = 0
"""The lineage of packed nodes, which are in none: a child of one begins a new lineage."""


class NodePosition(NamedTuple):
    """Position of a thread node: lineage id and depth (the first message has depth 1)."""

    lineage: int
    depth: int


@dataclass(slots=True)
class ThreadGrowth:
    """The rows to add.  `positions` has all nodes, including stored ones; `forks` is by lineage; `orphans` extend
    threads that are not stored."""

    positions: dict[ContentRef, NodePosition]
    nodes: list[tuple[NodePosition, ThreadNode]] = field(default_factory=list[tuple[NodePosition, ThreadNode]])
    forks: dict[int, NodePosition] = field(default_factory=dict[int, NodePosition])
    orphans: list[ThreadExtension] = field(default_factory=list[ThreadExtension])
    lineages: int = 0


class Chain(NamedTuple):
    """An extension and the nodes it is made of (depths count from the extension's own start)."""

    extension: ThreadExtension
    nodes: list[ThreadNode]


def chains(extensions: Iterable[ThreadExtension]) -> list[Chain]:
    """The extensions with their nodes; what several threads begin with is hashed once."""
    known: dict[tuple[ContentRef | None, ContentRef], ThreadNode] = {}
    found: list[Chain] = []
    for each in extensions:
        nodes = _nodes(each, known) if each.parent is None else extend(each.messages, each.parent)
        found.append(Chain(each, nodes))
    return found


def _nodes(thread: ThreadExtension, known: dict[tuple[ContentRef | None, ContentRef], ThreadNode]) -> list[ThreadNode]:
    """The nodes of a whole thread; those in `known` are taken from there, and the others are added."""
    nodes: list[ThreadNode] = []
    parent: ContentRef | None = None
    for message in thread.messages:
        node = known.get((parent, message))
        if node is None:
            node = known[parent, message] = ThreadNode(node_ref(message, parent), parent, message, len(nodes) + 1)
        nodes.append(node)
        parent = node.ref
    return nodes


def grow(
    extensions: Iterable[Chain], found: Mapping[ContentRef, NodePosition], tips: Mapping[int, int]
) -> ThreadGrowth:
    """Assigns positions to all nodes that are not `found`. `tips`: the depth of the last node of each found lineage."""
    growing = _GrowthBuilder(dict(found), dict(tips))
    waiting = list(extensions)
    while waiting:
        # An extension may come before the one that it extends.
        later = [chain for chain in waiting if not growing.add(chain)]
        if len(later) == len(waiting):
            growing.growth.orphans = [chain.extension for chain in later]
            break
        waiting = later
    return growing.growth


class _GrowthBuilder:
    def __init__(self, positions: dict[ContentRef, NodePosition], tips: dict[int, int]) -> None:
        self.positions = positions
        self.tips = tips
        self.growth = ThreadGrowth(positions)

    def add(self, chain: Chain) -> bool:
        """Adds a chain; returns False when its parent is not there yet."""
        parent = chain.extension.parent
        at = None if parent is None else self.positions.get(parent)
        if parent is not None and at is None:
            return False
        for node in chain.nodes:
            at = self.positions.get(node.ref) or self._append(node, at)
        return True

    def _append(self, node: ThreadNode, at: NodePosition | None) -> NodePosition:
        if at is not None and at.lineage != PACKED and self.tips[at.lineage] == at.depth:
            position = NodePosition(at.lineage, at.depth + 1)
        else:
            self.growth.lineages += 1
            position = NodePosition(-self.growth.lineages, 1 if at is None else at.depth + 1)
            if at is not None:
                self.growth.forks[position.lineage] = at
        self.tips[position.lineage] = position.depth
        self.positions[node.ref] = position
        self.growth.nodes.append((position, node))
        return position

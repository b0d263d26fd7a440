"""[store]: positions of thread nodes, as their rows hold them.  Pure.

A position is a lineage and a depth.  A node whose parent is the last node of a lineage extends that lineage.  A node
whose parent already has another child in its lineage begins a new lineage that forks off; a node without a parent
begins a new root lineage.  New lineages are numbered -1, -2, ... until the database assigns numbers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode, extend, node_ref
from playhead.wire.pack import ThreadExtension

PACKED = 0
"""Marks packed nodes, which have no lineage. A child of a packed node begins a new lineage."""


class NodePosition(NamedTuple):
    """Position of a thread node: lineage id and depth (the first message has depth 1)."""

    lineage: int
    depth: int


@dataclass(slots=True)
class ThreadGrowth:
    """The rows to add.

    `positions`: positions of all nodes, including stored ones. `nodes`: the new nodes. `forks`: the position from which
    each new lineage forks off, by lineage. `orphans`: extensions of threads that are not stored. `lineages`: the number
    of new lineages.
    """

    positions: dict[ContentRef, NodePosition]
    nodes: list[tuple[NodePosition, ThreadNode]] = field(default_factory=list[tuple[NodePosition, ThreadNode]])
    forks: dict[int, NodePosition] = field(default_factory=dict[int, NodePosition])
    orphans: list[ThreadExtension] = field(default_factory=list[ThreadExtension])
    lineages: int = 0


class NodeChain(NamedTuple):
    """An extension and its thread nodes. The depths of the nodes count from the first message of the extension, unless
    it is a whole thread."""

    extension: ThreadExtension
    nodes: list[ThreadNode]


def chains(extensions: Iterable[ThreadExtension]) -> list[NodeChain]:
    """Computes the nodes of each extension. A beginning that several whole threads share is hashed once."""
    known_nodes: dict[tuple[ContentRef | None, ContentRef], ThreadNode] = {}
    result: list[NodeChain] = []
    for extension in extensions:
        nodes = (
            _nodes(extension, known_nodes) if extension.parent is None else extend(extension.messages, extension.parent)
        )
        result.append(NodeChain(extension, nodes))
    return result


def _nodes(
    thread: ThreadExtension, known_nodes: dict[tuple[ContentRef | None, ContentRef], ThreadNode]
) -> list[ThreadNode]:
    """Returns the nodes of a whole thread. Takes those that are in `known_nodes` from there, and adds the others to
    it."""
    nodes: list[ThreadNode] = []
    parent: ContentRef | None = None
    for message in thread.messages:
        node = known_nodes.get((parent, message))
        if node is None:
            node = known_nodes[parent, message] = ThreadNode(node_ref(message, parent), parent, message, len(nodes) + 1)
        nodes.append(node)
        parent = node.ref
    return nodes


def grow(
    extensions: Iterable[NodeChain], stored: Mapping[ContentRef, NodePosition], tips: Mapping[int, int]
) -> ThreadGrowth:
    """Assigns positions to all nodes that are not in `stored`. `tips`: the depth of the last node of each stored
    lineage."""
    growing = _GrowthBuilder(dict(stored), dict(tips))
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

    def add(self, chain: NodeChain) -> bool:
        """Adds a chain; returns False when the chain's parent has no position yet."""
        parent = chain.extension.parent
        previous = None if parent is None else self.positions.get(parent)
        if parent is not None and previous is None:
            return False
        for node in chain.nodes:
            previous = self.positions.get(node.ref) or self._append(node, previous)
        return True

    def _append(self, node: ThreadNode, previous: NodePosition | None) -> NodePosition:
        if previous is not None and previous.lineage != PACKED and self.tips[previous.lineage] == previous.depth:
            position = NodePosition(previous.lineage, previous.depth + 1)
        else:
            self.growth.lineages += 1
            position = NodePosition(-self.growth.lineages, 1 if previous is None else previous.depth + 1)
            if previous is not None:
                self.growth.forks[position.lineage] = previous
        self.tips[position.lineage] = position.depth
        self.positions[node.ref] = position
        self.growth.nodes.append((position, node))
        return position

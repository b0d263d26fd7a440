"""Decides where new thread nodes are stored: lineage and depth. Pure.

A node that comes after the last node of a lineage goes on with it.  A node whose place there is taken by another begins
a lineage that forks off, and a node without a parent begins one that does not.  New lineages are numbered -1, -2, ...
until the database gives them numbers.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode, extend
from playhead.wire.pack import ThreadExtension

PACKED = 0
"""The lineage of nodes that are packed: they are in none, and what continues one begins a lineage of its own."""


class NodePosition(NamedTuple):
    """Position of a thread node: lineage id and depth (the first message has depth 1)."""

    lineage: int
    depth: int


@dataclass(slots=True)
class ThreadGrowth:
    """What to add.  `positions` has all nodes, those that are there already among them; `forks` is by lineage;
    `orphans` continue threads that are not there."""

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
    """The nodes of each extension, hashed once."""
    return [Chain(extension, extend(extension.messages, extension.parent)) for extension in extensions]


def grow(
    extensions: Iterable[Chain], found: Mapping[ContentRef, NodePosition], tips: Mapping[int, int]
) -> ThreadGrowth:
    """Places every node that is not `found`.  `tips` says how deep each found lineage goes."""
    growing = _GrowthBuilder(dict(found), dict(tips))
    waiting = list(extensions)
    while waiting:
        # An extension may stand before the one that it continues.
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
        """False when the parent is not there yet."""
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

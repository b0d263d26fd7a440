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


class Place(NamedTuple):
    """Position of a thread node: lineage id and depth (the first message has depth 1)."""

    lineage: int
    depth: int


@dataclass(slots=True)
class Growth:
    """What to add.  `places` has all nodes, those that are there already among them; `forks` is by lineage; `orphans`
    continue threads that are not there."""

    places: dict[ContentRef, Place]
    nodes: list[tuple[Place, ThreadNode]] = field(default_factory=list[tuple[Place, ThreadNode]])
    forks: dict[int, Place] = field(default_factory=dict[int, Place])
    orphans: list[ThreadExtension] = field(default_factory=list[ThreadExtension])
    lineages: int = 0


class Chain(NamedTuple):
    """An extension and the nodes it is made of (depths count from the extension's own start)."""

    extension: ThreadExtension
    nodes: list[ThreadNode]


def chains(extensions: Iterable[ThreadExtension]) -> list[Chain]:
    """The nodes of each extension, hashed once."""
    return [Chain(extension, extend(extension.messages, extension.parent)) for extension in extensions]


def grow(extensions: Iterable[Chain], found: Mapping[ContentRef, Place], tips: Mapping[int, int]) -> Growth:
    """Places every node that is not `found`.  `tips` says how deep each found lineage goes."""
    growing = _Growing(dict(found), dict(tips))
    waiting = list(extensions)
    while waiting:
        # An extension may stand before the one that it continues.
        later = [chain for chain in waiting if not growing.add(chain)]
        if len(later) == len(waiting):
            growing.growth.orphans = [chain.extension for chain in later]
            break
        waiting = later
    return growing.growth


class _Growing:
    def __init__(self, places: dict[ContentRef, Place], tips: dict[int, int]) -> None:
        self.places = places
        self.tips = tips
        self.growth = Growth(places)

    def add(self, chain: Chain) -> bool:
        """False when the parent is not there yet."""
        parent = chain.extension.parent
        at = None if parent is None else self.places.get(parent)
        if parent is not None and at is None:
            return False
        for node in chain.nodes:
            at = self.places.get(node.ref) or self._append(node, at)
        return True

    def _append(self, node: ThreadNode, at: Place | None) -> Place:
        if at is not None and self.tips[at.lineage] == at.depth:
            place = Place(at.lineage, at.depth + 1)
        else:
            self.growth.lineages += 1
            place = Place(-self.growth.lineages, 1 if at is None else at.depth + 1)
            if at is not None:
                self.growth.forks[place.lineage] = at
        self.tips[place.lineage] = place.depth
        self.places[node.ref] = place
        self.growth.nodes.append((place, node))
        return place

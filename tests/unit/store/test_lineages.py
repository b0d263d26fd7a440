from random import Random

from hypothesis import given
from hypothesis import strategies as st

from playhead.model.ref import ContentRef
from playhead.model.thread import extend
from playhead.wire.pack import ThreadExtension
from playhead_collector.store.packing.thread_nodes import NodePosition, ThreadGrowth, chains, grow

MESSAGES = [ContentRef.of(text) for text in (b"a", b"b", b"c")]
lists = st.lists(st.lists(st.sampled_from(MESSAGES), max_size=6).map(tuple), max_size=8)


class Database:
    """What a database would hold: nodes by place, and where a lineage's first node has its parent."""

    def __init__(self) -> None:
        self.nodes: dict[NodePosition, ContentRef] = {}
        self.forks: dict[int, NodePosition] = {}
        self.lineages = 0

    def add(self, extensions: list[ThreadExtension]) -> ThreadGrowth:
        found = {ref: place for place, ref in self.nodes.items()}
        tips = {place.lineage: max(p.depth for p in self.nodes if p.lineage == place.lineage) for place in self.nodes}
        growth = grow(chains(extensions), found, tips)

        def numbered(place: NodePosition) -> NodePosition:
            return place if place.lineage > 0 else NodePosition(self.lineages - place.lineage, place.depth)

        for place, node in growth.nodes:
            assert numbered(place) not in self.nodes
            self.nodes[numbered(place)] = node.ref
        self.forks |= {numbered(NodePosition(number, 0)).lineage: numbered(at) for number, at in growth.forks.items()}
        self.lineages += growth.lineages
        return growth

    def read(self, ref: ContentRef) -> list[ContentRef]:
        place = next(place for place, own in self.nodes.items() if own == ref)
        refs: list[ContentRef] = []
        while place.depth:
            refs.append(self.nodes[place])
            before = NodePosition(place.lineage, place.depth - 1)
            place = before if before in self.nodes else self.forks.get(place.lineage, NodePosition(0, 0))
        return refs[::-1]


@given(st.lists(lists, max_size=3))
def test_every_thread_can_be_read_along_lineages(batches: list[list[tuple[ContentRef, ...]]]):
    database = Database()
    for batch in batches:
        assert database.add([ThreadExtension(None, messages) for messages in batch]).orphans == []
    for messages in {messages for batch in batches for messages in batch if messages}:
        nodes = extend(messages)
        assert database.read(nodes[-1].ref) == [node.ref for node in nodes]
    every = {node.ref for batch in batches for messages in batch for node in extend(messages)}
    assert set(database.nodes.values()) == every
    assert len(database.nodes) == len(every)


@given(lists, st.randoms(use_true_random=False))
def test_the_order_of_extensions_does_not_matter(batch: list[tuple[ContentRef, ...]], random: Random):
    steps = {ThreadExtension(node.parent, (node.message,)): node.ref for messages in batch for node in extend(messages)}
    shuffled = list(steps)
    random.shuffle(shuffled)
    database = Database()
    assert database.add(shuffled).orphans == []
    assert set(database.nodes.values()) == set(steps.values())


def test_an_unknown_parent_makes_an_orphan_and_of_all_that_follows_it():
    one, two, three = extend(MESSAGES)
    lost, after_it = ThreadExtension(one.ref, (two.message,)), ThreadExtension(two.ref, (three.message,))
    growth = grow(chains([after_it, lost]), {}, {})
    assert growth.orphans == [after_it, lost]
    assert growth.nodes == []

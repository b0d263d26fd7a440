"""What is packed is found again under its ref, and nothing else is."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.model.ref import ContentRef
from playhead.model.thread import ThreadNode, extend
from playhead_collector.store.packing.content_packs import (
    PACK_BYTES,
    OpenPack,
    PackedContent,
    PackItems,
    encode,
    key_of,
    outline_of,
    split,
)


def content(data: bytes, media: int = 1, role: int = 0) -> PackedContent:
    return PackedContent(ContentRef.of(data), media, role, data)


contents = st.builds(content, st.binary(max_size=60), st.integers(1, 10**6), st.integers(0, 9))


@st.composite
def packs(draw: st.DrawFn) -> tuple[PackItems, list[ThreadNode]]:
    """Contents and nodes, some of whose messages and parents are elsewhere; and all nodes that there are."""
    some = {each.ref: each for each in draw(st.lists(contents, max_size=8))}
    messages = [*some, *(content(data).ref for data in draw(st.lists(st.binary(min_size=61, max_size=64), max_size=3)))]
    nodes: dict[ContentRef, ThreadNode] = {}
    for _ in range(draw(st.integers(0, 4)) if messages else 0):
        parent = draw(st.sampled_from([None, *nodes.values()]))
        said = draw(st.lists(st.sampled_from(messages), min_size=1, max_size=4))
        for node in extend(said, parent and parent.ref, parent.depth if parent else 0):
            nodes.setdefault(node.ref, node)
    here = [node for node in nodes.values() if draw(st.booleans())]
    return PackItems(list(some.values()), here), list(nodes.values())


@given(packs())
@settings(deadline=None)
def test_an_outline_has_all_but_the_bytes_of_contents(made: tuple[PackItems, list[ThreadNode]]):
    items, everything = made
    named = content(b"it names " + b" and ".join(str(node.ref).encode() for node in everything), 7, 3)
    items.contents.append(named)
    whole = OpenPack(items.keys, encode(items))
    outline = OpenPack(items.keys, outline_of(whole), is_outline=True)
    assert (outline.content_digests(), outline.node_digests()) == (whole.content_digests(), whole.node_digests())
    assert outline.content_sizes == whole.content_sizes
    for each in items.contents:
        assert outline.role_and_size(each.ref) == (each.role, len(each.data)) == whole.role_and_size(each.ref)
        assert outline.digests_named_by(each.ref) == whole.digests_named_by(each.ref)
        assert outline.ref_with_prefix(each.ref.digest[:16]) == each.ref
        assert outline.has(each.ref)
        with pytest.raises(ValueError, match="object store"):
            outline.content(each.ref)
    assert outline.digests_named_by(named.ref) == [node.ref.digest for node in everything]
    for node in everything:
        assert outline.node(node.ref) == (node if node in items.nodes else None)
        assert outline.chain(node.ref) == whole.chain(node.ref)
    elsewhere = ContentRef.of(b"elsewhere" * 99)
    assert not outline.has(elsewhere)
    assert outline.role_and_size(elsewhere) is None


@given(packs())
@settings(deadline=None)
def test_all_of_a_pack_is_found_and_nothing_else(made: tuple[PackItems, list[ThreadNode]]):
    items, everything = made
    pack = OpenPack(items.keys, encode(items))
    assert pack.items() == items
    assert [pack.content(each.ref) for each in items.contents] == items.contents
    assert [pack.ref_with_prefix(each.ref.digest[:16]) for each in items.contents] == [
        each.ref for each in items.contents
    ]
    assert pack.ref_with_prefix(ContentRef.of(b"elsewhere" * 99).digest[:16]) is None
    for node in everything:
        assert pack.node(node.ref) == (node if node in items.nodes else None)
        assert pack.content(node.ref) is None
    assert pack.content(ContentRef.of(b"elsewhere" * 99)) is None


@given(packs())
@settings(deadline=None)
def test_a_thread_is_followed_as_far_as_it_is_in_the_pack(made: tuple[PackItems, list[ThreadNode]]):
    items, _ = made
    pack = OpenPack(items.keys, encode(items))
    by_ref = {node.ref: node for node in items.nodes}
    for node in items.nodes:
        expected, at = list[ThreadNode](), node
        while True:
            expected.append(at)
            if at.parent is None or at.parent not in by_ref:
                break
            at = by_ref[at.parent]
        assert pack.chain(node.ref) == expected
        assert pack.chain(node.ref, {expected[-1].ref}) == expected[:-1]


@given(st.lists(st.one_of(contents, st.integers(1, 200_000)), max_size=30))
@settings(deadline=None)
def test_packs_are_split_by_size_and_keep_the_order(given_items: list[PackedContent | int]):
    items = [each if isinstance(each, PackedContent) else content(b"x" * each) for each in given_items]
    made = split(items)
    assert [each for pack in made for each in pack.contents] == items
    for pack in made:
        assert pack.contents
        assert sum(len(each.data) for each in pack.contents[:-1]) <= PACK_BYTES


def test_keys_are_the_first_four_bytes_of_refs():
    ref = content(b"hello").ref
    assert struct.pack(">i", key_of(ref)) == ref.digest[:4]


def test_two_refs_with_one_key_are_told_apart():
    """Two messages whose digests begin with the same three bytes and more, found by trying."""
    by_key: dict[int, PackedContent] = {}
    for n in range(10**6):
        made = content(b"message %d" % n)
        other = by_key.setdefault(key_of(made.ref), made)
        if other is not made:
            break
    else:
        raise AssertionError("no two had the same key")
    nodes = extend([made.ref, other.ref])
    items = PackItems([made, other], nodes)
    pack = OpenPack(items.keys, encode(items))
    assert [pack.content(each.ref) for each in (made, other)] == [made, other]
    alone = PackItems([made], [])
    assert OpenPack(alone.keys, encode(alone)).content(other.ref) is None

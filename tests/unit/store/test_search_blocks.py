"""Blocks of the search index, and the contents that a run has seen: what is written reads back."""

from hypothesis import given
from hypothesis import strategies as st

from playhead.model.ref import ContentRef
from playhead_collector.store.packing import seen_contents
from playhead_collector.store.packing.search_blocks import MOST_CONTENTS, IndexedContent, OpenBlock, encode, split
from playhead_collector.store.packing.seen_contents import SeenContent, prefix_of

terms = st.frozensets(st.integers(-(2**31), 2**31 - 1) | st.integers(0, 9), max_size=20)
contents = st.builds(
    IndexedContent, st.binary(min_size=8, max_size=8), st.integers(0, 255), st.integers(-(2**63), 2**63 - 1), terms
)
blocks = st.lists(contents, min_size=1, max_size=MOST_CONTENTS)


@given(blocks)
def test_a_block_reads_back(written: list[IndexedContent]):
    block = encode(written)
    assert OpenBlock(block.body, len(block.terms)).contents(block.terms) == written
    assert (block.contents, block.terms) == (len(written), sorted({term for each in written for term in each.terms}))
    assert (block.oldest_ns, block.newest_ns) == (
        min(each.since_ns for each in written),
        max(each.since_ns for each in written),
    )


@given(blocks, st.frozensets(st.integers(0, 9), max_size=4))
def test_the_contents_that_have_all_terms_are_known_from_the_block(
    written: list[IndexedContent], wanted: frozenset[int]
):
    block = encode(written)
    if not wanted <= set(block.terms):
        return
    found = OpenBlock(block.body, len(block.terms)).having([block.terms.index(term) for term in wanted])
    assert [(each.prefix, each.since_ns) for each in found] == [
        (each.prefix, each.since_ns) for each in written if wanted <= each.terms
    ]


@given(st.integers(1, 500))
def test_contents_are_divided_evenly(count: int):
    written = [IndexedContent(number.to_bytes(8), 0, number, frozenset()) for number in range(count)]
    parts = split(written)
    assert [each for part in parts for each in part] == written
    sizes = {len(part) for part in parts}
    assert max(sizes) <= MOST_CONTENTS
    assert max(sizes) - min(sizes) <= 1
    assert len(parts) == -(-count // MOST_CONTENTS)


@given(
    st.dictionaries(
        st.binary(min_size=1).map(ContentRef.of),
        st.builds(SeenContent, st.integers(1, 2**31 - 1), st.integers(1, 2**63 - 1)),
    )
)
def test_seen_contents_read_back(seen: dict[ContentRef, SeenContent]):
    assert seen_contents.decode(seen_contents.encode(seen)) == {prefix_of(ref): each for ref, each in seen.items()}

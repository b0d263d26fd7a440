import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span, SpanEvent
from playhead_collector.store.packing.span_pages import PAGE_ITEMS, SpanPage, merge, named_refs, pack, repack, unpack

hex_ids = st.text("0123456789abcdef", min_size=1, max_size=2)
times = st.integers(0, 2**64 - 1)
texts = st.text(st.characters(codec=None), max_size=8)
attributes = st.dictionaries(
    texts,
    texts | st.booleans() | st.integers(-(2**70), 2**70) | st.floats(allow_nan=False, allow_infinity=False)
    | st.lists(texts | st.none(), max_size=2),
    max_size=3,
)  # fmt: skip
span_events = st.builds(SpanEvent, texts, times, attributes)
spans = st.builds(
    Span, hex_ids, hex_ids, st.none() | hex_ids, texts, times, st.none() | times, attributes, st.integers(0, 5),
    st.integers(0, 2), texts, st.lists(span_events, max_size=2), st.lists(attributes, max_size=1), texts, attributes,
)  # fmt: skip
logs = st.builds(LogEvent, texts, times, st.none() | hex_ids, st.none() | hex_ids, attributes, texts, attributes)


def page(number: int, spans: list[Span], logs: list[LogEvent] | None = None) -> SpanPage:
    return SpanPage(number, b"", spans, logs or [])


def span(number: int, *, name: str = "", ended: bool = True) -> Span:
    return Span("t", f"{number:x}", None, name, number, number + 1 if ended else None, {})


@given(st.lists(spans, max_size=4), st.lists(logs, max_size=3))
def test_what_is_packed_can_be_read(some: list[Span], noted: list[LogEvent]):
    for packed in pack(some, noted):
        read = unpack(1, packed.body)
        assert (read.spans, read.logs) == (some, noted)
        assert packed.items == len(some) + len(noted)


def test_the_same_has_the_same_digest_and_nothing_else_has():
    digests = [packed.digest for some in ([span(1)], [span(1)], [span(2)]) for packed in pack(some, [])]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize(("spans_", "logs_"), [(0, 0), (256, 0), (0, 300), (200, 56), (200, 57), (600, 300)])
def test_no_page_is_larger_than_it_may_be(spans_: int, logs_: int):
    some, noted = [span(n) for n in range(spans_)], [LogEvent("x", n, None, None, {}) for n in range(logs_)]
    pages = [unpack(n, packed.body) for n, packed in enumerate(pack(some, noted))]
    assert [span for page in pages for span in page.spans] == some
    assert [log for page in pages for log in page.logs] == noted
    assert len(pages) == -(-(spans_ + logs_) // PAGE_ITEMS)


def test_an_ended_version_of_a_span_counts():
    pages = [
        page(1, [span(1, name="announced", ended=False)]),
        page(2, [span(1, name="ended")]),
        page(3, [span(1, name="zz announced late", ended=False)]),
    ]
    random.Random(1).shuffle(pages)
    assert [each.name for each in merge(pages).spans] == ["ended"]


@given(
    st.lists(st.builds(span, st.just(1), name=texts, ended=st.booleans()) | st.builds(
        Span, st.just("t"), st.just("1"), st.none(), texts, st.just(1), st.none() | st.integers(2, 4), attributes
    ), min_size=1, max_size=5),
    st.randoms(use_true_random=False),
)  # fmt: skip
def test_of_conflicting_versions_the_same_counts_in_whatever_order_they_arrive(
    versions: list[Span], rng: random.Random
):
    shuffled = rng.sample(versions, len(versions))
    (one,) = merge([page(n, [each]) for n, each in enumerate(versions)]).spans
    (other,) = merge([page(n, [each]) for n, each in enumerate(shuffled)]).spans
    assert one == other
    assert (one.end_ns or 0) == max(each.end_ns or 0 for each in versions)


@given(st.lists(st.lists(st.tuples(st.integers(0, 9), st.booleans(), st.sampled_from("xy")), max_size=5), max_size=24))
def test_tidying_changes_nothing_that_counts(batches: list[list[tuple[int, bool, str]]]):
    pages = [
        page(
            number,
            [span(n, name=name, ended=ended) for n, ended, name in batch],
            [LogEvent("x", number // 2, None, None, {})],
        )
        for number, batch in enumerate(batches)
    ]
    before = merge(pages)
    for thoroughly in (False, True):
        tidied = repack(pages, before, thoroughly=thoroughly)
        if tidied is not None:
            pages = [each for each in pages if each.number not in tidied.gone]
            pages += [unpack(1_000 + number, packed.body) for number, packed in enumerate(tidied.pages)]
        after = merge(pages)
        assert (after.spans, after.logs) == (before.spans, before.logs)
        before = after
    assert repack(pages, before, thoroughly=True) is None
    assert len(pages) <= 1


def test_full_pages_are_left_alone_while_the_run_is_open():
    full = [page(n, [span(n * 1_000 + m) for m in range(PAGE_ITEMS)]) for n in range(3)]
    loose = [page(n, [span(n * 1_000)]) for n in range(10, 30)]
    tidied = repack([*full, *loose], merge([*full, *loose]), thoroughly=False)
    assert tidied is not None
    assert tidied.gone == list(range(10, 30))
    assert [packed.items for packed in tidied.pages] == [20]


def test_only_refs_of_ours_are_looked_for():
    ref = ContentRef.of(b"x")
    named = Span("t", "s", None, "", 0, 1, {"a_ref": str(ref), "b_ref": "gs://x", "c": str(ref), "d_ref": 7})
    noted = SpanEvent("e", 0, {"e_ref": str(ContentRef.of(b"y"))})
    named.events.append(noted)
    assert named_refs([named], [LogEvent("l", 0, None, None, {"f_ref": str(ContentRef.of(b"z"))})]) == {
        ref,
        ContentRef.of(b"y"),
        ContentRef.of(b"z"),
    }

"""Alignment: every call once, in order, what is the same together; in time that grows with the runs."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from playhead_collector.analysis.compare.alignment import Facets, align
from tests.support.work import work_of


def call(word: str) -> Facets:
    """`search:a=1`: a call of `search`, asked `a`, given `1`."""
    sort, _, rest = word.partition(":")
    asked, _, given_back = rest.partition("=")
    return Facets(sort, (asked,), (given_back,))


def aligned(ours: str, theirs: str) -> str:
    """`a-b` for a pair of places, `a-` and `-b` for what stands alone."""
    pairs = align([call(word) for word in ours.split()], [call(word) for word in theirs.split()])
    return " ".join(f"{'' if i is None else i}-{'' if j is None else j}" for i, j in pairs)


def test_equal_runs_align_call_by_call():
    assert aligned("m:a=1 t:b=2 m:c=3", "m:a=1 t:b=2 m:c=3") == "0-0 1-1 2-2"


def test_a_call_that_was_inserted_stands_alone():
    assert aligned("m:a m:b m:c", "m:a m:x m:b m:c") == "0-0 -1 1-2 2-3"


def test_a_call_that_was_left_out_stands_alone():
    assert aligned("m:a t:b m:c", "m:a m:c") == "0-0 1- 2-1"


def test_calls_that_asked_the_same_and_got_another_answer_are_a_pair():
    assert aligned("m:a=1 t:b=2 m:c=3", "m:a=1 t:b=9 m:d=3") == "0-0 1-1 2-2"


def test_calls_of_different_sorts_are_never_a_pair():
    assert aligned("search:a", "pay:a") == "0- -0"


def test_of_several_candidates_the_one_that_asked_the_same_is_the_pair():
    assert aligned("t:x=1 t:y=1", "t:y=2") == "0- 1-0"


def test_of_calls_that_repeat_the_last_one_is_the_one_too_many():
    assert aligned("m:1 t:p t:p m:2", "m:1 t:p t:p t:p m:2") == "0-0 1-1 2-2 -3 3-4"


def test_what_is_unique_holds_what_repeats_in_place():
    assert aligned("t:p m:1 u:x t:p", "t:q t:p m:1 t:p t:p u:y") == "-0 0-1 1-2 2- 3-3 -4 -5"


words = st.lists(st.sampled_from(["m:a=1", "m:a=2", "m:b=1", "t:a=1", "t:b=1", "t:c=1", "u:z=1"]), max_size=40)


@settings(max_examples=300, deadline=None)
@given(words, words)
def test_every_call_of_both_is_in_exactly_one_pair_and_no_two_cross(ours: list[str], theirs: list[str]):
    one, other = [call(word) for word in ours], [call(word) for word in theirs]
    pairs = align(one, other)
    assert [i for i, _ in pairs if i is not None] == list(range(len(one)))
    assert [j for _, j in pairs if j is not None] == list(range(len(other)))
    assert all(i is not None or j is not None for i, j in pairs)
    assert all(one[i].sort == other[j].sort for i, j in pairs if i is not None and j is not None)


@settings(max_examples=300, deadline=None)
@given(words, words)
def test_the_pairs_are_the_same_whichever_run_is_named_first(ours: list[str], theirs: list[str]):
    one, other = [call(word) for word in ours], [call(word) for word in theirs]
    assert {(j, i) for i, j in align(other, one)} == set(align(one, other))


@settings(deadline=None)
@given(words)
def test_a_run_beside_itself_is_all_pairs(ours: list[str]):
    one = [call(word) for word in ours]
    assert align(one, one) == [(n, n) for n in range(len(one))]


def work_of_aligning(ours: Sequence[Facets], theirs: Sequence[Facets]) -> int:
    def work() -> None:
        pairs = align(ours, theirs)
        assert len([i for i, _ in pairs if i is not None]) == len(ours)

    return work_of(work)


def test_long_runs_take_work_in_proportion_to_their_length():
    def alike(count: int, other: int) -> list[Facets]:
        return [call(f"{'mt'[n % 2]}:{n % (7 + other)}={n % (5 + other)}") for n in range(count)]

    def apart(count: int, other: int) -> list[Facets]:
        return [call(f"m:{n}-{other}") for n in range(count)]

    for made in (alike, apart):
        short, long = (work_of_aligning(made(count, 0), made(count, 1)) for count in (1_000, 8_000))
        # Eight times the calls; a square would take 64 times as much.
        assert long < 12 * short

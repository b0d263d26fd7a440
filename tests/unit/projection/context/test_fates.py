"""What became of each message of a context: projector, audit and difference say the same of any two contexts."""

from collections import Counter
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from playhead.model.event import ContextCompressed
from playhead.model.ref import ContentRef
from playhead.projection.known_messages import KnownMessages
from playhead.projection.message_diff import diff_messages
from playhead.projection.message_outcomes import (
    DROPPED,
    KEPT,
    SUMMARISED,
    declared_outcomes,
    message_outcomes,
    outcomes_of_event,
    with_replacements,
)
from playhead_collector.read.diff import diff_contexts

contexts = st.lists(st.sampled_from([ContentRef(letter) for letter in "abcdefgh"]), max_size=12)
ROLES = {
    ContentRef(letter): role
    for letter, role in zip("abcdefgh", ["user", "assistant", "tool", "system"] * 2, strict=True)
}


def event(kept: object, summarised: object, dropped: object, origin: str = "inferred") -> ContextCompressed:
    head = {"id": "e", "run": "r", "seq": 1, "time_ns": 1, "actor": None, "span": None}
    lists = {"kept": kept, "summarised": summarised, "dropped": dropped}
    return ContextCompressed(**head, **lists, origin=origin)  # pyright: ignore[reportArgumentType]


@given(contexts, contexts, st.data())
def test_what_an_event_records_is_read_back_as_it_was_decided(before, after, data):
    change = diff_messages(before, after)
    summarised = data.draw(st.lists(st.sampled_from(change.removed), unique=True)) if change.removed else []
    written = message_outcomes(change, summarised)
    assert Counter(written.by_position) == {
        fate: count for fate in (KEPT, SUMMARISED, DROPPED) if (count := written.count(fate))
    }
    lists = (written.refs(KEPT), written.refs(SUMMARISED), written.refs(DROPPED))
    read = outcomes_of_event(event(*lists), before, after)
    assert (read.diff.before, read.input_length) == (before, len(before))
    for fate in (KEPT, SUMMARISED, DROPPED):
        assert Counter(read.refs(fate)) == Counter(written.refs(fate))
    assert read.positions(KEPT) == written.positions(KEPT)


@given(contexts, contexts)
def test_a_difference_shows_the_same_fates_and_replacements(before, after):
    known = KnownMessages(ROLES, {})
    fates = with_replacements(message_outcomes(diff_messages(before, after)), known)
    entries = diff_contexts(before, after, known)
    went = {entry["from"]: entry for entry in entries if entry["from"] is not None}
    assert sorted(went) == list(range(len(before)))
    for position, fate in enumerate(fates.by_position):
        entry, new = went[position], fates.replacements.get(position)
        shown = "replaced" if new is not None else fate
        assert (entry["op"], entry["to"]) == (shown, fates.diff.kept.get(position, new))


@given(contexts, st.none() | contexts, st.none() | contexts, st.booleans())
def test_a_declaration_is_completed_by_what_the_threads_show(gone, summarised, dropped, summed_up):
    found = declared_outcomes(gone, summarised, dropped, summed_up=summed_up)
    if summarised is not None:
        assert found[0] == tuple(summarised)
    if dropped is not None:
        assert found[1] == tuple(dropped)
    if summarised is None and dropped is None:
        assert found == ((tuple(gone), ()) if summed_up else ((), tuple(gone)))
    elif dropped is None:
        assert Counter(found[1]) == Counter(gone) - Counter(found[0])
    elif summarised is None:
        assert Counter(found[0]) == (Counter(gone) - Counter(dropped) if summed_up else Counter())


def test_the_answer_of_the_call_before_is_taken_from_the_event():
    a, b, c, d = (ContentRef(letter) for letter in "abcd")
    fates = outcomes_of_event(event([b], [], [a, c]), [a, b], [b, d])
    assert (fates.diff.before, fates.input_length) == ([a, b, c], 2)
    assert fates.by_position == [DROPPED, KEPT, DROPPED]


def test_kept_messages_in_another_order_have_moved():
    a, b, c, d, e = (ContentRef(letter) for letter in "abcde")
    assert message_outcomes(diff_messages([a, b, c, d], [a, c, d, e])).moved() == set()
    assert message_outcomes(diff_messages([a, b, c, d], [a, d, b, c])).moved() == {3}


@given(st.permutations(range(6)))
def test_as_few_messages_as_possible_have_moved(order: list[int]):
    refs = [ContentRef(str(number)) for number in range(6)]
    moved = message_outcomes(diff_messages(refs, [refs[number] for number in order], 0)).moved()
    rest = [number for number in order if number not in moved]
    assert rest == sorted(rest)
    longest = max(
        len(chosen) for size in range(7) for chosen in combinations(order, size) if list(chosen) == sorted(chosen)
    )
    assert len(rest) == longest

"""The order of runs that several processes have recorded: each process's own count, and causes before effects."""

from itertools import permutations

from hypothesis import given
from hypothesis import strategies as st

from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.projection.order import timeline
from playhead.projection.span_tree import SpanTree

P, Q = "1" * 16, "2" * 16


def call(
    name: str,
    start: int,
    end: int | None,
    number: int | None,
    parent: str | None = None,
    process: str = "",
    after: str = "",
    seen: int | None = None,
) -> Span:
    """A call that its process counted as `number`, and that ended after the start `seen`."""
    attributes = {names.KIND: "step", names.RUN_ID: "r", names.CALL_ORDER: number, names.CALL_END_ORDER: 1}
    attributes |= {names.CALL_ENDED_AFTER: number if seen is None else seen}
    attributes |= {names.PROCESS_ID: process} if process else {}
    attributes |= {names.PROCESS_AFTER: after} if after else {}
    return Span(
        "t", name, parent, name, start, end, {key: item for key, item in attributes.items() if item is not None}
    )


def order(*spans: Span, logs: tuple[LogEvent, ...] = ()) -> str:
    said = []
    for moment in timeline(SpanTree(spans), logs):
        name = moment.log.name if moment.log else moment.node.span.name if moment.node else "?"
        said.append(name + {"start": "(", "end": ")", "log": ""}[moment.kind])
    return " ".join(said)


A = call("a", 10, 90, 1, seen=3)
B = call("b", 20, 80, 2, "a", seen=2)
C = call("c", 85, 88, 3, "a")


def test_each_process_keeps_its_own_order_and_time_decides_between_them():
    x, y = call("x", 30, 35, 1, "b", P, "#2"), call("y", 40, 70, 2, "b", P, "#2")
    assert order(A, B, C, x, y) == "a( b( x( x) y( y) b) c( c) a)"
    x.start_ns, x.end_ns, y.start_ns = 60, 65, 41  # its own count wins over its clock
    assert order(A, B, C, x, y) == "a( b( x( x) y( y) b) c( c) a)"


def test_what_a_process_was_handed_comes_after_what_handed_it_on_whatever_the_clocks_say():
    behind = call("x", 1, 2, 1, "b", P, "#2")
    assert order(behind, A, B, C) == "a( b( x( x) b) c( c) a)"
    later = call("x", 1, 2, 1, "b", P, "#3")  # it was handed on when `c` had begun
    assert order(later, A, B, C).split().index("x(") > order(later, A, B, C).split().index("c(")


def test_without_what_handed_it_on_it_still_comes_after_the_call_around_it():
    assert order(call("x", 1, 2, 1, "b", P), A, B, C) == "a( b( x( x) b) c( c) a)"


def test_a_cause_that_was_lost_holds_nothing_up_but_what_came_before_it_does():
    assert order(call("x", 1, 2, 1, None, P, "#7"), A, B, C) == "a( b( b) c( c) a) x( x)"
    assert order(call("x", 1, 2, 1, None, P, f"{Q}#7"), A) == "x( x) a( a)"


def test_a_process_hands_on_to_a_third_and_is_called_back():
    x = call("x", 3, 9, 1, "b", P, "#2", seen=2)
    y = call("y", 1, 2, 1, "x", Q, f"{P}#1")
    back = call("back", 81, 82, 3, "y", "", f"{Q}#1")
    assert order(y, x, back, call("a", 10, 90, 1, seen=3), B) == "a( b( x( y( y) x) b) back( back) a)"


def test_log_events_have_a_place_in_their_process():
    log = LogEvent("log", 1, "t", "b", {names.CALL_ORDER: 1, names.PROCESS_ID: P, names.PROCESS_AFTER: "#2"})
    x = call("x", 30, 31, 2, "b", P, "#2")
    assert order(A, B, C, x, logs=(log,)) == "a( b( log x( x) b) c( c) a)"


def test_a_circle_of_causes_ends():
    x, y = call("x", 5, 6, 1, None, P, f"{Q}#1"), call("y", 3, 4, 1, None, Q, f"{P}#1")
    assert order(x, y) == order(y, x) == "y( y) x( x)"


def test_an_attempt_that_counts_anew_is_the_cause_of_its_own():
    again = call("again", 200, 210, 1)
    again.attributes[names.RUN_ATTEMPT] = 1
    x = call("x", 1, 2, 1, "again", P, "#1")
    x.attributes[names.RUN_ATTEMPT] = 1
    assert order(A, x, again) == "a( a) again( x( x) again)"


def test_spans_of_others_stand_among_all_of_them_by_time():
    other = Span("t", "other", "x", "other", 33, 34, {names.RUN_ID: "r"})
    assert order(A, B, call("x", 30, 50, 1, "b", P, "#2"), other) == "a( b( x( other( other) x) b) a)"


def test_an_older_sdk_in_the_child_counts_nothing_and_is_placed_by_time():
    loose = Span("t", "x", "b", "x", 30, 50, {names.KIND: "step", names.RUN_ID: "r"})
    assert order(A, B, loose) == "a( b( x( x) b) a)"


def test_the_order_of_arrival_makes_no_difference():
    spans = [A, B, call("x", 1, 2, 1, "b", P, "#2"), call("y", 1, 2, 1, "b", Q, "#2")]
    assert len({order(*some) for some in permutations(spans)}) == 1


@given(st.data())
def test_no_clock_breaks_a_process_s_order_or_puts_an_effect_first(data: st.DataObject):
    """Processes that hand work on to each other at random, with clocks that have nothing to do with each other."""
    counts = dict.fromkeys(("", P, Q, "3" * 16), 0)
    spans: list[Span] = []
    for n in range(data.draw(st.integers(1, 14))):
        process = data.draw(st.sampled_from(list(counts))) if spans else ""
        parent = data.draw(st.sampled_from(spans)) if spans else None
        counts[process] += 1
        of = parent.attributes.get(names.PROCESS_ID, "") if parent is not None else ""
        after = f"{of}#{counts[of]}" if parent is not None and of != process else ""
        at = data.draw(st.integers(0, 50))
        above = parent.span_id if parent is not None else None
        spans.append(call(f"s{n}", at, at + data.draw(st.integers(0, 9)), counts[process], above, process, after))
    places = {word: n for n, word in enumerate(order(*data.draw(st.permutations(spans))).split())}
    assert len(places) == 2 * len(spans)
    last: dict[str, int] = {}
    for span in spans:  # in the order in which they were made, which each process has counted
        here, process = places[f"{span.name}("], span.attributes.get(names.PROCESS_ID, "")
        assert here > last.get(process, -1)
        assert here < places[f"{span.name})"]
        last[process] = here
        if span.parent_id is not None:
            assert here > places[f"{span.parent_id}("]

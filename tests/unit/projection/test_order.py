from playhead.model import names
from playhead.model.span import LogEvent, Span
from playhead.projection.order import spans_missing, timeline
from playhead.projection.span_tree import SpanTree


def span(name: str, start: int, end: int | None, parent: str | None = None, **numbers: int) -> Span:
    attributes = {f"playhead.call.{key}": value for key, value in numbers.items()}
    return Span("t", name, parent, name, start, end, {names.KIND: "step", names.RUN_ID: "r", **attributes})


def order(*spans: Span, logs: list[LogEvent] | None = None) -> str:
    """`a( b( b) a)`: what began and what ended, in order."""
    said = []
    for moment in timeline(SpanTree(spans), logs or []):
        name = moment.log.name if moment.log else moment.node.span.name if moment.node else "?"
        said.append(name + {"start": "(", "end": ")", "log": ""}[moment.kind])
    return " ".join(said)


def test_numbers_come_before_clocks():
    a = span("a", 900, 901, order=1, ended_after=2, end_order=2)
    b = span("b", 5, 6, "a", order=2, ended_after=2, end_order=1)
    assert order(b, a) == "a( b( b) a)"


def test_an_end_comes_after_the_last_start_that_it_saw():
    a = span("a", 1, 9, order=1, ended_after=2, end_order=1)
    b = span("b", 2, 8, order=2, ended_after=3, end_order=1)
    c = span("c", 3, 7, order=3, ended_after=3, end_order=2)
    assert order(a, b, c) == "a( b( a) c( b) c)"


def test_log_events_are_counted_with_the_starts():
    a = span("a", 1, 9, order=1, ended_after=3, end_order=1)
    b = span("b", 2, 3, order=3, ended_after=3, end_order=2)
    log = LogEvent("log", 99, "t", "a", {names.CALL_ORDER: 2})
    assert order(a, b, logs=[log]) == "a( log b( a) b)"


def test_an_end_before_its_own_start_is_put_after_it():
    assert order(span("a", 1, 2, order=5, ended_after=1, end_order=1)) == "a( a)"


def test_a_later_attempt_comes_after_all_of_an_earlier_one():
    early, late = span("early", 500, None, order=7), span("late", 1, None, order=1)
    late.attributes[names.RUN_ATTEMPT] = 1
    assert order(late, early) == "early( late("


def test_without_numbers_time_decides():
    assert order(span("a", 1, 9), span("b", 2, 4, "a"), span("c", 5, 7, "a")) == "a( b( b) c( c) a)"


def test_a_child_never_begins_before_its_parent():
    assert order(span("a", 10, 20), span("b", 3, 4, "a"), span("c", 2, 12, "b")) == "a( b( c( b) c) a)"


def test_at_one_instant_the_earlier_call_ends_before_the_next_begins():
    assert order(span("z", 1, 5), span("a", 5, 9)) == "z( z) a( a)"


def test_calls_that_take_no_time_are_nested_as_they_were():
    assert order(span("z", 5, 5), span("b", 5, 5, "z"), span("a", 5, 5, "b")) == "z( b( a( a) b) z)"


def test_a_call_ends_after_what_begins_in_its_last_instant():
    assert order(span("z", 1, 5), span("a", 5, 5, "z")) == "z( a( a) z)"


def test_a_child_may_outlive_its_parent():
    assert order(span("a", 1, 5), span("b", 2, 9, "a")) == "a( b( a) b)"


def test_calls_without_numbers_are_placed_among_those_that_have_them_by_time():
    a = span("a", 10, 50, order=1, ended_after=2, end_order=1)
    b = span("b", 30, 40, "a", order=2, ended_after=2, end_order=2)
    assert order(a, b, span("other", 20, 25, "a")) == "a( other( other) b( a) b)"


def test_a_remote_child_whose_clock_is_behind_begins_after_its_numbered_parent():
    a = span("a", 10, 50, order=1, ended_after=2, end_order=2)
    b = span("b", 30, 40, "a", order=2, ended_after=2, end_order=1)
    assert order(a, b, span("remote", 1, 2, "b")) == "a( b( remote( remote) b) a)"


def test_a_remote_parent_whose_clock_is_ahead_is_brought_before_its_numbered_child():
    child = span("child", 10, 12, "near", order=1, ended_after=1, end_order=1)
    assert order(child, span("far", 80, 90), span("near", 85, 89, "far")) == "far( near( child( child) near) far)"


def test_a_deep_chain_of_parents_is_no_problem():
    chain = [span(f"{n:05}", 10_000 + n, None, f"{n - 1:05}" if n else None) for n in range(5_000)]
    child = span("child", 1, None, chain[-1].span_id, order=1)
    assert order(*chain[::-1], child).split() == [f"{n:05}(" for n in range(5_000)] + ["child("]


def test_a_circle_of_parents_begins_with_its_earliest():
    ring = [span("a", 3, None, "c"), span("b", 1, None, "a"), span("c", 2, None, "b"), span("d", 0, None, "a")]
    assert order(*ring) == order(*ring[::-1]) == "b( c( a( d("


def test_a_span_that_is_its_own_parent_has_none():
    assert order(span("a", 1, 2, "a")) == "a( a)"


def test_an_ended_span_wins_over_its_announcement():
    assert order(span("a", 1, 2), span("a", 1, None)) == order(span("a", 1, None), span("a", 1, 2)) == "a( a)"


def test_holes_in_the_count_are_spans_that_are_missing():
    tree = SpanTree([span("a", 1, None, order=1), span("b", 1, None, order=4), span("c", 1, None)])
    assert spans_missing(tree, []) == 2
    assert spans_missing(tree, [LogEvent("x", 1, None, None, {names.CALL_ORDER: 3})]) == 1


def test_an_attempt_that_counts_anew_has_no_holes_where_the_first_one_had_none():
    again = span("d", 9, None, order=3)
    again.attributes[names.RUN_ATTEMPT] = 1
    assert spans_missing(SpanTree([span("a", 1, None, order=1), span("b", 2, None, order=2), again]), []) == 0

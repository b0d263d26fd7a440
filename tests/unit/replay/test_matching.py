"""Which recorded call a call is: verdicts on programs that changed, with hand-made records."""

from playhead.calls.flow import ExecutionFlow
from playhead.model import names
from playhead.model.span import Span
from playhead.replaying.matching import Diverged, DivergenceCertainty, MatchedCall, Matcher, RecordExhausted
from playhead.replaying.recorded_calls import Outcome, RecordedCall, call_path_of, recorded_calls, request_refs_of


def span(order: int, place: str, asked: str, *, ended: int | None = None, **more: object) -> Span:
    """A call that began as number `order`; `ended`: the last start that its end saw, by default its own."""
    open_ = ended == 0
    attributes = {
        names.KIND: place.rpartition(":")[2],
        names.CALL_KEY: f"{place}#1",
        names.CALL_ORDER: order,
        names.TOOL_ARGUMENTS_REF: f"sha256:{asked}",
        **({} if open_ else {names.CALL_ENDED_AFTER: ended or order, names.CALL_END_ORDER: order}),
        **more,
    }
    return Span("t" * 32, f"{order:016x}", None, place, order, None if open_ else order + 1, attributes)


def matcher(*spans: Span) -> Matcher:
    return Matcher(recorded_calls(spans))


def ask(by: Matcher, place: str, asked: str, flow: ExecutionFlow | None = None):
    attributes = {names.CALL_KEY: f"{place}#1", names.TOOL_ARGUMENTS_REF: f"sha256:{asked}"}
    return by.match(call_path_of(attributes), request_refs_of(attributes), flow)


def order_of(match: object) -> int:
    assert isinstance(match, MatchedCall)
    return match.call.order


def test_an_unchanged_program_finds_its_calls_in_order_even_when_they_are_equal():
    by = matcher(span(1, "agent/charge:tool", "a"), span(2, "agent/charge:tool", "a"))
    assert [order_of(ask(by, "agent/charge:tool", "a")) for _ in range(2)] == [1, 2]
    assert isinstance(ask(by, "agent/charge:tool", "a"), RecordExhausted)


def test_a_changed_argument_never_matches_and_names_what_stood_there():
    by = matcher(span(1, "agent/search:tool", "a"), span(2, "agent/search:tool", "b"))
    assert order_of(ask(by, "agent/search:tool", "a")) == 1
    verdict = ask(by, "agent/search:tool", "changed")
    assert isinstance(verdict, Diverged)
    assert (verdict.how, verdict.expected.order) == ("changed", 2)


def test_an_inserted_step_is_told_from_the_end_of_the_record():
    by = matcher(span(1, "agent/a:tool", "x"), span(2, "agent/b:tool", "x"))
    assert order_of(ask(by, "agent/a:tool", "x")) == 1
    verdict = ask(by, "agent/new:tool", "x")
    assert isinstance(verdict, Diverged)
    assert (verdict.how, verdict.expected.order) == ("inserted", 2)


def test_a_call_after_the_record_s_end_is_new():
    by = matcher(span(1, "agent/a:tool", "x"))
    ask(by, "agent/a:tool", "x")
    assert isinstance(ask(by, "agent/b:tool", "x"), RecordExhausted)


def test_a_removed_step_leaves_the_others_answered_and_is_left_over():
    by = matcher(span(1, "agent/a:tool", "x"), span(2, "agent/b:tool", "x"), span(3, "agent/c:tool", "x"))
    assert order_of(ask(by, "agent/a:tool", "x")) == 1
    assert order_of(ask(by, "agent/c:tool", "x")) == 3
    assert [call.name for call in by.unmatched()] == ["b"]


def test_parallel_calls_match_in_any_order():
    spans = [span(1, "agent/a:tool", "x", ended=3), span(2, "agent/a:tool", "y", ended=3), span(3, "agent/a:tool", "z")]
    by = matcher(*spans)
    assert [order_of(ask(by, "agent/a:tool", asked)) for asked in "zxy"] == [3, 1, 2]


def test_a_parallel_call_that_never_began_is_no_certain_divergence_while_its_siblings_still_wait():
    flows = ({names.FLOW: "1<"}, {names.FLOW: "2<"})
    by = matcher(*(span(at, "agent/a:tool", "xy"[at - 1], ended=2, **flows[at - 1]) for at in (1, 2)))
    third = ExecutionFlow("", 0, "1.1<")
    verdict = ask(by, "agent/a:tool", "z", third)
    assert isinstance(verdict, Diverged)
    assert verdict.certainty is DivergenceCertainty.POSSIBLE
    for which, asked in enumerate("xy"):
        assert order_of(ask(by, "agent/a:tool", asked, ExecutionFlow("", 0, f"1.{2 + which}<"))) == which + 1
    assert isinstance(ask(by, "agent/a:tool", "z", third), RecordExhausted)


def test_a_call_that_had_begun_is_found_in_doubt():
    by = matcher(span(1, "agent/pay:tool", "x", ended=0))
    found = ask(by, "agent/pay:tool", "x")
    assert isinstance(found, MatchedCall)
    assert found.call.outcome is Outcome.IN_DOUBT


def test_equal_calls_in_other_branches_are_not_mixed_up():
    by = matcher(span(1, "agent/left/a:tool", "x"), span(2, "agent/right/a:tool", "x"))
    assert order_of(ask(by, "agent/right/a:tool", "x")) == 2
    assert order_of(ask(by, "agent/left/a:tool", "x")) == 1


def test_nothing_is_answered_when_no_arguments_were_recorded():
    recorded = span(1, "agent/a:tool", "x")
    recorded.attributes.pop(names.TOOL_ARGUMENTS_REF)
    by = Matcher(recorded_calls([recorded]))
    assert isinstance(by.match("agent/a:tool", request_refs_of({})), RecordExhausted)


def test_an_announcement_and_its_end_are_one_call():
    begun, ended = span(1, "agent/a:tool", "x", ended=0), span(1, "agent/a:tool", "x")
    calls = recorded_calls([begun, ended, begun])
    assert [call.outcome for call in calls] == [Outcome.COMPLETED]
    assert isinstance(calls[0], RecordedCall)


def test_a_call_that_was_cancelled_is_in_doubt_and_one_that_raised_has_failed():
    cancelled = span(1, "agent/a:tool", "x")
    cancelled.attributes[names.OUTCOME] = "cancelled"
    failed = span(2, "agent/a:tool", "y")
    failed.status = 2
    assert [call.outcome for call in recorded_calls([cancelled, failed])] == [Outcome.IN_DOUBT, Outcome.FAILED]

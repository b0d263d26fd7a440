"""Whatever the run and in whatever order it arrives: the same events."""

from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from playhead.model import names
from playhead.model.event import RunEvent, event_from_json, event_to_json
from playhead.model.span import Span
from playhead.model.state import fold
from playhead.projection.order import timeline
from playhead.projection.span_tree import SpanTree
from tests.unit.projection.recording import RUN, Recording

MESSAGES = ("system: s", "user: a", "user: b", "assistant: C", "assistant: D")
Heads = list[tuple[int, str]]


@st.composite
def recordings(draw: st.DrawFn, ours: bool = True) -> Recording:
    """Calls that begin and end as threads and tasks make them: nested, side by side, some never ending."""
    r = Recording(ours=ours)
    r.begin("agent", "lead", None, **({"playhead__run__root": True} if ours else {}))
    open_calls, said = [r.spans[0]], list(MESSAGES[:1])
    for _ in range(draw(st.integers(0, 12))):
        action = draw(st.sampled_from(["llm", "tool", "agent", "step", "end", "end", "log"]))
        parent = draw(st.sampled_from(open_calls)) if open_calls else r.spans[0]
        if action == "end" and open_calls:
            span = open_calls.pop(draw(st.integers(0, len(open_calls) - 1)))
            output = draw(st.lists(st.sampled_from(MESSAGES[3:]), max_size=2)) if "chat" in span.name else []
            r.answer(span, *output, error=draw(st.sampled_from([None, "failed"])))
            said += output
        elif action == "llm":
            cut = draw(st.integers(0, len(said)))
            said = said[cut if draw(st.booleans()) else 0 :] + draw(st.lists(st.sampled_from(MESSAGES[1:]), max_size=3))
            open_calls.append(r.ask(said, parent))
        elif action == "log":
            r.log(names.STATE_CHANGED, playhead__state__key="k")
        elif action != "end":
            open_calls.append(r.begin(action, action, parent))
    return r


@st.composite
def tangles(draw: st.DrawFn) -> list[Span]:
    """Spans with any times, any parents (lost ones, circles), some with numbers."""
    spans: list[Span] = []
    for n in range(draw(st.integers(1, 8))):
        start = draw(st.integers(1, 6))
        end = draw(st.none() | st.integers(0, 8))
        attributes: dict[str, Any] = {names.KIND: draw(st.sampled_from(["step", "llm", "agent"]))}
        if draw(st.booleans()):
            attributes[names.RUN_ID] = RUN
        if draw(st.booleans()):
            attributes[names.CALL_ORDER] = draw(st.integers(1, 9))
            attributes |= {names.CALL_ENDED_AFTER: draw(st.integers(1, 9)), names.CALL_END_ORDER: n}
        if draw(st.booleans()):
            attributes[names.RUN_ROOT] = True
        parent = draw(st.none() | st.sampled_from("abcdefghx"))
        spans.append(Span(RUN, "abcdefgh"[n], parent, f"span {n}", start, end, attributes))
    return spans


def shuffled(draw: Any, items: list[Any]) -> list[Any]:
    more = draw(st.lists(st.sampled_from(items), max_size=4)) if items else []
    return draw(st.permutations([*items, *more]))


def heads(events: Any) -> Heads:
    return [(event.seq, event.id) for event in events]


@given(st.data())
@settings(deadline=None, max_examples=60)
def test_the_order_of_arrival_makes_no_difference(data: st.DataObject):
    r = data.draw(recordings(ours=data.draw(st.booleans())))
    expected = r.project()
    assert r.project(spans=shuffled(data.draw, r.spans), logs=shuffled(data.draw, r.logs)) == expected


@given(st.data())
@settings(deadline=None, max_examples=100)
def test_the_order_of_arrival_makes_no_difference_to_a_tangle(data: st.DataObject):
    r, spans = Recording(), data.draw(tangles())
    assert r.project(spans=shuffled(data.draw, spans)) == r.project(spans=spans)


@given(tangles())
@settings(deadline=None, max_examples=100)
def test_in_a_tangle_everything_happens_once_and_after_what_it_needs(spans: list[Span]):
    tree = SpanTree(spans)
    said = [(moment.kind, moment.node.span.span_id) for moment in timeline(tree, []) if moment.node]
    assert sorted(said) == sorted(
        [("start", span.span_id) for span in spans]
        + [("end", span.span_id) for span in spans if span.end_ns is not None]
    )
    at = {moment: n for n, moment in enumerate(said)}
    for place in tree.nodes:
        if ("end", place.span.span_id) in at:
            assert at["start", place.span.span_id] < at["end", place.span.span_id]
        if place.parent is not None and counted_as_nested(tree):
            assert at["start", place.parent.span.span_id] < at["start", place.span.span_id]


def counted_as_nested(tree: SpanTree) -> bool:
    """Whether the numbers agree with the parents.  Where they do not, nobody can say what came first."""
    outer: dict[str, int] = {}
    for place in tree.nodes:
        above = outer[place.parent.span.span_id] if place.parent else 0
        if place.order is not None and place.order <= above:
            return False
        outer[place.span.span_id] = place.order or above
    return True


@given(recordings())
@settings(deadline=None, max_examples=60)
def test_seqs_are_1_2_3_ids_differ_and_json_says_it_all(r: Recording):
    events: list[RunEvent] = list(r.events())
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert len({event.id for event in events}) == len(events)
    assert [event_from_json(event_to_json(event)) for event in events] == events
    fold(events)


@given(recordings(), st.data())
@settings(deadline=None, max_examples=60)
def test_what_arrives_as_it_happens_only_appends(r: Recording, data: st.DataObject):
    """The numbers as they stood at some moment: calls that ended later are open, those that began later unknown."""
    last = data.draw(st.integers(0, r.order))
    spans: list[Span] = []
    for span in r.spans:
        if span.attributes[names.CALL_ORDER] <= last:
            ended = span.end_ns is not None and span.attributes[names.CALL_ENDED_AFTER] < last
            spans.append(span if ended else replace(span, end_ns=None))
    logs = [log for log in r.logs if log.attributes[names.CALL_ORDER] <= last]
    early = heads(r.events(spans=spans, logs=logs))
    assert heads(r.events())[: len(early)] == early


@given(recordings(), st.data())
@settings(deadline=None, max_examples=60)
def test_sealed_seqs_never_change_whatever_is_late(r: Recording, data: st.DataObject):
    known = data.draw(st.lists(st.sampled_from(r.spans), unique_by=id))
    sealed = r.events(spans=known, logs=[])
    after = r.events(sealed=sealed)
    assert heads(after)[: len(sealed)] == heads(sealed)
    assert [event.seq for event in after] == list(range(1, len(after) + 1))
    assert r.events(sealed=after) == after

"""Events and states survive JSON; a state depends on nothing but the events before it."""

import dataclasses
import types
import typing
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from playhead.model import event as ev
from playhead.model.canonical import canonical_json
from playhead.model.ref import ContentRef
from playhead.model.state import RunState, apply, fold, state_from_json, state_to_json
from tests.unit.model.values import checked

names = st.sampled_from(["a", "b", "c"])
refs = st.integers(0, 3).map(lambda n: ContentRef.of(b"%d" % n))
usages = st.builds(ev.TokenUsage, *(st.none() | st.integers(0, 10**6) for _ in ev.TokenUsage.__slots__))
# By type, so that a field that is added is tested without a word here.
OF_TYPE: dict[Any, st.SearchStrategy[Any]] = {
    str: names,
    int: st.integers(0, 2**40),
    float: st.floats(0, 10**6),
    bool: st.booleans(),
    type(None): st.none(),
    ContentRef: refs,
    ev.TokenUsage: usages,
    dict[str, Any]: st.dictionaries(names, names | st.integers(0, 9), max_size=3),
    tuple[str, ...]: st.lists(names, max_size=3).map(tuple),
    tuple[int, ...]: st.lists(st.integers(0, 2**40), max_size=3).map(tuple),
    tuple[ContentRef, ...]: st.lists(refs, max_size=3).map(tuple),
}


def any_of(hint: Any) -> st.SearchStrategy[Any]:
    if isinstance(hint, types.UnionType):
        return st.one_of(*map(any_of, typing.get_args(hint)))
    return OF_TYPE[hint]


def an_event(cls: type[ev.Event]) -> st.SearchStrategy[Any]:
    hints = typing.get_type_hints(cls)
    return st.builds(cls, **{field.name: any_of(hints[field.name]) for field in dataclasses.fields(cls)})


known_events = st.one_of(*map(an_event, ev.EVENT_TYPES.values()))


@st.composite
def runs(draw: st.DrawFn) -> list[Any]:
    events = draw(st.lists(known_events, max_size=25))
    return [dataclasses.replace(event, seq=seq) for seq, event in enumerate(events, 1)]


def through_json(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value))


@pytest.mark.parametrize("kind", ev.EVENT_KINDS)
def test_every_kind_survives_json(kind: str):
    @checked
    @given(an_event(ev.EVENT_TYPES[kind]))
    def survives(event: Any):
        value = ev.event_to_json(event)
        read = ev.event_from_json(through_json(value))
        assert read == event
        assert (value["kind"], value["priority"]) == (kind, ev.priority_of(event))
        for name in value["refs"]:
            assert isinstance(getattr(read, name), ContentRef)

    survives()


def test_the_refs_in_a_list_are_refs_when_they_are_read():
    dropped = ContentRef.of(b"a")
    event = ev.ContextCompressed(id="1", run="r", seq=1, time_ns=1, origin="inferred", dropped=(dropped,))
    read = ev.event_from_json(through_json(ev.event_to_json(event)))
    assert isinstance(read, ev.ContextCompressed)
    assert read.dropped[0].digest == dropped.digest


def test_a_kind_of_a_later_version_is_written_back_as_it_came():
    value = {"id": "1", "run": "r", "seq": 3, "time_ns": 5, "kind": "dreamt", "priority": "normal", "new": {"x": [1]}}
    event = ev.event_from_json(value)
    assert isinstance(event, ev.UnknownEvent)
    assert event.seq == 3
    assert ev.event_to_json(event) == value
    assert fold([event]).seq == 3


def test_fields_of_a_later_version_are_passed_over():
    event = ev.LlmCompleted(id="1", run="r", seq=1, time_ns=1, usage=ev.TokenUsage(input_tokens=5))
    value = through_json(ev.event_to_json(event))
    value["data"] |= {"mood": "good"}
    value["data"]["usage"] |= {"dreams": 3}
    value["refs"] |= {"dream": ContentRef.of(b"")}
    assert ev.event_from_json(value) == event


@checked
@given(runs(), st.data())
def test_the_fold_of_a_prefix_is_where_the_fold_was_then(events: list[Any], data: st.DataObject):
    at = data.draw(st.integers(0, len(events)))
    state = RunState()
    for event in events[:at]:
        state = apply(state, event)
    assert fold(events[:at]) == state
    assert fold(events[at:], state) == fold(events)


@checked
@given(runs())
def test_folding_on_changes_no_state_that_was_folded_before(events: list[Any]):
    state = fold(events)
    before = canonical_json(state_to_json(state))
    fold(events, state)
    assert canonical_json(state_to_json(state)) == before


@checked
@given(runs())
def test_a_state_survives_json(events: list[Any]):
    state = fold(events)
    read = state_from_json(through_json(state_to_json(state)))
    assert read == state
    assert all(isinstance(ref, ContentRef) for ref in read.history)
    assert fold(events, read) == fold(events, state)


def test_an_exception_that_leaves_several_calls_is_one_error():
    def of(cls: type[Any], seq: int, span: str, **fields: Any) -> Any:
        return cls(id=str(seq), run="r", seq=seq, time_ns=seq, span=span, **fields)

    raised = {"error_type": "ValueError", "message": "no such order"}
    events = [
        of(ev.RunStarted, 1, "run", name="agent"),
        of(ev.StepStarted, 2, "agent", name="agent", step_kind="agent"),
        of(ev.ToolCalled, 3, "t1", name="search"),
        of(ev.ToolFailed, 4, "t1", name="search", **raised),  # caught by the agent, which tries again
        of(ev.ToolCalled, 5, "t2", name="search"),
        of(ev.ToolFailed, 6, "t2", name="search", **raised),  # not caught: it leaves the step and the run
        of(ev.StepCompleted, 7, "agent", name="agent", step_kind="agent", **raised),
        of(ev.StepStarted, 8, "other", name="other"),
        of(ev.StepCompleted, 9, "other", name="other", error_type="KeyError", message="'x'"),
        of(ev.RunFailed, 10, "run", elapsed_ms=1.0, **raised),
    ]
    whole = fold(events)
    assert [(error.seq, error.error_type) for error in whole.errors] == [
        (4, "ValueError"),
        (6, "ValueError"),
        (9, "KeyError"),
    ]
    for place in range(len(events)):  # from a snapshot at any moment
        assert fold(events[place:], fold(events[:place])).errors == whole.errors


def test_what_is_open_is_what_started_and_did_not_end():
    def of(cls: type[Any], seq: int, span: str, **fields: Any) -> Any:
        return cls(id=str(seq), run="r", seq=seq, time_ns=seq, span=span, **fields)

    state = fold([
        of(ev.RunStarted, 1, "s1", name="agent"),
        of(ev.LlmCalled, 2, "s2", model="m"),
        of(ev.LlmCompleted, 3, "s2", usage=ev.TokenUsage(input_tokens=10, output_tokens=5)),
        of(ev.ToolCalled, 4, "s3", name="search", call_id="c1"),
        of(ev.StepStarted, 5, "s4", name="parse"),
        of(ev.StepCompleted, 6, "s4", name="parse", error_type="ValueError", message="no"),
    ])  # fmt: skip
    assert {span: call.name for span, call in state.open_calls.items()} == {"s3": "search"}
    assert (state.input_tokens, state.output_tokens, state.context_tokens) == (10, 5, 10)
    assert [(error.seq, error.error_type) for error in state.errors] == [(6, "ValueError")]
    resumed = fold([of(ev.RunResumed, 7, "s1", attempt=1)], state)
    assert (resumed.open_calls, resumed.attempt) == ({}, 1)

"""The difference of two moments, applied to the first, gives the second: states and contexts, onwards and back."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from playhead.model import event as ev
from playhead.model.message import text_message
from playhead.model.ref import ContentRef
from playhead.model.state import fold
from playhead.projection.known_messages import KnownMessages
from playhead.wire.operations import Diff, StateAt
from playhead_collector.errors import Refused
from playhead_collector.read.diff import answer_diff, apply_context, apply_state, comparable, diff_contexts
from playhead_collector.read.prices import shipped
from playhead_collector.read.record import RunRecord
from playhead_collector.read.state import state_answer
from playhead_collector.serve.routing import schema
from tests.support.readers.fake import FakeStore, Story, record_of
from tests.unit.projection.recording import Recording
from tests.unit.projection.test_golden import (
    crash,
    declared,
    failed_call,
    foreign,
    parallel_tools,
    sliding_window,
    tool_loop,
)

PRICES = shipped()
LETTERS = [ContentRef.of(letter.encode()) for letter in "abcdef"]
KINDS = [
    (ev.StateChanged, {"key": "plan", "value": LETTERS[0]}),
    (ev.StateChanged, {"key": "plan", "value": LETTERS[1]}),
    (ev.StateChanged, {"key": "todo", "value": None}),
    (ev.MessageAdded, {"role": "user", "message": LETTERS[2]}),
    (ev.LlmCalled, {"model": "m", "thread": LETTERS[3]}),
    (ev.LlmCalled, {"model": "gpt-4o", "thread": LETTERS[3]}),
    (ev.LlmCompleted, {"usage": ev.TokenUsage(10, 5)}),
    (ev.LlmCompleted, {"model": "gpt-4o", "usage": ev.TokenUsage(10, 5)}),
    (ev.StepStarted, {"name": "step"}),
    (ev.ToolCalled, {"name": "search"}),
    (ev.ToolFailed, {"name": "search", "error_type": "E", "message": "no"}),
    (ev.ContextCompressed, {"origin": "inferred", "after": LETTERS[4]}),
    (ev.CheckpointCreated, {"state": LETTERS[5]}),
    (ev.PlanCreated, {"plan": LETTERS[5]}),
    (ev.ApprovalRequested, {"approval": "x"}),
    (ev.ApprovalGranted, {"approval": "x"}),
    (ev.RunResumed, {"attempt": 1}),
    (ev.RunCompleted, {"elapsed_ms": 1.0}),
]  # fmt: skip


def known(refs, role="user") -> KnownMessages:
    return KnownMessages(dict.fromkeys(refs, role), {})


def state_of(events: Sequence[ev.RunEvent]) -> StateAt:
    """The state as it is answered."""
    return state_answer("r", fold(events), PRICES)


@given(st.lists(st.tuples(st.sampled_from(KINDS), st.sampled_from("abc")), min_size=1, max_size=25), st.data())
@settings(deadline=None)
async def test_a_difference_applied_to_the_answered_state_gives_the_other(steps, data: st.DataObject):
    story = Story(FakeStore())
    for (cls, fields), span in steps:
        story.add(cls, span, **fields)
    record = story.done()
    one, other = (data.draw(st.integers(1, len(steps))) for _ in range(2))
    await check_both_ways(record, story.events, one, other)


async def check_both_ways(record: RunRecord, events: Sequence[ev.RunEvent], one: int, other: int) -> None:
    for before, after in ((one, other), (other, one)):
        answer = await answer_diff(record, str(before), str(after), hydrate=False, prices=PRICES)
        was, now = comparable(state_of(events[:before])), comparable(state_of(events[:after]))
        assert apply_state(was, answer["state"]) == now
        named = {name for part in ("changed", "keyed", "lists") for name in answer["state"][part]}
        assert named <= set(now)


@pytest.mark.parametrize("scenario", [tool_loop, parallel_tools, failed_call, crash, foreign, sliding_window, declared])
async def test_a_difference_of_any_two_moments_of_a_recorded_run(scenario: Callable[[], Recording]):
    events = scenario().events()
    store = FakeStore()
    store.keep_run(events)
    record = record_of(store)
    for one in range(1, len(events) + 1):
        await check_both_ways(record, events, one, len(events) - one + 1)
        await check_both_ways(record, events, one, len(events))


async def test_the_cost_and_the_limit_of_the_context_differ_as_the_states_do(story: Story):
    usage = ev.TokenUsage(1_000, 500)
    story.add(ev.LlmCalled, "c", model="gpt-4o", thread=LETTERS[3])
    story.add(ev.LlmCompleted, "c", model="gpt-4o", usage=usage)
    record = story.done()
    changed = (await answer_diff(record, "1", None, hydrate=False, prices=PRICES))["state"]["changed"]
    was, now = state_of(story.events[:1]), state_of(story.events)
    assert now["cost"]
    for name in ("cost", "context_limit"):
        assert changed[name] == {"from": was[name], "to": now[name]}
    assert "usage" not in changed


@given(*[st.lists(st.sampled_from(LETTERS), max_size=8)] * 2)
def test_contexts(before: list[ContentRef], after: list[ContentRef]):
    entries = diff_contexts(before, after, known(LETTERS))
    assert apply_context(before, entries) == after
    assert sorted(entry["from"] for entry in entries if entry["from"] is not None) == list(range(len(before)))
    assert [entry["to"] for entry in entries if entry["to"] is not None] == list(range(len(after)))


def test_a_message_in_the_place_of_another_replaces_it_and_what_went_stands_where_it_was():
    a, b, c, d, e, f = LETTERS
    ops = [
        (entry["op"], entry["message"], entry["was"])
        for entry in diff_contexts([a, b, c, d], [a, e, c, f], known(LETTERS))
    ]
    assert ops == [("kept", a, None), ("replaced", e, b), ("kept", c, None), ("dropped", d, None), ("added", f, None)]


@pytest.fixture
def story() -> Story:
    """run_started, user, called, completed, assistant | plan | user, called, completed, assistant"""
    story = Story(FakeStore())
    keep = story.store.keep
    story.add(ev.RunStarted, "root", name="support")
    hello, hi = text_message("user", "hello"), text_message("assistant", "hi")
    story.model_call("a", [], [hello], hi, request=keep({"temperature": 0}))
    story.add(ev.StateChanged, "root", key="plan", value=keep(["greet"]))
    new = text_message("user", "go on")
    story.model_call("b", [hello, hi], [new], text_message("assistant", "done"), request=keep({"temperature": 1}))
    return story


async def test_messages_in_another_order_are_counted(read_json):
    story = Story(FakeStore())
    story.add(ev.RunStarted, "root", name="support")
    one, two, three = (text_message("user", word) for word in ("one", "two", "three"))
    story.model_call("a", [], [one, two, three], text_message("assistant", "hi"))
    story.model_call("b", [three, one], [two], text_message("assistant", "ho"))
    answer = read_json(await answer_diff(story.done(), "5", None, hydrate=False, prices=PRICES))
    assert (answer["context"]["kept"], answer["context"]["moved"]) == (3, 1)


async def test_an_answer_has_both_with_what_was_said(story: Story, read_json):
    answer = read_json(await answer_diff(story.done(), "3", None, hydrate=True, prices=PRICES))
    assert (answer["from"]["seq"], answer["to"]["seq"]) == (3, 10)
    assert (answer["from"]["call"], answer["to"]["call"]) == (3, 8)
    context = answer["context"]
    assert {op: context[op] for op in ("kept", "added", "dropped", "replaced")} == {
        "kept": 1, "added": 2, "dropped": 0, "replaced": 0,
    }  # fmt: skip
    assert [entry["value"]["parts"][0]["content"] for entry in context["entries"][1:]] == ["hi", "go on"]
    assert set(context["changed"]) == {"settings"}
    state = answer["state"]
    (ref,) = state["keyed"]["user_state"]["added"].values()
    assert answer["values"] == {ref: ["greet"]}
    assert state["changed"]["llm_calls"] == {"from": 1, "to": 2}
    assert (state["lists"]["history"]["same"], len(state["lists"]["history"]["added"])) == (1, 3)
    assert answer["missing"] == []
    TypeAdapter(schema(Diff)).validate_python(answer, strict=True)


async def test_backwards_is_the_other_way_round(story: Story):
    record = story.done()
    onwards, back = (
        await answer_diff(record, "3", "9", hydrate=False, prices=PRICES),
        await answer_diff(record, "9", "3", hydrate=False, prices=PRICES),
    )
    assert (onwards["from"], onwards["to"]) == (back["to"], back["from"])
    assert onwards["context"]["added"] == back["context"]["dropped"] == 2
    assert onwards["state"]["keyed"]["user_state"]["added"] == back["state"]["keyed"]["user_state"]["removed"]


async def test_a_moment_is_a_seq_or_an_event_and_what_there_is_not_is_refused(story: Story):
    record = story.done()
    assert (await answer_diff(record, story.events[2].id, "9", hydrate=False, prices=PRICES))["from"]["seq"] == 3
    assert (await answer_diff(record, None, None, hydrate=False, prices=PRICES))["from"]["seq"] == 1
    with pytest.raises(Refused, match="has no event 99"):
        await answer_diff(record, "3", "99", hydrate=False, prices=PRICES)


async def test_the_same_moment_twice_differs_in_nothing(story: Story):
    answer = await answer_diff(story.done(), "9", "9", hydrate=True, prices=PRICES)
    assert answer["state"] == {"changed": {}, "keyed": {}, "lists": {}}
    assert [entry["op"] for entry in answer["context"]["entries"]] == ["kept"] * 3


async def test_a_thread_that_is_not_stored_is_named(story: Story):
    record = story.done()
    story.store.thread_nodes.clear()
    answer = await answer_diff(record, "3", "9", hydrate=True, prices=PRICES)
    assert answer["context"]["entries"] == []
    assert len(answer["missing"]) == 2

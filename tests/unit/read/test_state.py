"""State at a moment: which moment is meant, and that it is the fold of everything up to there."""

import random
from dataclasses import replace

import pytest

from playhead.model import event as ev
from playhead.model.message import text_message
from playhead.model.state import fold, state_from_json, state_to_json
from playhead_collector.errors import Refused
from playhead_collector.read.prices import shipped
from playhead_collector.read.record import RunRecord, open_record
from playhead_collector.read.state import answer_state, seq_at, state_answer, state_at
from tests.support.readers.fake import RUN, FakeRunner, FakeStore, Story


@pytest.fixture
def store():
    return FakeStore()


@pytest.fixture
def record(store: FakeStore) -> RunRecord:
    story = Story(store)
    story.add(ev.RunStarted, "root", name="support")
    said = [text_message("user", "hello")]
    story.model_call("a", [], said, text_message("assistant", "hi"))
    story.tool_call("t", "search", {"q": "x"}, ["found"])
    story.add(ev.StateChanged, "root", key="plan", value=store.keep({"steps": [1, 2]}))
    story.add(ev.CheckpointCreated, "root", state=store.keep({"todo": []}))
    return story.done()


async def test_without_a_moment_the_last_event_is_meant(record: RunRecord):
    assert await seq_at(record, None) == record.last


async def test_a_moment_is_a_turn_the_first_error_or_the_last_event(store: FakeStore):
    story = Story(store)
    story.add(ev.RunStarted, "root", name="support")
    for n in range(700):
        story.model_call(f"c{n}", [], [text_message("user", f"{n}")], text_message("assistant", "hi"))
    story.add(ev.ToolFailed, "t", name="search", error_type="E", message="no")
    story.add(ev.ToolFailed, "u", name="search", error_type="E", message="no")
    record = story.done()
    record = replace(record, row=replace(record.row, llm_calls=700))
    calls = [event.seq for event in store.events_of[RUN] if event.kind == "llm_called"]
    for number in (1, 2, 349, 350, 699, 700):
        assert await seq_at(record, f"turn:{number}") == calls[number - 1]
    assert await seq_at(record, "first-error") == record.last - 1
    assert await seq_at(record, "last") == record.last
    for nowhere in ("turn:0", "turn:701", "turn:x", "turn:"):
        with pytest.raises(Refused, match="has no"):
            await seq_at(record, nowhere)


async def test_the_first_error_of_a_run_without_errors_is_nowhere(record: RunRecord):
    with pytest.raises(Refused, match="has no error"):
        await seq_at(record, "first-error")


async def test_a_moment_is_a_seq_or_an_event_id(record: RunRecord, store: FakeStore):
    assert await seq_at(record, "3") == 3
    assert await seq_at(record, store.events_of[RUN][4].id) == 5


@pytest.mark.parametrize(
    ("at", "code"),
    [("0", "no_such_seq"), ("99", "no_such_seq"), ("no.such.id", "no_such_event"), ("", "no_such_event"),
     ("-1", "no_such_event"), ("٣", "no_such_event"), ("9" * 30, "no_such_event")],
)  # fmt: skip
async def test_a_moment_that_never_was_is_not_found(record: RunRecord, at: str, code: str):
    with pytest.raises(Refused) as refused:
        await seq_at(record, at)
    assert (refused.value.status, refused.value.code) == (404, code)


async def test_a_run_without_events_has_no_moments(store: FakeStore):
    record = Story(store).done()
    with pytest.raises(Refused, match="has no events yet"):
        await seq_at(record, None)


async def test_state_is_the_fold_of_the_events_from_wherever_a_snapshot_stands(store: FakeStore):
    story = Story(store)
    for n in range(97):
        story.add(ev.StateChanged, "root", key=f"k{n % 7}", value=store.keep(n))
    record = story.done()
    for seq in random.Random(1).sample(range(1, 98), 20):
        assert await state_at(record, seq) == fold(story.events[:seq])


async def test_an_answer_has_its_time_as_text_and_names_content_by_refs_only(record: RunRecord, store: FakeStore):
    answer = state_answer(RUN, await state_at(record, record.last), shipped())
    assert answer["run"] == RUN
    assert answer["time"].startswith("2023-11-14T22:13:20.00000000")
    assert "time_ns" not in answer
    assert answer["user_state"] == {"plan": store.keep({"steps": [1, 2]})}
    assert "values" not in answer


async def test_a_state_says_what_calls_up_to_it_cost_and_how_much_its_model_can_take(store: FakeStore):
    story = Story(store)
    used = ev.TokenUsage(input_tokens=1_000_000, output_tokens=0)
    for n, model in enumerate(("gpt-4o", "unheard of", "gpt-4o-mini")):
        story.add(ev.LlmCalled, f"call{n}", model=model)
        story.add(ev.LlmCompleted, f"call{n}", model=model, usage=used)
    record, prices = story.done(), shipped()
    costs = [state_answer(RUN, await state_at(record, seq), prices)["cost"] for seq in range(1, 7)]
    assert costs == [None, 2.5, 2.5, 2.5, 2.5, 2.65]
    last = state_answer(RUN, await state_at(record, 6), prices)
    assert (last["model"], last["context_limit"]) == ("gpt-4o-mini", 128_000)
    assert state_answer(RUN, await state_at(record, 4), prices)["context_limit"] is None
    assert "usage" not in last
    # A state that was stored before tokens were summed by model does not know them, and says nothing false.
    older = state_to_json(fold(story.events[:2]))
    del older["usage"]
    assert prices.cost_of(fold(story.events[2:], state_from_json(older)).usage or ()) is None


async def test_a_hydrated_state_has_the_values_under_the_names_of_the_refs(record: RunRecord, read_json):
    answer = read_json(await answer_state(record, None, hydrate=True, prices=shipped()))
    assert answer["values"]["thread"] == [text_message("user", "hello")]
    assert answer["values"]["user_state"] == {"plan": {"steps": [1, 2]}}
    assert answer["values"]["checkpoint"] == {"todo": []}
    assert answer["missing"] == []


async def test_content_that_has_not_arrived_is_null_and_named(record: RunRecord, store: FakeStore, read_json):
    lost = store.keep({"steps": [1, 2]})
    del store.bodies[lost]
    answer = read_json(await answer_state(record, None, hydrate=True, prices=shipped()))
    assert answer["values"]["user_state"] == {"plan": None}
    assert answer["missing"] == [lost]


async def test_a_run_is_projected_before_anything_is_said_about_it(record: RunRecord, store: FakeStore):
    runner = FakeRunner()
    assert (await open_record(store, runner, 1, RUN)).run == RUN
    assert runner.asked == [RUN]


@pytest.mark.parametrize("run", ["f" * 32, "", "\x00"])
async def test_a_run_that_is_not_there_is_not_found(store: FakeStore, run: str):
    with pytest.raises(Refused, match="there is no run") as refused:
        await open_record(store, FakeRunner(), 1, run)
    assert refused.value.status == 404

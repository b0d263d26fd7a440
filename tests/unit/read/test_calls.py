"""Calls, the conversation and contexts: what belongs together is found, page by page."""

import pytest

from playhead.model import event as ev
from playhead.model.message import Message, text_message
from playhead_collector.analysis.reasoning.reasoning import answer_reasoning
from playhead_collector.errors import Refused
from playhead_collector.read.calls import list_llm_calls, list_tool_calls
from playhead_collector.read.context import answer_context
from playhead_collector.read.messages import list_history
from playhead_collector.read.owning_call import model_call_at
from tests.support.readers.fake import FakeStore, Story


def said(*texts: str) -> list[Message]:
    return [text_message("user", text) for text in texts]


@pytest.fixture
def store():
    return FakeStore()


@pytest.fixture
def story(store: FakeStore) -> Story:
    """run_started, user, called, completed, assistant | tool, tool | user, called, completed, assistant"""
    story = Story(store)
    story.add(ev.RunStarted, "root", name="support")
    story.model_call("a", [], said("hello"), text_message("assistant", "hi"), request=store.keep({"temperature": 0}))
    story.tool_call("t", "search", {"q": "x"}, ["found"])
    before = [*said("hello"), text_message("assistant", "hi")]
    story.model_call("b", before, said("go on"), text_message("assistant", "done"))
    return story


async def test_a_call_is_told_from_its_start_to_its_end(story: Story):
    first, second = (await list_llm_calls(story.done(), 10, 0, hydrate=False))["items"]
    assert (first["seq"], first["ended_seq"], first["status"], first["span"]) == (3, 4, "completed", "a")
    assert first["usage"] == {"input_tokens": 10, "output_tokens": 5}
    assert (second["seq"], second["ended_seq"], second["messages"]) == (9, 10, 3)
    assert set(first["refs"]) == {"thread", "request", "output_thread"}
    assert "values" not in first


async def test_a_call_that_raised_says_what_and_one_that_did_not_end_is_open(story: Story):
    story.add(ev.ToolCalled, "u", name="pay")
    story.add(ev.ToolCalled, "v", name="ask")
    story.add(ev.ToolFailed, "u", name="pay", error_type="TimeoutError", message="too slow", elapsed_ms=3.0)
    found, pay, ask = (await list_tool_calls(story.done(), 10, 0, hydrate=False))["items"]
    assert (found["status"], found["error"]) == ("completed", None)
    assert (pay["status"], pay["error"]) == ("failed", {"type": "TimeoutError", "message": "too slow"})
    assert (ask["status"], ask["ended_seq"], ask["elapsed_ms"]) == ("open", None, None)


async def test_pages_of_calls_join_to_the_whole_list_although_calls_overlap(store: FakeStore):
    story = Story(store)
    for n in range(40):
        story.add(ev.ToolCalled, f"s{n}", name=f"tool{n}")
        if n >= 5:
            story.add(ev.ToolCompleted, f"s{n - 5}", name=f"tool{n - 5}", elapsed_ms=1.0)
    record = story.done()
    whole = await list_tool_calls(record, 1_000, 0, hydrate=False)
    assert whole["next_cursor"] is None
    seen, after = [], 0
    while True:
        page = await list_tool_calls(record, 7, after, hydrate=False)
        seen += page["items"]
        if page["next_cursor"] is None:
            break
        after = int(page["next_cursor"])
    assert seen == whole["items"]
    assert [call["status"] for call in seen] == ["completed"] * 35 + ["open"] * 5


async def test_hydrated_calls_have_values_under_the_names_of_their_refs(story: Story, read_json):
    (call,) = read_json(await list_tool_calls(story.done(), 10, 0, hydrate=True))["items"]
    assert call["values"] == {"arguments": {"q": "x"}, "result": ["found"]}
    assert call["missing"] == []


@pytest.mark.parametrize(
    ("seq", "begin"), [(2, 3), (3, 3), (4, 3), (5, 3), (6, 3), (7, 3), (8, 9), (9, 9), (10, 9), (11, 9)]
)
async def test_every_event_leads_to_its_call_and_others_to_the_one_before(story: Story, seq: int, begin: int):
    call = await model_call_at(story.done(), seq)
    assert call.begin.seq == begin
    assert call.end is not None
    assert call.end.seq == begin + 1


async def test_before_the_first_call_there_is_none(story: Story):
    with pytest.raises(Refused, match="no model call at or before event 1"):
        await model_call_at(story.done(), 1)


async def test_a_call_is_found_however_far_its_events_are_apart(store: FakeStore):
    story = Story(store)
    for n in range(3):
        story.messages(f"s{n}", [store.keep(f"{n}.{m}") for m in range(500)], "user")
        story.add(ev.LlmCalled, f"s{n}", model="gpt-4o")
        for m in range(700):
            story.add(ev.StateChanged, "root", key=f"k{m}")
        story.add(ev.LlmCompleted, f"s{n}", model="gpt-4o")
    record = story.done()
    for n in range(3):
        begin = n * 1202 + 501
        for seq in (begin - 500, begin - 1, begin, begin + 300, begin + 701):
            call = await model_call_at(record, seq)
            assert call.begin.seq == begin
            assert call.end is not None
            assert call.end.seq == begin + 701


async def test_a_context_is_what_was_sent_in_the_order_it_was_sent(story: Story, read_json):
    answer = read_json(await answer_context(story.done(), "9"))
    assert answer["messages"] == [*said("hello"), text_message("assistant", "hi"), *said("go on")]
    assert (answer["call"]["seq"], answer["context_tokens"], answer["form"]) == (9, 30, "parts")
    assert (answer["system"], answer["tools"], answer["settings"], answer["missing"]) == (None, None, None, [])


async def test_settings_are_the_rest_of_the_request(story: Story, read_json):
    assert read_json(await answer_context(story.done(), "3"))["settings"] == {"temperature": 0}


async def test_a_context_can_be_had_as_the_provider_takes_it(store: FakeStore, read_json):
    story = Story(store)
    called: Message = {
        "role": "assistant",
        "parts": [{"type": "tool_call", "id": "c1", "name": "pay", "arguments": {"cents": 2**70}}],
    }
    story.model_call("a", [], [*said("pay"), called], None)
    answer = read_json(await answer_context(story.done(), None, "openai"))
    assert answer["messages"][0] == {"role": "user", "content": "pay"}
    assert answer["messages"][1]["tool_calls"][0]["function"] == {"name": "pay", "arguments": f'{{"cents":{2**70}}}'}


async def test_large_parts_are_put_back_in_both_forms(store: FakeStore, read_json):
    story = Story(store)
    long = "x" * 40_000
    story.model_call("a", [], said(long), None)
    record = story.done()
    assert read_json(await answer_context(record, None))["messages"] == said(long)
    assert read_json(await answer_context(record, None, "openai"))["messages"] == [{"role": "user", "content": long}]


async def test_a_large_part_that_has_not_arrived_is_named(store: FakeStore, read_json):
    story = Story(store)
    story.model_call("a", [], said("x" * 40_000), None)
    part = next(ref for ref, content in store.bodies.items() if len(content.data) > 40_000)
    del store.bodies[part]
    answer = read_json(await answer_context(story.done(), None))
    assert answer["missing"] == [part]
    assert answer["messages"][0]["parts"][0]["ref"] == part


async def test_messages_that_have_not_arrived_are_null_and_a_thread_that_has_not_is_empty(story: Story, read_json):
    store = story.store
    lost = next(ref for ref, content in store.bodies.items() if b"go on" in content.data)
    del store.bodies[lost]
    answer = read_json(await answer_context(story.done(), "9"))
    assert (answer["messages"][2], answer["missing"]) == (None, [lost])
    store.thread_nodes.clear()
    answer = read_json(await answer_context(story.done(), "9"))
    assert (answer["messages"], answer["missing"]) == ([], [answer["thread"]])


@pytest.mark.parametrize("data", [b"{not json", b"[1]", b'{"role":1,"parts":[]}', b'{"role":"x","parts":[1]}', b"\xff"])
@pytest.mark.parametrize("form", ["parts", "openai"])
async def test_what_is_stored_as_a_message_and_is_none_spoils_nothing(store: FakeStore, read_json, data, form):
    from playhead.model.canonical import JSON, Content
    from playhead.model.thread import extend

    story = Story(store)
    bad = store.keep(Content(data, JSON))
    (node,) = extend([bad])
    store.thread_nodes[node.ref] = node
    story.add(ev.LlmCalled, "a", thread=node.ref)
    answer = read_json(await answer_context(story.done(), None, form))
    assert len(answer["messages"]) == 1
    assert answer["missing"] == []


async def test_a_context_takes_the_same_number_of_round_trips_for_any_length(store: FakeStore):
    trips: list[int] = []
    for length in (2, 200):
        story = Story(store)
        story.model_call("a", [], said(*(f"{length} {n}" for n in range(length))), text_message("assistant", "ok"))
        record = story.done()
        store.written.trips = 0
        await answer_context(record, None)
        trips.append(store.written.trips)
    assert trips[1] <= trips[0] + 2


async def test_the_conversation_says_each_message_once_with_the_call_it_belongs_to(story: Story, read_json):
    page = read_json(await list_history(story.done(), 10, 0, hydrate=True))
    assert [(m["seq"], m["source"], m["call"]) for m in page["items"]] == [
        (2, "input", 3), (5, "output", 3), (8, "input", 9), (11, "output", 9)
    ]  # fmt: skip
    assert [m["value"]["parts"][0]["content"] for m in page["items"]] == ["hello", "hi", "go on", "done"]
    assert page["next_cursor"] is None


async def test_pages_of_the_conversation_join_to_the_whole(story: Story):
    record = story.done()
    seen, after = [], 0
    for _ in range(4):
        page = await list_history(record, 1, after, hydrate=False)
        seen += page["items"]
        after = int(page["next_cursor"] or 0)
    assert after == 0
    assert seen == (await list_history(record, 10, 0, hydrate=False))["items"]
    assert "value" not in seen[0]


async def test_reasoning_is_as_the_provider_gave_it_or_clearly_none(store: FakeStore, read_json):
    story = Story(store)
    story.add(ev.LlmCalled, "a")
    story.add(ev.LlmCompleted, "a", reasoning=store.keep("first, I look"))
    story.add(ev.LlmCalled, "b")
    story.add(ev.LlmCompleted, "b")
    record = story.done()
    thinking = read_json(await answer_reasoning(record, "2"))
    assert (thinking["call"]["seq"], thinking["captured"]) == (1, "first, I look")
    nothing = read_json(await answer_reasoning(record, "3"))
    assert (nothing["ref"], nothing["captured"]) == (None, None)

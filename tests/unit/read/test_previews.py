"""Values beside events: short texts of what their refs name."""

from typing import Any

import pytest

from playhead.model import event as ev
from playhead.model.canonical import BYTES, Content
from playhead.model.message import REF_PART, text_message
from playhead_collector.read.events import EventFilter, cut, list_events
from tests.support.readers.fake import FakeStore, Story, record_of


@pytest.fixture
def store() -> FakeStore:
    return FakeStore()


async def previews(store: FakeStore, story: Story, most: int = 100) -> list[dict[str, str]]:
    story.done()
    page = await list_events(record_of(store), EventFilter(), 100, 0, most)
    return [item.get("previews", {}) for item in page["items"]]


async def test_arguments_and_results_stand_beside_their_events(store: FakeStore):
    story = Story(store)
    story.tool_call("t", "search", {"q": "lamp", "n": 2}, "found")
    assert await previews(store, story) == [{"arguments": '{"n":2,"q":"lamp"}'}, {"result": "found"}]


async def test_a_message_is_what_it_says_with_its_calls_and_without_what_is_stored_apart(store: FakeStore):
    called: Any = {
        "role": "assistant",
        "parts": [
            {"type": "text", "content": "Looking."},
            {"type": "tool_call", "id": "1", "name": "search", "arguments": {"q": 1}},
            {"type": REF_PART, "of": "blob", "ref": "sha256:" + "0" * 64, "bytes": 70_000},
        ],
    }
    story = Story(store)
    for message in (text_message("user", "where is it?"), called):
        story.add(ev.MessageAdded, "a", role=message["role"], source="input", message=store.keep(message))
    said = [each["message"] for each in await previews(store, story)]
    assert said == ["where is it?", 'Looking.\nsearch({"q":1})\n[blob, 70000 bytes]']


async def test_threads_binary_content_and_what_is_not_stored_have_none(store: FakeStore):
    story = Story(store)
    thread = store.keep_thread([text_message("user", "hi")])
    story.add(ev.LlmCalled, "a", model="m", thread=thread.ref)
    binary = store.keep(Content(b"\xff\x00", BYTES))
    story.add(ev.ToolCalled, "t", name="search", arguments=binary)
    lost = store.keep("lost")
    del store.bodies[lost]
    story.add(ev.ToolCompleted, "t", name="search", result=lost)
    assert await previews(store, story) == [{}, {}, {}]


async def test_none_are_read_unless_they_are_asked_for(store: FakeStore):
    story = Story(store)
    story.tool_call("t", "search", {"q": "lamp"}, "found")
    story.done()
    page = await list_events(record_of(store), EventFilter(), 100, 0)
    assert ["previews" in item for item in page["items"]] == [False, False]


@pytest.mark.parametrize(("text", "most", "shown"), [("abc", 3, "abc"), ("abcd", 3, "ab…"), ("ab", 1, "…")])
def test_a_long_value_is_cut_and_says_so(text: str, most: int, shown: str):
    assert cut(text, most) == shown


async def test_a_value_of_megabytes_costs_its_preview(store: FakeStore):
    story = Story(store)
    story.tool_call("t", "search", {"q": "x" * 2_000_000}, ["y" * 2_000_000])
    assert [len(text) for each in await previews(store, story, 50) for text in each.values()] == [50, 50]

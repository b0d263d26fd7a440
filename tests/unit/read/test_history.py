"""Conversation replay: who said it, in which call, how long it took, and whether it still was in the context."""

from typing import Any

import pytest

from playhead.model import event as ev
from playhead.model.message import Message, text_message
from playhead.model.ref import ContentRef
from playhead_collector.errors import Refused
from playhead_collector.read.messages import list_history
from tests.support.readers.fake import FakeStore, Story

SYSTEM, QUESTION, ANSWER = (
    text_message("system", "Be kind."),
    text_message("user", "Where?"),
    text_message("assistant", "?"),
)
SUMMARY, NEXT = text_message("user", "Summary: they asked where."), text_message("user", "And now?")
CALLED: Message = {
    "role": "assistant",
    "parts": [{"type": "tool_call", "id": "call_t", "name": "find", "arguments": {}}],
}
RESULT: Message = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "call_t", "response": "here"}]}


@pytest.fixture
def story() -> Story:
    """Two calls, then a compression, then a third call with a summary in place of what was said before."""
    story = Story(FakeStore())
    story.model_call("a", [], [SYSTEM, QUESTION], CALLED)
    story.tool_call("t", "find", {}, "here")
    story.model_call("b", [SYSTEM, QUESTION, CALLED], [RESULT], ANSWER)
    thread = story.store.keep_thread([SYSTEM, SUMMARY, NEXT])
    gone, lost = (story.store.keep(message) for message in (QUESTION, ANSWER))
    compressed = {"origin": "declared", "summarised": (gone,), "dropped": (lost,), "after": thread.nodes[1].ref}
    story.add(ev.ContextCompressed, "c", **compressed)
    story.messages("c", [node.message for node in thread.nodes[1:]], "user")
    story.add(ev.LlmCalled, "c", model="gpt-4o", thread=thread.ref)
    return story


async def ask(story: Story, at: str | None = None, limit: int = 100, after: int = 0) -> list[Any]:
    return (await list_history(story.done(), limit, after, True, at))["items"]


async def test_what_a_compression_removed_is_still_there_and_says_what_removed_it(story: Story):
    entries = await ask(story)
    compressed = next(event.seq for event in story.events if isinstance(event, ev.ContextCompressed))
    removed = [(entry["in_context"], entry["removed"] and entry["removed"]["how"]) for entry in entries]
    assert removed == [
        (True, None),
        (False, "summarised"),
        (False, None),  # not in the new context, and nobody said that it was taken out
        (False, None),
        (False, "dropped"),
        (True, None),
        (True, None),
    ]
    assert entries[1]["removed"] == {"seq": compressed, "how": "summarised"}


async def test_before_the_compression_everything_was_in_the_context(story: Story):
    compressed = next(event.seq for event in story.events if isinstance(event, ev.ContextCompressed))
    entries = await ask(story, at=str(compressed - 1))
    assert [entry["in_context"] for entry in entries] == [True] * 5
    assert {entry["removed"] for entry in entries} == {None}


async def test_who_made_a_message_and_how_long_that_took(story: Story):
    entries = await ask(story)
    calls = [event.seq for event in story.events if isinstance(event, ev.LlmCalled)]
    tool = next(event.seq for event in story.events if isinstance(event, ev.ToolCalled))
    assert [entry["call"] for entry in entries] == [calls[0]] * 3 + [calls[1]] * 2 + [calls[2]] * 2
    makers = [(entry["role"], entry["maker"], entry["elapsed_ms"]) for entry in entries[:5]]
    assert makers == [
        ("user", None, None),
        ("user", None, None),
        ("assistant", calls[0], 2.5),
        ("user", tool, 1.0),
        ("assistant", calls[1], 2.5),
    ]
    assert {entry["model"] for entry in entries} == {"gpt-4o"}


async def test_tokens_say_what_they_rest_on(story: Story):
    entries = await ask(story)
    assert [entry["tokens_basis"] for entry in entries if entry["source"] == "output"] == ["reported"] * 2
    assert {entry["tokens_basis"] for entry in entries if entry["source"] == "input"} == {"calibrated"}
    assert all(entry["tokens"] > 0 for entry in entries)


@pytest.mark.parametrize("limit", [1, 2, 3])
async def test_pages_say_the_same_as_the_whole(story: Story, limit: int):
    record = story.done()
    whole, seen, after = await ask(story), [], 0
    while True:
        page = await list_history(record, limit, after, True)
        seen += page["items"]
        if page["next_cursor"] is None:
            break
        after = int(page["next_cursor"])
    assert [entry["seq"] for entry in seen] == [entry["seq"] for entry in whole]
    for name in ("in_context", "removed", "call", "maker", "tokens"):
        assert [entry[name] for entry in seen] == [entry[name] for entry in whole], name


async def test_a_message_that_came_after_the_last_call_is_there_for_the_next():
    story = Story(FakeStore())
    story.model_call("a", [], [QUESTION], ANSWER)
    assert [entry["in_context"] for entry in await ask(story)] == [True, True]


async def test_each_agent_has_a_context_of_its_own():
    story = Story(FakeStore())
    story.model_call("a", [], [QUESTION], ANSWER)
    story.model_call("b", [], [NEXT], ANSWER)
    for place, event in enumerate(story.events):
        if event.span == "b":
            story.events[place] = type(event)(**{**vars(event), "actor": "helper"})
    assert all(entry["in_context"] for entry in await ask(story))


async def test_a_thread_that_is_not_stored_holds_nothing():
    story = Story(FakeStore())
    story.messages("a", [story.store.keep(QUESTION)], "user")
    story.add(ev.LlmCalled, "a", thread=ContentRef.of(b"nowhere"))
    assert [entry["in_context"] for entry in await ask(story)] == [False]


async def test_a_moment_that_is_not_there_is_refused(story: Story):
    with pytest.raises(Refused, match="its events are 1 to"):
        await ask(story, at="999")

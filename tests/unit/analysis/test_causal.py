"""What an event rests on, back to the user's words, and what rested on it."""

import pytest

from playhead.model import event as ev
from playhead_collector.analysis.causes import answer_causes
from tests.support.readers.chat import Chat
from tests.support.readers.fake import FakeStore


@pytest.fixture
def chat() -> Chat:
    """A user's words, a result that follows from them, a call that follows from that, an answer that tells of it."""
    chat = Chat(FakeStore())
    chat.user("I am mia@example.com. Where is my parcel?")
    chat.asks("find_order", {"email": "mia@example.com"}, {"orders": ["AB12CD"]})
    chat.asks("track", {"order": "AB12CD"}, "AB12CD is in Lyon-Sud7")
    chat.says("Your parcel AB12CD is in Lyon-Sud7.")
    chat.user("Thanks. And the weather?")
    chat.asks("weather", {"place": "here"}, "sunny")
    return chat


def seq_of(chat: Chat, cls: type, place: int = 0) -> int:
    return [event for event in chat.events if isinstance(event, cls)][place].seq


async def test_a_call_is_followed_back_to_the_words_of_the_user(chat: Chat):
    tracked, found = seq_of(chat, ev.ToolCalled, 1), seq_of(chat, ev.ToolCalled, 0)
    graph = await answer_causes(chat.done(), str(tracked), "back")
    edges = {(edge["why"], edge["effect"], edge["path"]) for edge in graph["edges"]}
    assert {("value", tracked, "order"), ("value", found, "email"), ("requested", tracked, None)} <= edges
    user = seq_of(chat, ev.MessageAdded, 0)
    assert user in graph["roots"]
    assert all(node["seq"] <= tracked for node in graph["nodes"])
    (node,) = [node for node in graph["nodes"] if node["seq"] == user]
    assert node["label"] == "user: I am mia@example.com. Where is my parcel?"


async def test_the_label_of_a_message_marks_what_its_model_thought():
    chat = Chat(FakeStore())
    thought = {"type": "reasoning", "content": "It is the last one."}
    chat.new.append({"role": "assistant", "parts": [thought, {"type": "text", "content": "Take XY99ZZ."}]})
    chat.asks("track", {"order": "XY99ZZ"}, "on its way")
    graph = await answer_causes(chat.done(), str(seq_of(chat, ev.ToolCalled)), "back")
    labels = [" ".join(node["label"].split()) for node in graph["nodes"]]
    assert "assistant: [thinking: It is the last one.] Take XY99ZZ." in labels


async def test_everything_that_rested_on_a_result_is_found_and_nothing_else(chat: Chat):
    first_result = seq_of(chat, ev.ToolCompleted, 0)
    graph = await answer_causes(chat.done(), str(first_result), "forward")
    reached = {node["seq"] for node in graph["nodes"]}
    assert {
        seq_of(chat, ev.ToolCalled, 1),
        seq_of(chat, ev.ToolCompleted, 1),
        seq_of(chat, ev.LlmCompleted, 2),
    } <= reached
    assert seq_of(chat, ev.ToolCalled, 2) not in reached
    assert graph["roots"] == [first_result]


async def test_an_answer_cites_the_results_whose_facts_it_tells(chat: Chat):
    answered = seq_of(chat, ev.LlmCompleted, 2)
    graph = await answer_causes(chat.done(), str(answered), "back")
    cited = [edge for edge in graph["edges"] if edge["why"] == "cites" and edge["effect"] == answered]
    assert any((edge["quote"] or "").startswith("Lyon-Sud7: ") for edge in cited)


async def test_causes_always_come_before_their_effects_and_no_edge_leads_out_of_the_graph(chat: Chat):
    record = chat.done()
    for seq in range(1, record.last + 1):
        graph = await answer_causes(record, str(seq))
        nodes = {node["seq"] for node in graph["nodes"]}
        assert seq in nodes
        assert not graph["truncated"]
        for edge in graph["edges"]:
            assert edge["cause"] < edge["effect"]
            assert {edge["cause"], edge["effect"]} <= nodes


async def test_state_handoffs_and_the_end_rest_on_what_was_before_them(chat: Chat):
    changed = chat.add(ev.StateChanged, "root", key="found", value=chat.store.keep(1))
    chat.add(ev.ApprovalRequested, "root", approval="a")
    received = chat.add(ev.ApprovalGranted, "root", approval="a")
    record = chat.done()
    assert next(edge["why"] for edge in (await answer_causes(record, str(changed.seq), "back"))["edges"]) == "noted"
    (edge, *_) = (await answer_causes(record, received.id, "back"))["edges"]
    assert (edge["cause"], edge["why"]) == (received.seq - 1, "returned")
    assert any(edge["why"] == "ended" for edge in (await answer_causes(record, str(record.last), "back"))["edges"])

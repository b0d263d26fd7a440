"""What a step was about, concluded from what was new: small runs, labelled by hand."""

import pytest

from playhead.model import event as ev
from playhead.model.message import text_message
from playhead_collector.analysis.reasoning.inferred import infer_reasoning
from playhead_collector.analysis.reasoning.reasoning import answer_reasoning
from playhead_collector.analysis.transcript.loading import read_transcript
from tests.support.readers.chat import Chat
from tests.support.readers.fake import FakeStore, Story

ASKED = "Please find my order A1 and refund it."


@pytest.fixture
def chat() -> Chat:
    chat = Chat(FakeStore(), "You are of help.")
    chat.user(ASKED)
    return chat


async def patterns(chat: Chat) -> list[str | None]:
    story = await read_transcript(chat.done())
    return [infer_reasoning(story, turn)["pattern"] for turn in story.turns]


async def test_a_request_is_answered_or_leads_to_a_tool(chat: Chat):
    chat.asks("find", {"order": "A1"}, {"status": "late"})
    chat.says("It is late.")
    chat.user("Thanks!")
    chat.says("You are welcome.")
    assert await patterns(chat) == ["user_message -> tool_call", "tool_result -> answer", "user_message -> answer"]


async def test_an_error_is_followed_by_a_retry_another_tool_or_an_answer(chat: Chat):
    chat.asks("find", {"order": "A1", "deep": False}, error="timeout")
    chat.asks("find", {"order": "A1", "deep": True}, error="timeout")
    chat.asks("find", {"order": "A1", "deep": True}, error="timeout")
    chat.asks("list", {}, "Error: no such user")
    chat.says("I cannot find it.")
    assert await patterns(chat) == [
        "user_message -> tool_call",
        "tool_error -> retry_with_changed_argument",
        "tool_error -> same_call_again",
        "tool_error -> another_tool",
        "tool_error -> answer",
    ]


async def test_the_same_call_is_found_again_behind_turns_of_words(chat: Chat):
    chat.asks("find", {"order": "A1"}, {"status": "late"})
    chat.says("It is late.")
    chat.user("Are you sure about that order?")
    chat.says("Let me see.")
    chat.user("Please do.")
    chat.asks("find", {"order": "A1"}, {"status": "late"})
    chat.says("It is.")
    chat.user("And how about my other order, B2?")
    chat.asks("find", {"order": "B2"}, {"status": "sent"})
    assert await patterns(chat) == [
        "user_message -> tool_call",
        "tool_result -> answer",
        "user_message -> answer",
        "user_message -> same_call_again",
        "tool_result -> answer",
        "user_message -> tool_call",
    ]


async def test_similar_calls_in_the_context_are_counted(chat: Chat):
    chat.asks("find", {"order": "A1"}, error="timeout")
    chat.asks("list", {}, ["A1"])
    chat.asks("find", {"order": "A2"}, error="timeout")
    chat.asks("find", {"order": "A1"}, error="timeout")
    chat.says("I cannot find it.")
    story = await read_transcript(chat.done())
    inferred = [infer_reasoning(story, turn) for turn in story.turns]
    assert [(each["similar_calls"], each["same_calls"]) for each in inferred] == [
        (0, 0),
        (0, 0),
        (1, 0),
        (2, 1),
        (0, 0),
    ]
    assert inferred[3]["summary"].endswith("Similar calls in its context: 2, equal ones: 1.")
    assert "Similar" not in inferred[4]["summary"]


async def test_what_a_retry_changed_is_told_by_path(chat: Chat):
    chat.asks("find", {"order": {"id": "A1"}, "n": 1}, error="timeout")
    chat.asks("find", {"order": {"id": "A2"}, "n": 1}, ["x"])
    story = await read_transcript(chat.done())
    inferred = infer_reasoning(story, story.turns[1])
    assert inferred["changed"] == [{"path": "order.id", "before": "A1", "after": "A2"}]
    assert inferred["summary"] == (
        "After a tool's error, it tried find again, with another order.id. "
        "Similar calls in its context: 1, equal ones: 0."
    )
    assert inferred["trigger_quotes"][0]["text"] == "timeout"


async def test_results_lead_to_the_next_tool_or_to_the_same_with_other_arguments(chat: Chat):
    chat.asks("find", {"order": "A1"}, ["late"])
    chat.asks("find", {"order": "A2"}, ["late"])
    chat.asks("refund", {"order": "A2"}, "done")
    assert (await patterns(chat))[1:] == ["tool_result -> same_tool_other_arguments", "tool_result -> next_tool_call"]


async def test_the_goal_is_the_last_request_and_not_a_yes(chat: Chat):
    chat.says("Shall I refund A1?")
    chat.user("Yes, please go ahead with that one.")
    chat.asks("refund", {"order": "A1"}, "done")
    story = await read_transcript(chat.done())
    inferred = infer_reasoning(story, story.turns[1])
    assert (inferred["goal"] or {}).get("text") == ASKED
    assert inferred["goal_origin"] == "earlier_user_message"
    (first,) = infer_reasoning(story, story.turns[0])["trigger_quotes"]
    assert (first["seq"], first["start"], first["end"], first["text"]) == (3, 0, len(ASKED), ASKED)


async def test_a_call_after_one_that_failed_and_one_that_is_open_say_so():
    store = FakeStore()
    story = Story(store)
    asked = text_message("user", ASKED)
    called = story.model_call("a", [], [asked], None)
    story.add(ev.LlmFailed, "a", error_type="RateLimit", message="slow down", model="gpt-4o")
    story.add(ev.LlmCalled, "b", model="gpt-4o", thread=called.thread)
    told = await read_transcript(story.done())
    again = infer_reasoning(told, told.turns[1])
    assert (again["trigger"], again["action"], again["pattern"]) == ("model_error", None, None)
    assert again["trigger_quotes"][0]["text"] == "slow down"


async def test_everything_inferred_is_marked_and_rests_on_words_that_can_be_found(chat: Chat):
    chat.asks("find", {"order": "A1"}, {"status": "late"}, said="I look.")
    chat.says("It is late.")
    story = await read_transcript(chat.done())
    for turn in story.turns:
        inferred = infer_reasoning(story, turn)
        assert inferred["basis"] == "inferred"
        assert (inferred["strength"], inferred["rule"]) in {("likely", "latest_request"), ("likely", "earlier_request")}
        assert {step["what"] for step in inferred["evidence"]} >= {"trigger", "goal"}
        for step in inferred["evidence"]:
            assert step["quote"]["ref"] in chat.store.bodies
            assert step["quote"]["seq"] is not None


async def test_reasoning_has_what_was_captured_written_down_and_inferred(chat: Chat, read_json):
    thought = "Goal: refund\nDecision: look first"
    chat.asks("find", {"order": "A1"}, "x", said="<why>Goal: look</why>", thinks=thought)
    answer = read_json(await answer_reasoning(chat.done(), "4", "why"))
    assert answer["captured"] == thought
    assert [(each["source"], each["goal"][0]["text"]) for each in answer["structured"]] == [
        ("answer", "look"),
        ("thinking", "refund"),
    ]
    whole = answer["structured"][1]["whole"]
    assert (whole["ref"], whole["start"], whole["end"]) == (answer["ref"], 0, len(thought))
    assert answer["inferred"]["pattern"] == "user_message -> tool_call"
    assert answer["explanation"] is None

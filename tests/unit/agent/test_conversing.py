"""An agent goes on with a conversation, or with the last run of a session: over resumes and other writers."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.agent.streams import TextDelta
from playhead.context import Compression, Keep, SlidingWindow
from playhead.errors import ConversationConflict
from playhead.models import MockModel, ModelRequest, mock_answer
from tests.support.journal_reader import Recording

Script = Callable[[ModelRequest], Any]


@pytest.fixture(autouse=True)
def in_folder(recording: Recording, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLAYHEAD_ENDPOINT", "none")
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path / "journal"))
    playhead.configure(endpoint=None, journal_dir=tmp_path / "journal")


@playhead.tool(writes=False)
def add(a: int, b: int) -> int:
    """Adds two numbers."""
    return a + b


def said(request: ModelRequest) -> list[str]:
    return [message["parts"][0].get("content", "") for message in request.messages if message["role"] != "system"]


def echo(request: ModelRequest) -> str:
    return f"answer to {said(request)[-1]}"


def agent(script: Script = echo, **options: Any) -> tuple[Any, MockModel]:
    model = MockModel(script, name="gpt-4o")
    return playhead.Agent[None](name="chat", instructions="Be brief.", model=model, **options), model


def texts(conversation: playhead.Conversation) -> list[object]:
    return [message["content"] for message in conversation.messages]


def test_the_messages_of_before_are_asked_and_what_the_run_adds_is_saved():
    chat, model = agent()
    assert chat.run_sync("one", conversation=playhead.conversation("c")).response == "answer to one"
    out = chat.run_sync("two", conversation=playhead.conversation("c"))
    assert said(model.requests[1]) == ["one", "answer to one", "two"]
    kept = playhead.conversation("c")
    assert (kept.revision, texts(kept)) == (2, ["one", "answer to one", "two", "answer to two"])
    assert out.run is not None


def test_tool_calls_are_kept_with_their_results_and_instructions_are_not():
    asks = [mock_answer(calls=[("c1", "add", {"a": 1, "b": 2})]), "It is 3."]
    chat, _ = agent(lambda _: asks.pop(0), tools=[add])
    chat.run_sync("1 + 2?", conversation=playhead.conversation("c"))
    kept = playhead.conversation("c").messages
    assert [message["role"] for message in kept] == ["user", "assistant", "tool", "assistant"]
    assert (kept[1]["tool_calls"][0]["function"]["name"], kept[2]["tool_call_id"]) == ("add", "c1")
    chat, model = agent()
    chat.run_sync("And now?", conversation=playhead.conversation("c", api="canonical"))
    assert [message["role"] for message in model.requests[0].messages][:4] == ["system", "user", "assistant", "tool"]


def test_without_blocking_and_as_a_stream():
    chat, model = agent()

    async def main() -> list[str]:
        await chat.run("one", conversation=await playhead.conversation_async("c"))
        conversation = await playhead.conversation_async("c")
        async with chat.run_stream("two", conversation=conversation) as events:
            pieces = [event.text async for event in events if isinstance(event, TextDelta)]
        assert await conversation.save_async() == 2
        return pieces

    assert "".join(asyncio.run(main())) == "answer to two"
    assert said(model.requests[1]) == ["one", "answer to one", "two"]
    assert len(playhead.conversation("c")) == 4


def test_a_conversation_keeps_what_a_compression_removes():
    chat, model = agent(compression=Compression(limit=60, keep=Keep(messages=2), strategy=SlidingWindow(2)))
    for number in range(8):
        chat.run_sync(f"question {number} " + "word " * 10, conversation=playhead.conversation("c"))
    assert len(said(model.requests[-1])) < 15
    assert len(playhead.conversation("c")) == 16


def test_a_run_that_fails_adds_nothing():
    chat, _ = agent(lambda _: ConnectionError("gone"))
    conversation = playhead.conversation("c")
    with pytest.raises(ConnectionError):
        chat.run_sync("one", conversation=conversation)
    assert (conversation.unsaved, len(playhead.conversation("c"))) == (0, 0)


def test_another_writer_is_a_conflict_after_the_run_is_complete(recording: Recording):
    def meanwhile(request: ModelRequest) -> str:
        theirs = playhead.conversation("c")
        theirs.append("user", "theirs")
        theirs.save()
        return "ours"

    chat, _ = agent(meanwhile)
    conversation = playhead.conversation("c")
    with pytest.raises(ConversationConflict) as raised:
        chat.run_sync("one", conversation=conversation)
    assert raised.value.result.response == "ours"
    assert conversation.unsaved == 2
    [row] = recorded_runs()
    assert (row["status"], row["session"]) == ("completed", "c")
    conversation.reload()
    conversation.save()
    assert texts(playhead.conversation("c")) == ["theirs", "one", "ours"]


def recorded_runs() -> list[Any]:
    from playhead.local.client import JournalClient
    from playhead.recording import current_settings

    playhead.flush(0)
    with JournalClient(current_settings().journal_dir, pytest.fail) as journal:
        return [*journal.runs()]


class Killed(BaseException):
    """Ends a run where it stands, as a kill would."""


def interrupted(when: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process ends before or after the conversation is saved."""
    save = playhead.Conversation.save

    def dying(self: playhead.Conversation) -> int:
        monkeypatch.setattr(playhead.Conversation, "save", save)
        if when == "after":
            save(self)
        raise Killed

    monkeypatch.setattr(playhead.Conversation, "save", dying)


@pytest.mark.parametrize("others", [0, 1])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_resumed_run_sees_what_it_saw_and_saves_it_once(when: str, others: int, monkeypatch: pytest.MonkeyPatch):
    chat, model = agent()
    chat.run_sync("one", conversation=playhead.conversation("c"))
    interrupted(when, monkeypatch)
    with pytest.raises(Killed):
        chat.run_sync("two", conversation=playhead.conversation("c"))
    [killed] = [row["run"] for row in recorded_runs() if row["status"] != "completed"]
    if others:
        other = playhead.conversation("c")
        other.append("user", "later")
        other.save()
    asked = len(model.requests)
    resumed = playhead.conversation("c")
    with playhead.resume(killed):
        if when == "before" and others:
            with pytest.raises(ConversationConflict):
                chat.run_sync("two", conversation=resumed)
            resumed.reload()
            resumed.save()
        else:
            chat.run_sync("two", conversation=resumed)
    assert len(model.requests) == asked  # all of it from the record
    expected = ["one", "answer to one", "two", "answer to two"]
    if others:
        expected.insert(4 if when == "after" else 2, "later")
    assert texts(playhead.conversation("c")) == texts(resumed) == expected


def test_a_task_asks_within_a_conversation():
    def script(request: ModelRequest) -> str:
        return "no number" if said(request)[-1] == "how many?" else "3"

    model = MockModel(script, name="gpt-4o")
    task = playhead.LlmTask("count", model=model, output=int)
    first = playhead.conversation("c")
    first.append("user", "There are three of them.")
    first.save()
    assert task("how many?", conversation=playhead.conversation("c")).parsed == 3
    assert asyncio.run(task.run("and now?", conversation=playhead.conversation("c"))).parsed == 3
    # What was asked because an answer had another type is not part of the conversation.
    assert texts(playhead.conversation("c")) == ["There are three of them.", "how many?", "3", "and now?", "3"]
    assert said(model.requests[-1]) == ["There are three of them.", "how many?", "3", "and now?"]
    late = playhead.conversation("c")
    other = playhead.conversation("c")
    other.append("user", "theirs")
    other.save()
    with pytest.raises(ConversationConflict) as raised:
        task("again?", conversation=late)
    assert raised.value.result.parsed == 3


# --- the last run of a session ----------------------------------------------------------------------------------------


def test_a_run_continues_the_last_one_of_its_session():
    chat, model = agent()
    chat.run_sync("one", session="s", continue_session=True)
    chat.run_sync("elsewhere", session="another")
    chat.run_sync("two", session="s", continue_session=True)
    chat.run_sync("three", session="s", continue_session=True)
    assert said(model.requests[3]) == ["one", "answer to one", "two", "answer to two", "three"]
    chat.run_sync("four", session="s")
    assert said(model.requests[4]) == ["four"]  # only where it is asked for


def test_a_resumed_run_continues_the_same_run_again():
    chat, _ = agent()
    chat.run_sync("one", session="s")
    fails = [True]

    def instructions(_: Any) -> str:
        if fails.pop():
            raise Killed
        return "Be brief."

    model = MockModel(echo, name="gpt-4o")
    mortal = playhead.Agent[None](name="chat", instructions=instructions, model=model)
    with pytest.raises(Killed):
        mortal.run_sync("two", session="s", continue_session=True)
    [killed] = [row["run"] for row in recorded_runs() if row["status"] != "completed"]
    chat.run_sync("another one", session="s")
    fails.append(False)
    with playhead.resume(killed):
        mortal.run_sync("two", session="s", continue_session=True)
    assert [*map(said, model.requests)] == [["one", "answer to one", "two"]]


def test_any_run_may_continue_its_session():
    with playhead.run("first", session="s") as run:
        run.state["count"] = 1
    with playhead.run("second", session="s", continue_session=True) as run:
        assert dict(run.state) == {"count": 1}
    with playhead.run("third", session="new", continue_session=True) as run:
        assert (dict(run.state), run.history) == ({}, [])
    with pytest.raises(ValueError, match="needs session"):
        playhead.run("fourth", continue_session=True)

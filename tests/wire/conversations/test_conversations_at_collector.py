"""Conversations at a collector: found from another machine, kept over its outages, never silently overwritten."""

import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.conversations.folder import FOLDER
from playhead.conversations.heads import ConversationHead
from playhead.conversations.keeping import conversation_store
from playhead.errors import CannotRestore, CollectorUnreachable, ConversationConflict
from playhead.model.ref import ContentRef
from playhead_collector.process import CollectorProcess

Machine = Callable[..., None]


@pytest.fixture
def name() -> str:
    return f"chat {uuid.uuid4().hex[:12]}"


def texts(conv: playhead.Conversation) -> list[object]:
    return [message["content"] for message in conv.messages]


def waiting(folder: Path) -> int:
    return len([*(folder / FOLDER).glob("*.json")])


def test_the_next_turn_may_come_at_another_machine(machine: Machine, name: str, tmp_path: Path):
    conv = playhead.conversation(name, scope="user-7")
    conv.append("user", "Hello")
    conv.append("assistant", "Hi. " + "What is wrong? " * 2_000)  # with a part that is stored apart
    assert (conv.save(), conv.is_pending) == (1, False)
    machine("two")
    there = playhead.conversation(name, scope="user-7")
    assert there.messages == conv.messages
    there.append("user", "It does not start")
    assert there.save() == 2
    assert texts(playhead.conversation(name, scope="user-7"))[2:] == ["It does not start"]
    conv.append("user", "Are you there?")
    with pytest.raises(ConversationConflict, match="revision 2, and 1 was read"):
        conv.save()
    conv.reload()
    assert conv.save() == 3
    assert texts(playhead.conversation(name, scope="user-7"))[2:] == ["It does not start", "Are you there?"]
    assert waiting(tmp_path / "one") == waiting(tmp_path / "two") == 0


def test_of_two_writers_that_say_the_same_the_second_is_told_too(machine: Machine, name: str):
    convs = [playhead.conversation(name), playhead.conversation(name)]
    for conv in convs:
        conv.append("user", "yes")
    convs[0].save()
    with pytest.raises(ConversationConflict):
        convs[1].save()
    convs[1].reload()
    assert convs[1].save() == 2
    assert texts(playhead.conversation(name)) == ["yes", "yes"]


def test_a_save_that_was_interrupted_and_is_called_again_saves_once(
    machine: Machine, name: str, monkeypatch: pytest.MonkeyPatch
):
    conv = playhead.conversation(name)
    conv.append("user", "one")
    ask = playhead.Client.ask

    def interrupted(self: playhead.Client, request: Any) -> Any:
        answer = ask(self, request)
        if request.method == "PUT":
            raise KeyboardInterrupt
        return answer

    with monkeypatch.context() as patched:
        patched.setattr(playhead.Client, "ask", interrupted)
        with pytest.raises(KeyboardInterrupt):
            conv.save()
    assert conv.save() == 1
    assert texts(playhead.conversation(name)) == ["one"]


def test_an_outage_is_waited_out_in_the_folder_and_brought_back_by_revision(
    machine: Machine, name: str, tmp_path: Path
):
    conv = playhead.conversation(name)
    conv.append("user", "before")
    conv.save()
    machine("one", reaches=False)
    for number in range(3):
        conv.append("user", f"during {number}")
        assert conv.save() == 2 + number
        assert conv.is_pending
    assert texts(playhead.conversation(name)) == ["before", "during 0", "during 1", "during 2"]  # another process
    machine("one")
    conv.append("user", "after")
    assert (conv.save(), conv.is_pending) == (5, False)
    machine("two")
    assert texts(playhead.conversation(name)) == ["before", "during 0", "during 1", "during 2", "after"]
    assert waiting(tmp_path / "one") == 0


def test_flush_brings_what_is_pending(machine: Machine, name: str, tmp_path: Path):
    machine("one", reaches=False)
    conv = playhead.conversation(name)
    conv.append("user", "kept here")
    conv.save()
    assert waiting(tmp_path / "one") == 1
    machine("one")
    conversation_store()
    assert playhead.flush(60)
    assert waiting(tmp_path / "one") == 0
    machine("two")
    assert (texts(playhead.conversation(name)), playhead.conversation(name).revision) == (["kept here"], 1)


def test_two_machines_over_an_outage_lose_nothing_and_one_becomes_a_branch(
    machine: Machine, name: str, caplog: pytest.LogCaptureFixture
):
    conv = playhead.conversation(name)
    conv.append("user", "shared")
    conv.save()
    machine("two")
    other = playhead.conversation(name)
    machine("one", reaches=False)
    conv.append("user", "from one, during the outage")
    conv.save()
    other.append("user", "from two")
    machine("two")
    assert other.save() == 2
    machine("one")
    conv.append("user", "from one, after it")
    with pytest.raises(ConversationConflict):
        conv.save()
    assert "another writer has saved the conversation" in caplog.text
    conv.reload()
    assert conv.save() == 3
    assert texts(playhead.conversation(name)) == ["shared", "from two", "from one, after it"]
    [branch] = [head for head in playhead.list_conversations() if head.id.startswith(f"{name}/branch-")]
    assert texts(playhead.conversation(branch.id)) == ["shared", "from one, during the outage"]
    assert branch.parent == (name, 1)


def test_a_process_that_has_not_seen_the_branch_cannot_overwrite_the_other_machine(machine: Machine, name: str):
    """Its pending revision has the same number as that of the other machine."""
    machine("one", reaches=False)
    conv = playhead.conversation(name)
    conv.append("user", "from one")
    conv.save()
    machine("two")
    other = playhead.conversation(name)
    other.append("user", "from two")
    other.save()
    machine("one")
    assert conversation_store().deliver()  # by another process of this machine
    conv.append("user", "more from one")
    assert conv.revision == other.revision == 1
    with pytest.raises(ConversationConflict):
        conv.save()
    assert texts(playhead.conversation(name)) == ["from two"]


def test_an_answer_that_was_lost_makes_no_branch(machine: Machine, name: str):
    conv = playhead.conversation(name)
    conv.append("user", "one")
    conv.save()
    twin = playhead.conversation(name)
    assert texts(twin) == ["one"]
    for each in (conv, twin):
        each.append("user", "two")
    conv.save()  # the collector has it, and `twin` did not get the answer
    machine("one", reaches=False)
    twin.save()
    twin.append("user", "three")
    twin.save()
    machine("one")
    assert texts(playhead.conversation(name)) == ["one", "two", "three"]
    assert not [head for head in playhead.list_conversations() if head.id.startswith(f"{name}/")]


def test_what_was_redacted_is_refused_on_another_machine(machine: Machine, name: str):
    machine("one", redact=lambda value: "hidden")
    conv = playhead.conversation(name)
    conv.append("user", "a secret")
    conv.save()
    machine("two")
    with pytest.raises(CannotRestore, match="was redacted"):
        _ = playhead.conversation(name).messages


def test_without_capture_of_content_nothing_leaves_the_machine(machine: Machine, name: str, tmp_path: Path):
    machine("one", capture_content=False)
    conv = playhead.conversation(name)
    conv.append("user", "private")
    conv.save()
    assert (conv.is_pending, waiting(tmp_path / "one")) == (True, 1)
    machine("two")
    assert playhead.conversation(name).revision == 0


def test_branches_deletion_and_runs(machine: Machine, name: str, collector: CollectorProcess):
    conv = playhead.conversation(name)
    for number in range(4):
        conv.append("user", f"m{number}")
    conv.save()
    early = conv.branch(at=2)
    assert texts(playhead.conversation(early.id)) == ["m0", "m1"]
    assert playhead.conversation(conv.fork(f"{name} fork").id).messages == conv.messages
    with playhead.run("support", conversation=conv) as run:
        pass
    assert playhead.flush(60)
    assert [each["run"] for each in conv.runs()] == [run.id]
    assert (conv.delete(), conv.delete()) == (True, False)
    assert playhead.conversation(name).revision == 0
    assert conv.save() == 1  # anew, from what this object has
    assert texts(playhead.conversation(name)) == ["m0", "m1", "m2", "m3"]


def test_a_deletion_that_fails_changes_nothing(machine: Machine, name: str):
    conv = playhead.conversation(name)
    for text in ("one", "two"):
        conv.append("user", text)
        conv.save()
    machine("one", reaches=False)
    with pytest.raises(CollectorUnreachable):
        conv.delete()
    assert (conv.revision, conv.unsaved) == (2, 0)
    machine("one")
    conv.append("user", "three")
    assert conv.save() == 3
    assert texts(playhead.conversation(name)) == ["one", "two", "three"]


def test_reloading_while_no_collector_answers_keeps_what_was_read(
    machine: Machine, name: str, caplog: pytest.LogCaptureFixture
):
    conv = playhead.conversation(name)
    conv.append("user", "before")
    conv.save()
    conv.append("user", "during")
    machine("one", reaches=False)
    conv.reload()
    assert texts(conv) == ["before", "during"]
    assert (conv.save(), conv.is_pending) == (2, True)
    assert "goes on without" not in caplog.text
    machine("one")
    assert texts(playhead.conversation(name)) == ["before", "during"]
    assert not [head for head in playhead.list_conversations() if head.id.startswith(f"{name}/")]


def test_what_follows_messages_that_were_deleted_meanwhile_is_brought_without_them(
    machine: Machine, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """This process has not read the first messages; they were forgotten at the collector."""
    forgotten = ConversationHead(name, "", 1, ContentRef(f"sha256:{uuid.uuid4().hex * 2}"), 2, None, "", "")
    machine("one", reaches=False)
    conv = playhead.Conversation(name, head=forgotten)
    conv.append("user", "during")
    conv.save()
    machine("one")
    again = playhead.conversation(name)
    assert (texts(again), again.is_pending, waiting(tmp_path / "one")) == (["during"], False, 0)
    assert "that were saved before are not stored any more" in caplog.text
    conv.append("user", "after")
    with pytest.raises(ConversationConflict):
        conv.save()
    conv.reload()
    conv.save()
    assert texts(playhead.conversation(name)) == ["during", "after"]


def test_a_save_after_messages_that_were_deleted_is_a_conflict(machine: Machine, name: str):
    forgotten = ConversationHead(name, "", 1, ContentRef(f"sha256:{uuid.uuid4().hex * 2}"), 2, None, "", "")
    conv = playhead.Conversation(name, head=forgotten)
    conv.append("user", "after")
    with pytest.raises(ConversationConflict, match="was deleted"):
        conv.save()
    conv.reload()
    assert conv.save() == 1
    assert texts(playhead.conversation(name)) == ["after"]


def test_what_the_collector_refuses_goes_on_in_the_folder(
    machine: Machine, name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
):
    """An id that is too long stands for anything that it refuses, such as a message of 100 MB."""
    too_long = f"{name} " + "x" * 500
    machine("one", reaches=False)
    conv = playhead.Conversation(too_long)
    conv.append("user", "one")
    conv.save()
    machine("one")
    conv.reload()
    conv.append("user", "two")
    assert (conv.save(), conv.is_pending, texts(conv)) == (2, True, ["one", "two"])
    assert "stays in the journal's folder: " in caplog.text
    assert "at most 500 characters" in caplog.text
    assert conversation_store().read(too_long, "") is not None
    assert waiting(tmp_path / "one") == 1

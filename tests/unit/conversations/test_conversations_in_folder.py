"""Conversations in the journal's folder: saved by revision, branched, kept through kills, found by other processes."""

import itertools
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, cast

import pytest

import playhead
from playhead.conversations.folder import FOLDER
from playhead.errors import CannotRestore, ConversationConflict
from playhead.model import names
from tests.support.journal_reader import Recording

HELLO = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi. What is wrong?"}]

# Forks writers and kills each somewhere in a save; prints how many saves were acknowledged.
KILLER = """
import os, random, signal, playhead
chance = random.Random(34)
playhead.conversation("warm").save()
acknowledged = 0
for _ in range(100):
    reads, writes = os.pipe()
    child = os.fork()
    if not child:
        conv = playhead.conversation("killed")
        while True:
            conv.append("user", f"message {len(conv)}")
            conv.save()
            os.write(writes, b"+")
    os.close(writes)
    for _ in range(1 + chance.randrange(3)):
        acknowledged += len(os.read(reads, 1))
    for _ in range(chance.randrange(30_000)):
        pass
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    acknowledged += len(os.read(reads, 65_536))
    os.close(reads)
print(acknowledged)
"""


@pytest.fixture(autouse=True)
def no_collector(recording: Recording, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PLAYHEAD_ENDPOINT", "none")
    monkeypatch.setenv("PLAYHEAD_JOURNAL_DIR", str(tmp_path / "journal"))
    playhead.configure(endpoint=None, journal_dir=tmp_path / "journal")


def test_what_was_saved_is_there_for_the_next_process():
    conv = playhead.conversation("user-7/support", scope="user-7")
    assert (conv.revision, len(conv), conv.messages) == (0, 0, [])
    conv.append(HELLO[0])
    conv.append("assistant", HELLO[1]["content"])
    assert conv.save() == 1
    assert conv.save() == 1  # nothing new
    conv.append("user", "It does not start")
    assert conv.save() == 2
    again = playhead.conversation("user-7/support", scope="user-7")
    assert again.messages == [*HELLO, {"role": "user", "content": "It does not start"}] == conv.messages
    assert (again.revision, again.head, again.is_pending) == (2, conv.head, True)
    assert playhead.conversation("user-7/support").messages == []  # another scope


def test_messages_of_every_dialect_come_back_in_the_form_of_any():
    conv = playhead.conversation("tools")
    call = {"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"at":"door"}'}}
    chat = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "See"}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "It is open."},
    ]
    for message in chat:
        conv.append(message)
    conv.save()
    again = playhead.conversation("tools")
    assert [message["role"] for message in again.messages] == ["system", "user", "assistant", "tool"]
    assert again.messages[2]["tool_calls"] == [call]
    assert again.messages[3] == chat[3]
    claude = playhead.conversation("tools", api="anthropic")
    assert claude.system == "Be brief."
    assert [message["role"] for message in claude.messages] == ["user", "assistant", "user"]
    assert claude.messages[1]["content"][0]["input"] == {"at": "door"}


def test_of_two_writers_the_second_is_told_and_loses_nothing():
    first = playhead.conversation("shared")
    first.append("user", "from the first")
    second = playhead.conversation("shared")
    second.append("user", "from the second")
    first.save()
    with pytest.raises(ConversationConflict, match="revision 1, and 0 was read"):
        second.save()
    assert [message["content"] for message in second.messages] == ["from the second"]
    second.reload()
    assert [message["content"] for message in second.messages] == ["from the first", "from the second"]
    assert second.save() == 2
    first.append("user", "more")
    with pytest.raises(ConversationConflict):
        first.save()
    kept = first.branch()
    assert [message["content"] for message in kept.messages] == ["from the first", "more"]
    assert kept.parent == ("shared", 1)
    first.reload(discard=True)
    assert [message["content"] for message in first.messages] == ["from the first", "from the second"]


def test_of_two_writers_that_say_the_same_the_second_is_told_too():
    first, second = playhead.conversation("shared"), playhead.conversation("shared")
    for each in (first, second):
        each.append("user", "yes")
    first.save()
    with pytest.raises(ConversationConflict):
        second.save()
    second.reload()
    second.save()
    assert [message["content"] for message in playhead.conversation("shared").messages] == ["yes", "yes"]


def test_threads_that_save_at_once_lose_nothing():
    def add(name: int) -> None:
        conv = playhead.conversation("busy")
        for number in range(5):
            conv.append("user", f"{name}-{number}")
            while True:
                try:
                    conv.save()
                    break
                except ConversationConflict:
                    conv.reload()

    threads = [threading.Thread(target=add, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    texts = [message["content"] for message in playhead.conversation("busy").messages]
    assert sorted(texts) == sorted(f"{name}-{number}" for name in range(4) for number in range(5))
    for name in range(4):  # each writer's in its order
        assert [text for text in texts if text.startswith(f"{name}-")] == [f"{name}-{number}" for number in range(5)]


def test_a_branch_begins_with_a_part_and_goes_its_own_way():
    conv = playhead.conversation("plan")
    for number in range(6):
        conv.append("user", f"m{number}")
    conv.save()
    early = conv.branch(at=2)
    early.append("user", "another way")
    early.save()
    fork = conv.fork("what-if")
    assert [message["content"] for message in playhead.conversation(early.id).messages] == ["m0", "m1", "another way"]
    assert playhead.conversation("what-if").messages == conv.messages
    assert (fork.head, fork.parent, early.parent) == (conv.head, ("plan", 1), ("plan", 1))
    with pytest.raises(ConversationConflict):
        early.fork("plan")
    with pytest.raises(IndexError):
        conv.branch(at=7)
    assert {head.id for head in playhead.list_conversations()} == {"plan", "what-if", early.id}
    assert conv.delete()
    assert not conv.delete()
    assert playhead.conversation("plan").messages == []
    assert len(playhead.conversation("what-if").messages) == 6  # has what it needs
    assert conv.save() == 1  # begun anew, with all its messages
    assert len(playhead.conversation("plan").messages) == 6


def test_what_a_hook_redacts_is_neither_stored_nor_given_to_a_model(tmp_path: Path):
    def hide(value: object) -> object:
        return json.loads(json.dumps(value).replace("PIN-4711", "***"))

    playhead.configure(endpoint=None, journal_dir=tmp_path / "journal", redact=hide)
    conv = playhead.conversation("secret")
    conv.append("user", "nothing to hide")
    conv.append("user", "the code is PIN-4711")
    conv.save()
    assert conv.messages[1]["content"] == "the code is PIN-4711"  # this process has said it
    assert not [
        path for path in (tmp_path / "journal").rglob("*") if path.is_file() and b"PIN-4711" in path.read_bytes()
    ]
    again = playhead.conversation("secret")
    with pytest.raises(CannotRestore, match="was redacted"):
        _ = again.messages
    assert len(again) == 2
    assert playhead.conversation("secret").branch(at=1).messages == [{"role": "user", "content": "nothing to hide"}]


def test_a_hundred_kills_lose_and_double_nothing():
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    killer = subprocess.run([sys.executable, "-c", KILLER], env=env, capture_output=True, text=True, check=True)
    acknowledged = int(killer.stdout)
    texts = [message["content"] for message in playhead.conversation("killed").messages]
    assert texts == [f"message {number}" for number in range(len(texts))]
    # At each kill, one save may be durable that was not acknowledged.
    assert 100 <= acknowledged <= len(texts) <= acknowledged + 100


def test_a_save_costs_what_is_new_however_long_the_conversation_is(tmp_path: Path):
    conv = playhead.conversation("long")
    folder = tmp_path / "journal" / FOLDER
    sizes: list[int] = []
    for number in range(300):
        conv.append("user", f"message {number:06}")
        conv.save()
        sizes.append(sum(path.stat().st_size for path in folder.iterdir()))
    steps = [after - before for before, after in itertools.pairwise(sizes[10:])]
    assert max(steps) - min(steps) <= 4  # digits of numbers in the head


def test_a_run_names_its_conversation(recording: Recording):
    conv = playhead.conversation("user-7/support")
    with playhead.run("support", conversation=conv) as run:
        pass
    with playhead.run("support", conversation=conv, session="another"):
        pass
    first, second = recording.read().spans
    assert first.attributes[names.CONVERSATION] == "user-7/support"
    assert first.attributes[names.RUN_ID] == run.id
    assert second.attributes[names.CONVERSATION] == "another"


@pytest.mark.parametrize(
    ("name", "scope", "error", "says"),
    [
        ("", "", ValueError, "id=''.: expected 1 to 500 characters"),
        ("x" * 501, "", ValueError, "expected 1 to 500 characters, and got 501"),
        ("a\0b", "", ValueError, "no NUL"),
        ("\ud800", "", ValueError, "no lone surrogate"),
        (7, "", TypeError, "id=7.: expected a text"),
        (None, "", TypeError, "id=None.: expected a text"),
        ("chat", None, TypeError, "scope=None.: expected a text"),
        ("chat", "x" * 501, ValueError, "scope=.*expected at most 500 characters"),
        ("playhead.notes", "", ValueError, "Playhead's own"),
        ("langgraph-thread/user-7", "", ValueError, "Playhead's own"),
        ("history/sha256:abc", "", ValueError, "Playhead's own"),
    ],
)
def test_a_name_that_cannot_be_kept_is_refused_at_once(name: Any, scope: Any, error: type[Exception], says: str):
    with pytest.raises(error, match=says):
        playhead.conversation(name, scope)
    conv = playhead.conversation("chat")
    conv.append("user", "Hello")
    if name not in ("chat", None):
        with pytest.raises(error, match=says):
            conv.fork(name)
    assert not [*playhead.list_conversations()]


def test_a_run_of_what_is_no_conversation_is_refused():
    with pytest.raises(TypeError, match="expected what playhead.conversation.* returned, and got str"):
        playhead.run("support", conversation=cast(Any, "user-7/support"))

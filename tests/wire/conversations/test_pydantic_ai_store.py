"""pydantic-ai's conversations in our store: what its store in memory does, over processes and machines."""

import asyncio
import os
import signal
import subprocess
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict, ConversationStore, InMemoryConversationStore
from pydantic_ai.exceptions import UserError
from pydantic_ai.models.test import TestModel

from playhead.conversations.pydantic_ai import PlayheadConversationStore
from playhead.errors import CollectorUnreachable
from playhead.testing import MockModelServer, text
from playhead_collector.process import CollectorProcess

Machine = Callable[..., None]


@pytest.fixture
def name() -> str:
    return f"pydantic {uuid.uuid4().hex[:12]}"


def agent() -> Agent:
    return Agent(TestModel(custom_output_text="fine"))


async def turn(store: ConversationStore, name: str, prompt: str, **options: Any) -> Any:
    conversation = await store.load(name) or Conversation(conversation_id=name)
    result = await agent().run(prompt, conversation=conversation)
    return await store.save(result, **options)


def prompts(conversation: Conversation | None) -> list[Any]:
    assert conversation is not None
    return [
        part.content for message in conversation.messages for part in message.parts if part.part_kind == "user-prompt"
    ]


async def used(store: ConversationStore, name: str) -> list[Any]:
    """What a program sees that does everything with it."""
    seen: list[Any] = [await store.load(name), await store.list_conversations(scope=name)]
    await turn(store, name, "one", scope=name)
    entries = await turn(store, name, "two")
    loaded = await store.load(name)
    assert loaded is not None
    seen += [len(entries), prompts(loaded), loaded.usage.requests, prompts(await store.load(name, limit=2))]
    seen.append(await store.load(name, scope="another"))
    stale = await store.load(name)
    await turn(store, name, "three")
    try:
        assert stale is not None
        await store.save(await agent().run("late", conversation=stale))
    except ConversationConflict as error:
        seen.append(error.conversation_id == name)
    loaded = await store.load(name)
    assert loaded is not None
    branched = await store.branch(name, at=2, expected_revision=str(loaded.revision))
    seen.append(prompts(branched))
    await store.save(await agent().run("instead", conversation=branched))
    [record] = await store.list_conversations(scope=name)
    [tip] = record.branches
    seen += [
        prompts(await store.load(name)),
        len(await store.read_history(tip)),
        (await store.read_entry(tip)).id == tip,
    ]
    fork = await store.fork(name, at=2, new_conversation_id=f"{name} fork", scope=name)
    await store.save(await agent().run("forked", conversation=fork))
    seen += [prompts(await store.load(f"{name} fork")), prompts(await store.load(name))]
    seen.append([each.conversation_id for each in await store.list_conversations(scope=name)])
    loaded = await store.load(name)
    assert loaded is not None
    back = await store.branch(name, from_entry=tip, expected_revision=str(loaded.revision))
    seen += [prompts(back), len((await store.list_conversations(scope=name, limit=1))[0].branches)]
    await store.delete(name)
    seen += [await store.load(name), prompts(await store.load(f"{name} fork"))]
    try:
        await store.read_entry("no such entry")
    except LookupError:
        seen.append("no entry")
    try:
        await store.branch(name, at=0, expected_revision="x")
    except UserError:
        seen.append("no conversation")
    return seen


@pytest.mark.parametrize("reaches", [True, False])
def test_it_does_what_the_frameworks_own_store_does(
    machine: Machine, name: str, reaches: bool, monkeypatch: pytest.MonkeyPatch
):
    if not reaches:
        monkeypatch.setenv("PLAYHEAD_ENDPOINT", "none")
        machine("one", endpoint=None)
    ours = asyncio.run(used(PlayheadConversationStore(), name))
    assert ours == asyncio.run(used(InMemoryConversationStore(), name))


def test_another_machine_goes_on_and_branches_back(machine: Machine, name: str):
    async def first() -> str:
        store = PlayheadConversationStore()
        await turn(store, name, "one")
        await turn(store, name, "two")
        loaded = await store.load(name)
        assert loaded is not None
        await store.branch(name, at=2, expected_revision=str(loaded.revision))
        await turn(store, name, "instead")
        records = {record.conversation_id: record for record in await store.list_conversations()}
        [tip] = records[name].branches
        return tip

    tip = asyncio.run(first())
    machine("two")

    async def second() -> list[Any]:
        store = PlayheadConversationStore()
        assert [entry.id for entry in await store.read_history(tip)][-1] == tip  # found without its conversation
        await turn(store, name, "three")
        loaded = await store.load(name)
        assert loaded is not None
        back = await store.branch(name, from_entry=tip, expected_revision=str(loaded.revision))
        return [prompts(loaded), prompts(back)]

    assert asyncio.run(second()) == [["one", "instead", "three"], ["one", "two"]]


def test_writers_of_two_machines_are_told(machine: Machine, name: str):
    async def main() -> None:
        one, two = PlayheadConversationStore(), PlayheadConversationStore()
        await turn(one, name, "one")
        late = await one.load(name)
        await turn(two, name, "two")
        assert late is not None
        with pytest.raises(ConversationConflict):
            await one.save(await agent().run("late", conversation=late))
        await turn(one, name, "again")
        assert prompts(await two.load(name)) == ["one", "two", "again"]

    asyncio.run(main())


def test_a_store_that_has_read_a_conversation_goes_on_in_an_outage_and_does_not_delete_half_of_it(
    machine: Machine, name: str
):
    async def main() -> None:
        store = PlayheadConversationStore()
        await turn(store, name, "one")
        machine("one", reaches=False)
        assert prompts(await store.load(name)) == ["one"]
        with pytest.raises(CollectorUnreachable):
            await store.delete(name)
        machine("one")
        assert prompts(await store.load(name)) == ["one"]
        machine("two")
        assert prompts(await PlayheadConversationStore().load(name)) == ["one"]

    asyncio.run(main())


PROGRAM = """
import asyncio, os, signal, sys
import playhead
playhead.instrument()
from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from playhead.conversations.pydantic_ai import PlayheadConversationStore
from tests.support import patience

patience.wait_for_collector()
name, question, dies = sys.argv[1:]


async def main():
    store = PlayheadConversationStore()
    conversation = await store.load(name) or Conversation(conversation_id=name)
    with playhead.run("support", session=name) as run:
        print(run.id, flush=True)
        result = await Agent("openai-chat:gpt-4o").run(question, conversation=conversation)
    if dies == "before the save":
        os.kill(os.getpid(), signal.SIGKILL)
    await store.save(result)
    if dies == "after the save":
        os.kill(os.getpid(), signal.SIGKILL)
    print(result.output)


asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("dies", ["before the save", "after the save"])
def test_another_process_goes_on_where_one_was_killed(
    machine: Machine, collector: CollectorProcess, tmp_path: Path, name: str, dies: str
):
    with MockModelServer() as models:
        models.otherwise(lambda request: text(f"answer {request.number}"))
        env = {
            **os.environ,
            "PLAYHEAD_ENDPOINT": collector.url,
            "PLAYHEAD_JOURNAL_DIR": str(tmp_path / "killed"),
            "OPENAI_BASE_URL": models.base_url,
            "OPENAI_API_KEY": "none",
        }

        def program(question: str, dies: str = "", **more: str) -> Any:
            command = [sys.executable, "-c", PROGRAM, name, question, dies]
            return subprocess.run(command, env=env | more, capture_output=True, text=True, timeout=300, check=False)

        killed = program("one", dies)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        if dies == "before the save":
            resumed = program("one", PLAYHEAD_RESUME=killed.stdout.split()[0])
            assert resumed.returncode == 0, resumed.stderr
            assert len(models.requests) == 1
        later = program("two")
        assert later.returncode == 0, later.stderr
        asked = [message["content"] for message in models.requests[-1].messages]
        assert asked == ["one", "answer 1", "two"]
    machine("two")
    assert prompts(asyncio.run(PlayheadConversationStore().load(name))) == ["one", "two"]

"""OpenAI Agents with our session: everything that the framework's own session does, over processes that are killed and
machines that write at once."""

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
from agents.memory import Session, SessionSettings, SQLiteSession

import playhead
from playhead.conversations.openai_agents import AgentsSession
from playhead.testing import MockModelServer, text, tool_call, tool_result_received
from playhead_collector.process import CollectorProcess

Machine = Callable[..., None]

ITEMS: list[Any] = [
    {"role": "user", "content": "Hello"},
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "See"}]},
    {
        "id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "text": "Hi.", "annotations": [], "logprobs": []}],
    },
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "s"}], "encrypted_content": "x"},
    {"type": "function_call", "id": "f1", "call_id": "c1", "name": "f", "arguments": '{"a": 1}', "status": "completed"},
    {"type": "function_call_output", "call_id": "c1", "output": "3" * 20_000},
    {"type": "something_new", "with": [1, None, {"a": 2.5}]},
]  # fmt: skip


@pytest.fixture
def name() -> str:
    return f"session {uuid.uuid4().hex[:12]}"


def run(work: Any) -> Any:
    return asyncio.run(work)


def both(name: str, limit: int | None = None) -> list[Any]:
    settings = SessionSettings(limit=limit)
    return [AgentsSession(name, session_settings=settings), SQLiteSession(name, session_settings=settings)]


def test_it_does_what_the_frameworks_own_session_does(machine: Machine, name: str):
    async def used(session: Any) -> list[Any]:
        seen: list[Any] = [await session.get_items(), await session.pop_item()]
        await session.add_items([])
        await session.add_items(ITEMS[:2])
        await session.add_items(ITEMS[2:])
        seen += [await session.get_items(), await session.get_items(3), await session.get_items(100)]
        seen += [await session.get_items(0), await session.pop_item(), await session.get_items(2)]
        await session.add_items([ITEMS[0]])
        seen.append(await session.get_items())
        await session.clear_session()
        seen.append(await session.get_items())
        await session.clear_session()
        await session.add_items([ITEMS[3]])
        seen.append(await session.get_items())
        return seen

    ours, theirs = both(name)
    assert isinstance(ours, Session)
    assert run(used(ours)) == run(used(theirs))
    machine("two")
    assert run(AgentsSession(name).get_items()) == [ITEMS[3]]
    assert run(AgentsSession(name, scope="another").get_items()) == []


def test_its_settings_limit_what_a_run_gets(machine: Machine, name: str):
    ours, theirs = both(name, 2)
    for session in (ours, theirs):
        run(session.add_items(ITEMS))
    assert run(ours.get_items()) == run(theirs.get_items()) == ITEMS[-2:]


def test_any_program_reads_the_items_as_messages(machine: Machine, name: str):
    run(AgentsSession(name).add_items(ITEMS[:3]))
    assert [message["role"] for message in playhead.conversation(name).messages] == ["user", "user", "assistant"]
    assert playhead.conversation(name, api="canonical").messages[2]["parts"][0]["content"] == "Hi."


@pytest.mark.parametrize("reaches", [True, False])
def test_tasks_that_use_it_at_once_lose_and_double_nothing(machine: Machine, name: str, reaches: bool):
    machine("one", reaches=reaches)

    async def main() -> tuple[list[Any], list[Any]]:
        sessions = [AgentsSession(name) for _ in range(3)]
        added = [{"role": "user", "content": str(number % 2)} for number in range(12)]  # many say the same
        await asyncio.gather(*(sessions[at % 3].add_items([item]) for at, item in enumerate(added)))
        popped = await asyncio.gather(*(sessions[at % 3].pop_item() for at in range(5)))
        return popped, await sessions[0].get_items()

    popped, left = run(main())
    assert sorted(int(item["content"]) for item in (*popped, *left)) == [0] * 6 + [1] * 6
    assert len(left) == 7


PROGRAM = """
import asyncio, os, signal, sys
import playhead
playhead.instrument()
from agents import Agent, Runner, function_tool
from playhead.conversations.openai_agents import AgentsSession
from tests.support import patience

patience.wait_for_collector()
name, question, dies = sys.argv[1:]


@function_tool
def look_up(order: str) -> str:
    "Looks up an order."
    return "on its way"


class DiesWhenAdded(AgentsSession):
    added = 0

    async def add_items(self, items):
        await super().add_items(items)
        self.added += 1
        if dies == str(self.added):
            os.kill(os.getpid(), signal.SIGKILL)


async def main():
    agent = Agent(name="support", tools=[look_up], model="gpt-4o")
    with playhead.run("support", session=name) as run:
        print(run.id, flush=True)
        result = await Runner.run(agent, question, session=DiesWhenAdded(name))
    print(result.final_output)


asyncio.run(main())
"""


@pytest.mark.slow
@pytest.mark.parametrize("dies", ["1", "2"])
def test_another_process_goes_on_where_one_was_killed(
    machine: Machine, collector: CollectorProcess, tmp_path: Path, name: str, dies: str
):
    with MockModelServer() as models:
        models.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
        models.otherwise(text("It comes."))
        env = {
            **os.environ,
            "PLAYHEAD_ENDPOINT": collector.url,
            "PLAYHEAD_JOURNAL_DIR": str(tmp_path / "killed"),
            "OPENAI_BASE_URL": models.base_url,
            "OPENAI_API_KEY": "none",
            "OPENAI_AGENTS_DISABLE_TRACING": "1",
        }

        def program(question: str, dies: str = "", **more: str) -> Any:
            command = [sys.executable, "-c", PROGRAM, name, question, dies]
            return subprocess.run(command, env=env | more, capture_output=True, text=True, timeout=300, check=False)

        killed = program("Where is A1?", dies)
        assert killed.returncode == -signal.SIGKILL, killed.stderr
        asked = len(models.requests)
        resumed = program("Where is A1?", PLAYHEAD_RESUME=killed.stdout.split()[0])
        assert resumed.returncode == 0, resumed.stderr
        assert resumed.stdout.splitlines()[-1] == "It comes."
        assert len(models.requests) == 2, asked  # none of them again
        later = program("And A2?")
        assert later.returncode == 0, later.stderr
        said = [item.get("content") for item in models.requests[-1].body["input"] if item.get("role") == "user"]
        assert said == ["Where is A1?", "And A2?"]
    machine("two")
    items = run(AgentsSession(name).get_items())
    kinds = [item.get("type", item.get("role")) for item in items]
    assert kinds.count("function_call") == kinds.count("function_call_output") == 1
    assert [item["content"] for item in items if item.get("role") == "user"] == ["Where is A1?", "And A2?"]

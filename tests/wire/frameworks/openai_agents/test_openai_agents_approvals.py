"""Tool calls of OpenAI Agents that wait as approvals: the state is kept, and a later process goes on as was decided."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from agents import Agent, Runner, RunState, function_tool, set_tracing_disabled

import playhead
from playhead import Denied, Suspended
from playhead.api.promises.waiting import answer_of
from playhead.promises.files import PromiseFiles
from tests.support.journal_reader import start_recording
from tests.wire.frameworks.openai_agents.test_openai_agents_models import Own, said, wants

pytestmark = pytest.mark.slow


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[PromiseFiles]:
    set_tracing_disabled(True)
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        recording.configure(endpoint="http://127.0.0.1:9")  # nothing is at the discard port
        playhead.instrument("agents")
        yield PromiseFiles(recording.folder, 3600)
        playhead.uninstrument()


async def _ask(agent: Any) -> str:
    return (await Runner.run(agent, "Clean up.")).to_state().to_string()


async def _go_on(agent: Any, kept: str) -> None:
    state: Any = await RunState.from_string(agent, kept)
    with playhead.run("desk"):
        for item in state.get_interruptions():
            key = f"conversation 7 {item.raw_item.call_id}"
            try:
                await playhead.approval_async("delete", details=item.raw_item.arguments, key=key, suspend=True)
            except Denied:
                state.reject(item)
            else:
                state.approve(item)
        await Runner.run(agent, state)


@pytest.mark.parametrize("outcome", ["approved", "denied"])
def test_a_later_process_goes_on_with_the_answer_to_an_interruption(files: PromiseFiles, outcome: Any):
    deleted: list[str] = []

    @function_tool(needs_approval=True)
    def delete(path: str) -> str:
        """Deletes a file."""
        deleted.append(path)
        return "gone"

    agent = Agent(name="desk", tools=[delete], model=Own(wants("delete", '{"path": "a.txt"}', "c1"), said("done")))
    kept = asyncio.run(_ask(agent))
    with pytest.raises(Suspended):
        asyncio.run(_go_on(agent, kept))
    [asked] = files.all()
    assert (asked["kind"], asked["action"], asked["details"]) == ("approval", "delete", '{"path": "a.txt"}')
    assert deleted == []
    files.answer(asked["id"], answer_of(outcome))
    asyncio.run(_go_on(agent, kept))
    assert deleted == (["a.txt"] if outcome == "approved" else [])

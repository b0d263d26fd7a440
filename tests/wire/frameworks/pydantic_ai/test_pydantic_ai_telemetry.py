"""pydantic-ai's own OpenTelemetry spans beside ours, in the user's provider: each call and each agent is one."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.capabilities import Instrumentation
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

import playhead
from playhead.model import event as ev
from playhead.testing import MockModelServer, pytest_plugin, text, tool_call, tool_result_received
from tests.support.instrumentation_switches import only_run, recorded_with_theirs
from tests.support.journal_reader import Recording

server = pytest_plugin.mock_model_server


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from recorded_with_theirs(tmp_path / "journal", monkeypatch)


def look_up(order: str) -> dict[str, str]:
    """Look an order up."""
    return {"order": order, "status": "delayed"}


async def test_each_call_and_each_agent_is_one(recording: Recording, server: MockModelServer):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("it is delayed"))
    async with AsyncOpenAI(base_url=server.base_url, api_key="none") as client:
        model = OpenAIChatModel("gpt-4o-mini", provider=OpenAIProvider(openai_client=client))
        with playhead.run("r"):
            await Agent(model, name="clerk", tools=[look_up], capabilities=[Instrumentation()]).run("where is A1?")
    assert "pydantic-ai" in {span.scope for span in recording.read().spans}
    run = only_run(recording)
    counts = Counter(type(event).__name__ for event in run.events)
    assert (counts["LlmCalled"], counts["LlmCompleted"], run.row.llm_calls) == (2, 2, 2)
    assert (counts["ToolCalled"], counts["ToolCompleted"]) == (1, 1)
    steps = [event for event in run.events if isinstance(event, ev.StepStarted)]
    assert [step.name for step in steps if step.step_kind == "agent"] == ["clerk"]

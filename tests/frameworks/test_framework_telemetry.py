"""Frameworks' own OpenTelemetry spans beside ours, in the user's provider: each call and each agent is one."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import playhead
from playhead.model import event as ev
from playhead.model import names
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


def strands(server: MockModelServer) -> str:
    from strands import Agent, tool
    from strands.models.openai import OpenAIModel

    model = OpenAIModel(client_args={"base_url": server.base_url, "api_key": "none", "max_retries": 0}, model_id="m")
    Agent(name="clerk", model=model, tools=[tool(look_up)], callback_handler=None)("where is A1?")
    return "strands.telemetry.tracer"


def google_adk(server: MockModelServer) -> str:
    from google.adk.agents import LlmAgent
    from google.adk.models.google_llm import Gemini
    from google.adk.runners import InMemoryRunner
    from google.genai import Client, types

    client = Client(api_key="none", http_options=types.HttpOptions(base_url=server.url))
    model = Gemini(model="gemini-2.5-flash")
    model.__dict__["api_client"] = client
    runner = InMemoryRunner(LlmAgent(name="clerk", model=model, tools=[look_up]), app_name="shop")

    async def run() -> None:
        session = await runner.session_service.create_session(app_name="shop", user_id="u")
        content = types.Content(role="user", parts=[types.Part(text="where is A1?")])
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=content):
            pass
        await client.aio.aclose()

    asyncio.run(run())
    return "gcp.vertex.agent"


def autogen(server: MockModelServer) -> str:
    from autogen_agentchat.agents import AssistantAgent
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    async def run() -> None:
        model = OpenAIChatCompletionClient(model="gpt-4o-mini", base_url=server.base_url, api_key="none")
        await AssistantAgent("clerk", model, tools=[look_up], max_tool_iterations=3).run(task="where is A1?")
        await model.close()

    asyncio.run(run())
    return "autogen-core"


@pytest.mark.parametrize("program", [strands, google_adk, autogen], ids=lambda program: program.__name__)
def test_each_call_and_each_agent_is_one(
    recording: Recording, server: MockModelServer, program: Callable[[MockModelServer], str]
):
    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.otherwise(text("it is delayed"))
    with playhead.run("r"):
        scope = program(server)
    spans = recording.read().spans
    assert scope in {span.scope for span in spans}
    run = only_run(recording)
    counts = Counter(type(event).__name__ for event in run.events)
    assert (counts["LlmCalled"], counts["LlmCompleted"], run.row.llm_calls) == (2, 2, 2)
    assert (counts["ToolCalled"], counts["ToolCompleted"]) == (1, 1)
    steps = [event for event in run.events if isinstance(event, ev.StepStarted)]
    assert [step.name for step in steps if step.step_kind == "agent"] == ["clerk"]
    by_id = {span.span_id: span for span in recording.read().spans}
    called = [event for event in run.events if isinstance(event, ev.LlmCalled | ev.ToolCalled)]
    assert {by_id[str(event.span)].scope or names.SCOPE for event in called} == {names.SCOPE}

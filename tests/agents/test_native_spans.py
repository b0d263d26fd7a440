"""Spans of Agent Framework, AG2 and Semantic Kernel beside ours, in the user's provider: each call is one."""

from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

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


async def agent_framework(server: MockModelServer) -> str:
    from agent_framework import Agent
    from agent_framework.observability import enable_instrumentation
    from agent_framework.openai import OpenAIChatCompletionClient

    enable_instrumentation(enable_sensitive_data=True)
    client = OpenAIChatCompletionClient(model="m", api_key="none", base_url=server.base_url)
    await Agent(client, name="clerk", tools=[look_up]).run("where is A1?")
    return "agent_framework"


async def ag2(server: MockModelServer) -> str:
    from ag2 import Agent
    from ag2.config import OpenAIConfig
    from ag2.middleware.builtin.telemetry import TelemetryMiddleware

    config = OpenAIConfig(model="m", api_key="none", base_url=server.base_url)
    telemetry = TelemetryMiddleware(agent_name="clerk", provider_name="openai")
    await Agent("clerk", config=config, tools=[look_up], middleware=[telemetry]).ask("where is A1?")
    return "opentelemetry.instrumentation.ag2"


async def semantic_kernel(server: MockModelServer) -> str:
    from openai import AsyncOpenAI
    from semantic_kernel.agents import ChatCompletionAgent
    from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
    from semantic_kernel.functions import KernelFunctionFromMethod, KernelPlugin, kernel_function
    from semantic_kernel.utils.telemetry.agent_diagnostics import decorators as of_agents
    from semantic_kernel.utils.telemetry.model_diagnostics import decorators as of_models
    from semantic_kernel.utils.telemetry.model_diagnostics import function_tracer as of_functions

    # It reads these settings from the environment once, when it is imported.
    for module in (of_agents, of_models, of_functions):
        module.MODEL_DIAGNOSTICS_SETTINGS.enable_otel_diagnostics_sensitive = True
    client = AsyncOpenAI(base_url=server.base_url, api_key="none")
    service = OpenAIChatCompletion(ai_model_id="m", async_client=client)
    function = KernelFunctionFromMethod(kernel_function(look_up, name="look_up"))
    plugin = KernelPlugin(name="Orders", functions=[function])
    await ChatCompletionAgent(service=service, name="clerk", plugins=[plugin]).get_response("where is A1?")
    for module in (of_agents, of_models, of_functions):
        module.MODEL_DIAGNOSTICS_SETTINGS.enable_otel_diagnostics_sensitive = False
    return "semantic_kernel.utils.telemetry.model_diagnostics.decorators"


@pytest.mark.parametrize("program", [agent_framework, ag2, semantic_kernel], ids=lambda program: program.__name__)
async def test_each_call_and_each_agent_is_one(
    recording: Recording, server: MockModelServer, program: Callable[[MockModelServer], Awaitable[str]]
):
    called = "Orders-look_up" if program is semantic_kernel else "look_up"
    server.when(~tool_result_received(called), tool_call(called, {"order": "A1"}))
    server.otherwise(text("it is delayed"))
    with playhead.run("r"):
        scope = await program(server)
    spans = recording.read().spans
    assert scope in {span.scope for span in spans}
    run = only_run(recording)
    counts = Counter(type(event).__name__ for event in run.events)
    assert (counts["LlmCalled"], counts["LlmCompleted"], run.row.llm_calls) == (2, 2, 2)
    assert (counts["ToolCalled"], counts["ToolCompleted"]) == (1, 1)
    steps = [event for event in run.events if isinstance(event, ev.StepStarted)]
    assert [step.name for step in steps if step.step_kind == "agent"] == ["clerk"]
    by_id: dict[str, Any] = {span.span_id: span for span in recording.read().spans}
    called = [event for event in run.events if isinstance(event, ev.LlmCalled | ev.ToolCalled)]
    assert {by_id[str(event.span)].scope or names.SCOPE for event in called} == {names.SCOPE}

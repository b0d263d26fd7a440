"""An agent of OpenAI Agents whose input is kept within a limit: over its threshold several times, with tools, and
streamed."""

import re
from collections.abc import Iterator
from typing import Any

import openai
import pytest
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    RunConfig,
    Runner,
    function_tool,
    set_tracing_disabled,
)

import playhead
from playhead.context import Compression, CompressionReport, Keep, LlmSummary
from playhead.context.openai_agents import input_filter
from playhead.model.event import ContextCompressed
from playhead.models import MockModel
from playhead.testing import MockModelServer, Rule, RunRecorder, tool_call, tool_calls
from playhead.testing import text as says

AFTER_A_TOOL = Rule("after a tool", lambda request: request.messages[-1]["role"] == "tool")


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer(models=("mock-model",)) as server:
        server.when(AFTER_A_TOOL, says("It is on its way. " + "word " * 40))
        server.otherwise(tool_call("look_up", {"order": "A1"}))
        yield server


@function_tool
def look_up(order: str) -> str:
    """Looks an order up."""
    return f"{order}: " + "word " * 40


@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
async def test_an_agent_s_input_stays_within_its_limit(
    streamed: bool, server: MockModelServer, playhead_recorder: RunRecorder
):
    set_tracing_disabled(True)
    playhead.instrument("openai")
    reports: list[CompressionReport] = []
    policy = Compression(
        limit=600, keep=Keep(share=0.3), strategy=LlmSummary(model=MockModel("The user asked.")), after=reports.append
    )
    client = openai.AsyncOpenAI(base_url=server.base_url, api_key="k")
    agent = Agent(
        "support", model=OpenAIResponsesModel("mock-model", client), tools=[look_up], instructions="Be brief."
    )
    shorter = input_filter(policy)
    config = RunConfig(call_model_input_filter=shorter)
    items: Any = []
    try:
        with playhead.run("chat"):
            for turn in range(8):
                items = [*items, {"role": "user", "content": f"Where is order {turn}? {'please ' * 15}"}]
                if streamed:
                    result: Any = Runner.run_streamed(agent, items, hooks=shorter.hooks, run_config=config)
                    async for _ in result.stream_events():
                        pass
                else:
                    result = await Runner.run(agent, items, hooks=shorter.hooks, run_config=config)
                assert "on its way" in str(result.final_output)
                items = result.to_input_list()
    finally:
        playhead.uninstrument()
        await client.close()
    assert sum(report.changed for report in reports) >= 2
    assert len(items) == 8 * 4  # the framework's own list is whole
    sizes = [len(str(request.body["input"])) for request in server.requests]
    assert max(sizes) < 6_000
    sent = str(server.requests[-1].body["input"])
    assert "Summary of the conversation so far" in sent
    calls, results = (re.findall(rf"'type': '{kind}'", sent) for kind in ("function_call", "function_call_output"))
    assert len(calls) == len(results) > 0
    kinds = [event.kind for event in playhead_recorder.last.events]
    assert kinds.count("context_compressed") == sum(report.changed for report in reports)


async def test_a_compression_is_recorded_once_where_calls_have_another_form_than_the_input(
    server: MockModelServer, playhead_recorder: RunRecorder
):
    """The filter sees items of the Responses API, in which each of two parallel calls is a message; the model is asked
    by Chat Completions, in which both are one."""
    set_tracing_disabled(True)
    playhead.instrument("openai")
    server.otherwise(tool_calls(*(tool_call("look_up", {"order": order}) for order in ("A1", "A2"))))
    reports: list[CompressionReport] = []
    policy = Compression(
        limit=800, keep=Keep(share=0.3), strategy=LlmSummary(model=MockModel("The user asked.")), after=reports.append
    )
    client = openai.AsyncOpenAI(base_url=server.base_url, api_key="k")
    agent = Agent("support", model=OpenAIChatCompletionsModel("mock-model", client), tools=[look_up])
    shorter = input_filter(policy)
    items: Any = []
    try:
        with playhead.run("chat"):
            for turn in range(6):
                items = [*items, {"role": "user", "content": f"Where is order {turn}? {'please ' * 15}"}]
                config = RunConfig(call_model_input_filter=shorter)
                items = (await Runner.run(agent, items, hooks=shorter.hooks, run_config=config)).to_input_list()
    finally:
        playhead.uninstrument()
        await client.close()
    made = [event for event in playhead_recorder.last.events if isinstance(event, ContextCompressed)]
    assert [event.origin for event in made] == ["declared"] * sum(report.changed for report in reports)
    assert len(made) >= 2

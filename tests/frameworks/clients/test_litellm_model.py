"""`LiteLLMModel`: the protocol of models over LiteLLM, in an agent, recorded once."""

import asyncio
import os
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # else it asks the network when it is imported

import pytest

import playhead
from playhead.model.event import LlmCalled
from playhead.models import LiteLLMModel, RateLimited, failure_of
from playhead.testing import MockModelServer, Rule, RunRecorder, rate_limit, text, thinking, tool_call

AFTER_A_TOOL = Rule("after a tool", lambda request: request.messages[-1]["role"] == "tool")


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        server.when(AFTER_A_TOOL, thinking("It is two.") + text("2"))
        server.otherwise(tool_call("add", {"a": 1, "b": 1}))
        yield server
        playhead.uninstrument()


def model(server: MockModelServer) -> LiteLLMModel:
    return LiteLLMModel("openai/gpt-x", api_base=server.base_url, api_key="k", num_retries=0, max_retries=0)


def add(a: int, b: int) -> int:
    return a + b


@pytest.mark.parametrize("instrumented", [True, False], ids=["instrumented", "bare"])
@pytest.mark.parametrize("how", ["run_sync", "run", "run_stream"])
def test_an_agent_asks_through_litellm(
    how: str, instrumented: bool, server: MockModelServer, playhead_recorder: RunRecorder
):
    if instrumented:
        playhead.instrument("litellm", "openai")
    agent = playhead.Agent(name="adder", model=model(server), tools=[add])

    async def watched() -> Any:
        async with agent.run_stream("1 + 1?") as events:
            async for _ in events:
                pass
        return events.result

    if how == "run_sync":
        out = agent.run_sync("1 + 1?")
    else:
        out = asyncio.run(watched() if how == "run_stream" else agent.run("1 + 1?"))
    assert (out.response, out.turns, out.tool_calls[0].result) == ("2", 2, "2")
    run = playhead_recorder.last
    assert [event.turn for event in run.events if isinstance(event, LlmCalled)] == [1, 2]


def test_its_errors_are_told_apart(server: MockModelServer, playhead_recorder: RunRecorder):
    server.otherwise(rate_limit())
    with pytest.raises(Exception) as raised:
        playhead.LlmTask("t", model=model(server))("?")
    assert isinstance(failure_of(raised.value), RateLimited)

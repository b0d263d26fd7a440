"""Calls of `playhead.Agent` and `LlmTask` are in the record once, whether or not the model's client is instrumented,
whole or streamed, with the task and the turn on them."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import openai
import pytest

import playhead
from playhead.model.event import LlmCalled, LlmCompleted
from playhead.models import AnthropicModel, Model, OpenAIModel
from playhead.testing import MockModelServer, Rule, RunRecorder, thinking, tool_call
from playhead.testing import text as says

AFTER_A_TOOL = Rule("after a tool", lambda request: request.messages[-1]["role"] == "tool")


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        server.when(AFTER_A_TOOL, thinking("It is two.") + says("2"))
        server.otherwise(thinking("One and one.") + tool_call("add", {"a": 1, "b": 1}))
        yield server
        playhead.uninstrument()


def add(a: int, b: int) -> int:
    return a + b


def openai_model(server: MockModelServer) -> Model:
    return OpenAIModel("gpt-4o", client=openai.OpenAI(base_url=server.base_url, api_key="k"))


def anthropic_model(server: MockModelServer) -> Model:
    return AnthropicModel("claude-opus-4-6", client=anthropic.Anthropic(base_url=server.url, api_key="k"))


@pytest.mark.parametrize("make", [openai_model, anthropic_model])
@pytest.mark.parametrize("instrumented", [True, False], ids=["instrumented", "bare"])
@pytest.mark.parametrize("streamed", [False, True], ids=["whole", "streamed"])
def test_each_model_call_is_recorded_once(
    make: Callable[..., Model],
    instrumented: bool,
    streamed: bool,
    server: MockModelServer,
    playhead_recorder: RunRecorder,
):
    if instrumented:
        playhead.instrument("openai", "anthropic")
    agent = playhead.Agent(name="adder", model=make(server), tools=[add])

    async def watched() -> Any:
        async with agent.run_stream("1 + 1?") as events:
            async for _ in events:
                pass
        return events.result

    for _ in range(2):  # a model's class is known from its first call on
        out = asyncio.run(watched()) if streamed else agent.run_sync("1 + 1?")
        assert (out.response, out.turns) == ("2", 2)
        run = playhead_recorder.last
        begun = [event for event in run.events if isinstance(event, LlmCalled)]
        ended = [event for event in run.events if isinstance(event, LlmCompleted)]
        assert [event.turn for event in begun] == [1, 2]
        assert len(ended) == len(run.tool_calls) + 1 == 2
        assert [run.content(event.reasoning) for event in ended] == ["One and one.", "It is two."]
        assert all(event.usage.input_tokens for event in ended)


@pytest.mark.parametrize("instrumented", [True, False], ids=["instrumented", "bare"])
def test_a_tasks_call_carries_its_name(instrumented: bool, server: MockModelServer, playhead_recorder: RunRecorder):
    if instrumented:
        playhead.instrument("openai")
    server.otherwise(says("short"))
    playhead.LlmTask("shorten", model=openai_model(server))("a long text")
    [begun] = [event for event in playhead_recorder.last.events if isinstance(event, LlmCalled)]
    assert (begun.task, begun.turn) == ("shorten", None)

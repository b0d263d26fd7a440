"""Thoughts of models that frameworks ask: recorded with the call, and the framework has them again on resume."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead.model import names
from playhead.testing import MockModelServer, pytest_plugin, text, thinking, tool_call
from tests.support.journal_reader import Recording, start_recording

server = pytest_plugin.mock_model_server
covers = pytest.mark.covers
THOUGHT = "It says delayed."


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument()
        yield recording
        playhead.uninstrument()


def assert_thoughts_are_recorded_and_come_back(
    ask: Callable[[MockModelServer], Any], recording: Recording, server: MockModelServer
) -> Any:
    """What `ask` gives, live as from the record."""
    with playhead.run("r") as run:
        live = ask(server)
    [called] = recording.read().of_kind("llm")
    assert recording.read().value(called, names.REASONING_REF) == THOUGHT
    with playhead.resume(str(run.id), completed="rerun") as resumed, playhead.run("r"):
        assert ask(server) == live
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (1, 0, [])
    return live


@covers("strands", "reasoning")
def test_strands_has_a_thought_with_its_signature(recording: Recording, server: MockModelServer):
    from strands import Agent
    from strands.models.anthropic import AnthropicModel

    def ask(server: MockModelServer) -> Any:
        at = {"base_url": server.url, "api_key": "none", "max_retries": 0}
        asked = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
        model = AnthropicModel(client_args=at, model_id="m", max_tokens=2000, params=asked)
        agent = Agent(model=model, callback_handler=None)
        agent("where is A1?")
        return agent.messages[-1]["content"]

    server.otherwise(thinking(THOUGHT) + text("It is late."))
    thought, said = assert_thoughts_are_recorded_and_come_back(ask, recording, server)
    assert thought["reasoningContent"]["reasoningText"]["text"] == THOUGHT
    assert thought["reasoningContent"]["reasoningText"]["signature"]
    assert said == {"text": "It is late."}


@covers("autogen", "reasoning")
def test_autogen_tells_a_thought_before_the_answer(recording: Recording, server: MockModelServer):
    from autogen_agentchat.agents import AssistantAgent
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    def ask(server: MockModelServer) -> Any:
        model = OpenAIChatCompletionClient(model="gpt-4o-mini", base_url=server.base_url, api_key="none", max_retries=0)
        done = asyncio.run(AssistantAgent("clerk", model).run(task="where is A1?"))
        return [(each.type, each.content) for each in done.messages[1:]]

    server.otherwise(thinking(THOUGHT) + text("It is late."))
    said = assert_thoughts_are_recorded_and_come_back(ask, recording, server)
    assert said == [("ThoughtEvent", THOUGHT), ("TextMessage", "It is late.")]


@covers("llama-index", "reasoning")
def test_llama_index_has_a_thinking_block(recording: Recording, server: MockModelServer):
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.llms.openai import OpenAI

    async def answer(server: MockModelServer) -> Any:
        model = OpenAI("gpt-4o-mini", api_base=server.base_url, api_key="none", max_retries=0)
        done = await FunctionAgent(name="clerk", llm=model, streaming=False).run(user_msg="where is A1?")
        return [block.model_dump(mode="json") for block in done.response.blocks]

    server.otherwise(thinking(THOUGHT) + text("It is late."))
    said = assert_thoughts_are_recorded_and_come_back(lambda at: asyncio.run(answer(at)), recording, server)
    assert [(each["block_type"], each["content"]) for each in said[:1]] == [("thinking", THOUGHT)]


@covers("smolagents", "reasoning")
def test_the_record_has_the_thought_that_smolagents_drops(recording: Recording, server: MockModelServer):
    from smolagents import OpenAIModel, ToolCallingAgent

    def ask(server: MockModelServer) -> Any:
        model = OpenAIModel("m", api_base=server.base_url, api_key="none", client_kwargs={"max_retries": 0})
        return ToolCallingAgent(tools=[], model=model, verbosity_level=0).run("where is A1?")

    server.otherwise(thinking(THOUGHT) + tool_call("final_answer", {"answer": "It is late."}))
    assert assert_thoughts_are_recorded_and_come_back(ask, recording, server) == "It is late."

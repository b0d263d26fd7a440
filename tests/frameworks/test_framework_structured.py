"""Structured outputs of frameworks: a resumed run has the same object as the first, and asks no model."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import playhead
from playhead.testing import MockModelServer, pytest_plugin, text, tool_call, tool_result_received
from tests.support.journal_reader import Recording, start_recording

server = pytest_plugin.mock_model_server
covers = pytest.mark.covers
AS_TEXT = '{"order":"A1","status":"late"}'


class Order(BaseModel):
    """An order."""

    order: str
    status: str


A1 = Order(order="A1", status="late")


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    monkeypatch.setenv("GOOGLE_API_KEY", "none")
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument()
        yield recording
        playhead.uninstrument()


def live_and_resumed(ask: Callable[[], Any], server: MockModelServer) -> Any:
    """What `ask` gives, live as from the record."""
    with playhead.run("r") as run:
        live = ask()
    requests = len(server.requests)
    with playhead.resume(str(run.id), completed="rerun") as resumed, playhead.run("r"):
        assert ask() == live
    assert (len(server.requests), resumed.report.live, resumed.report.divergences) == (requests, 0, [])
    return live


@covers("litellm", "resume")
def test_litellm(server: MockModelServer):
    import litellm

    at: Any = {"model": "openai/m", "api_base": server.base_url, "api_key": "none", "response_format": Order}

    def ask() -> Any:
        return litellm.completion(messages=[{"role": "user", "content": "?"}], **at).choices[0].message.content

    server.otherwise(text(AS_TEXT))
    assert Order.model_validate_json(live_and_resumed(ask, server)) == A1


@covers("autogen", "resume")
def test_autogen(server: MockModelServer):
    from autogen_agentchat.agents import AssistantAgent
    from autogen_ext.models.openai import OpenAIChatCompletionClient

    async def ask() -> Any:
        at: Any = {"base_url": server.base_url, "api_key": "none", "max_retries": 0}
        client = OpenAIChatCompletionClient(model="gpt-4o-mini", **at)
        result = await AssistantAgent("clerk", model_client=client, output_content_type=Order).run(task="?")
        await client.close()
        return result.messages[-1].content

    server.otherwise(text(AS_TEXT))
    assert live_and_resumed(lambda: asyncio.run(ask()), server) == A1


@covers("llama-index", "resume")
def test_llama_index(server: MockModelServer):
    from llama_index.core.agent.workflow import FunctionAgent
    from llama_index.llms.openai import OpenAI

    async def ask() -> Any:
        model = OpenAI(model="gpt-4o-mini", api_base=server.base_url, api_key="none", max_retries=0)
        agent = FunctionAgent(name="clerk", tools=[], llm=model, output_cls=Order, streaming=False)
        return (await agent.run("?")).get_pydantic_model(Order)

    server.otherwise(text(AS_TEXT))
    assert live_and_resumed(lambda: asyncio.run(ask()), server) == A1


@covers("google-adk", "resume")
def test_google_adk_with_tools(server: MockModelServer):
    """The agent keeps the output in its session's state."""
    from tests.frameworks.test_google_adk import agent, ask, look_up

    def structured() -> Any:
        return ask(agent(server, tools=[look_up], output_schema=Order, output_key="kept"))[1]

    server.when(~tool_result_received("look_up"), tool_call("look_up", {"order": "A1"}))
    server.when(~tool_result_received("set_model_response"), tool_call("set_model_response", A1.model_dump()))
    server.otherwise(text(AS_TEXT))
    assert live_and_resumed(structured, server) == {"kept": A1.model_dump()}

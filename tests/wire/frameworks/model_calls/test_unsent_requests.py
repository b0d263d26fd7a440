"""`context?exact=true` of a framework's model: the body that an instrumented client inside sent, else a refusal."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from agents import Agent, ModelResponse, RunConfig, Runner, Usage
from agents.models.interface import Model
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_openai import ChatOpenAI
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

import playhead
from playhead.client import Client
from playhead.testing import MockModelServer, pytest_plugin, text
from playhead_collector.process import CollectorProcess

server = pytest_plugin.mock_model_server


def post(url: str, content: str) -> str:
    """Sends a body that only this library builds, as the clients of local models do."""
    body = {"model": "small", "stream": False, "format": None, "messages": [{"role": "user", "content": content}]}
    with httpx.Client(trust_env=False, timeout=60) as http:
        answer = http.post(f"{url}/chat/completions", json=body).json()
    return answer["choices"][0]["message"]["content"]


class LocalChat(BaseChatModel):
    """A chat model of LangChain on a client that nobody instruments."""

    url: str

    @property
    def _llm_type(self) -> str:
        return "local"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        said = post(self.url, str(messages[-1].content))
        return ChatResult(generations=[ChatGeneration(message=AIMessage(said))])


class LocalModel(Model):
    """The same for OpenAI Agents."""

    def __init__(self, url: str) -> None:
        self.url = url

    async def get_response(self, *args: Any, **kwargs: Any) -> ModelResponse:
        said = await asyncio.to_thread(post, self.url, "hello")
        part = ResponseOutputText(type="output_text", text=said, annotations=[])
        message = ResponseOutputMessage(
            id="msg_1", type="message", role="assistant", status="completed", content=[part]
        )
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


@pytest.fixture
def client(collector: CollectorProcess, tmp_path: Path) -> Iterator[Client]:
    with Client(collector.url) as client:
        playhead.shutdown()
        playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "journal", record="always")
        playhead.instrument("openai", "langchain_core", "agents")
        yield client
        playhead.shutdown()
        playhead.uninstrument()


def ask_langchain(url: str) -> None:
    LocalChat(url=url).invoke("hello")


def ask_agents(url: str) -> None:
    agent = Agent(name="clerk", model=LocalModel(url))
    asyncio.run(Runner.run(agent, "hello", run_config=RunConfig(tracing_disabled=True)))


@pytest.mark.parametrize("ask", [ask_langchain, ask_agents], ids=lambda ask: ask.__name__)
def test_a_body_that_was_not_seen_is_not_made_up(client: Client, server: MockModelServer, ask: Any):
    server.otherwise(text("fine"))
    with playhead.run("agent") as run:
        ask(server.base_url)
    assert playhead.flush(60)
    assert run.id is not None
    [call] = client.llm_calls(run.id)
    with pytest.raises(playhead.PlayheadError, match="its library sent was not seen.*ask without exact=true"):
        client.context(run.id, at=call["seq"], exact=True)
    [message] = client.context(run.id, at=call["seq"])["messages"]
    assert message == {"role": "user", "parts": [{"type": "text", "content": "hello"}]}


def test_a_body_that_a_client_inside_sent_is_given_back(client: Client, server: MockModelServer):
    server.otherwise(text("fine"))
    options: Any = {"base_url": server.base_url, "api_key": "none"}
    with playhead.run("agent") as run:
        ChatOpenAI(model="m", **options).invoke("hello")
    assert playhead.flush(60)
    assert run.id is not None
    [call] = client.llm_calls(run.id)
    assert client.context(run.id, at=call["seq"], exact=True).get("request") == server.requests[0].body

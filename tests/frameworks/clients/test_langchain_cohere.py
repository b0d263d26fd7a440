"""LangChain's ChatCohere, above an older `cohere` than that of tests/clients: recorded by the client, exactly."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_cohere import ChatCohere
from langchain_core.messages import HumanMessage
from langchain_core.tools import tool

from playhead.client import Client
from playhead.testing import (
    MockModelServer,
    contains,
    pytest_plugin,
    text,
    thinking,
    tool_call,
    tool_result_received,
)
from playhead_collector.process import CollectorProcess
from tests.clients.observed import LONG, assert_exact, delivered_to, rewound

server = pytest_plugin.mock_model_server
MODEL = "command-a-reasoning"


@tool
def look_up(city: str) -> str:
    """Looks up the weather of a city."""
    return f"sunny in {city}"


@pytest.fixture(autouse=True)
def reader(collector: CollectorProcess, tmp_path: Path) -> Iterator[Client]:
    with delivered_to(collector, tmp_path, "langchain_core", "cohere") as reader:
        yield reader


@pytest.fixture
def model(server: MockModelServer) -> ChatCohere:
    weather = contains("weather", role="user") & ~tool_result_received()
    server.when(weather, text("I look.") + tool_call("look_up", {"city": "Rome"}))
    server.otherwise(thinking("One must think about it.") + text(LONG))
    return ChatCohere(model=MODEL, base_url=server.url, cohere_api_key="none")


def ask(model: Any) -> list[Any]:
    async def later() -> list[Any]:
        return [await model.ainvoke("later"), *[chunk async for chunk in model.astream("later streamed")]]

    called = model.bind_tools([look_up]).invoke([HumanMessage("the weather?")])
    assert [call["args"] for call in called.tool_calls] == [{"city": "Rome"}]
    answers = [called, *model.stream("hello"), *asyncio.run(later())]
    return [(type(answer), answer.content, getattr(answer, "tool_calls", None)) for answer in answers]


@pytest.mark.covers("cohere", "messages", "streaming")
def test_its_requests_are_given_back_as_they_were_sent(reader: Client, server: MockModelServer, model: ChatCohere):
    assert_exact(reader, server, lambda: ask(model), at_least=4)


@pytest.mark.covers("cohere", "resume", "streaming")
def test_its_answers_come_from_the_record(server: MockModelServer, model: ChatCohere):
    live, replayed = rewound(server, lambda: ask(model))
    assert replayed == live

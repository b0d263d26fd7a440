"""LangChain's `ChatGroq` above the real `groq` client: each request is one call, with the body that was sent."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langchain_groq import ChatGroq

import playhead
from playhead.local.client import JournalClient
from playhead.model import names
from playhead.testing import (
    MockModelServer,
    contains,
    pytest_plugin,
    text,
    thinking,
    tool_call,
    tool_result_received,
)
from tests.support.journal_reader import Recording, start_recording

server = pytest_plugin.mock_model_server
looked_up: list[str] = []


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    looked_up.clear()
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument()
        yield recording
        playhead.uninstrument()


@tool
def look_up(city: str) -> str:
    """Says how the weather is in a city."""
    looked_up.append(city)
    return f"sunny in {city}"


def agent(server: MockModelServer) -> list[Any]:
    """Asks with a tool, plain, streamed and asynchronously; returns what the model said."""
    model = ChatGroq(model="m", base_url=server.url, api_key="none", max_retries=0, temperature=0.5)
    messages: list[Any] = [SystemMessage("be kind"), HumanMessage("How is the weather?")]
    with_tool = model.bind_tools([look_up])
    answer: Any = with_tool.invoke(messages)
    [call] = answer.tool_calls
    messages += [answer, ToolMessage(look_up.invoke(call["args"]), tool_call_id=call["id"])]
    said: list[Any] = [answer, with_tool.invoke(messages), *model.stream("hello")]

    async def ask_later() -> list[Any]:
        return [await model.ainvoke("hello"), *[chunk async for chunk in model.astream(messages)]]

    return said + asyncio.run(ask_later())


def test_the_client_s_calls_are_exact_and_are_given_back(server: MockModelServer, recording: Recording):
    asks = tool_call("look_up", {"city": "Rome"}, call_id="t1")
    server.when(contains("weather") & ~tool_result_received("look_up"), asks)
    server.otherwise(thinking("so") + text("It is sunny, and it will be."))
    with playhead.run("r") as run:
        live = agent(server)
    spans = [span for span in recording.read().spans if span.attributes[names.KIND] == "llm"]
    assert [span.attributes[names.PROVIDER] for span in spans] == ["groq"] * 5
    with JournalClient(recording.folder, pytest.fail) as client:
        calls = [*client.llm_calls(run.id or "")]
        told = [client.context(run.id or "", at=call["seq"], exact=True).get("request") for call in calls]
    assert [*map(as_text, told)] == [as_text(request.body) for request in server.requests]
    asked = len(server.requests)
    with playhead.resume(run.id or "", completed="rerun") as resumed, playhead.run("r"):
        replayed = agent(server)
    assert (len(server.requests), looked_up, resumed.report.live) == (asked, ["Rome"], 0)
    assert [essence(message) for message in replayed] == [essence(message) for message in live]
    assert isinstance(live[1], AIMessage)


def essence(message: Any) -> Any:
    """All of a message but the id that LangChain makes for each object, also of one answer."""
    return {**message.model_dump(), "id": None}


def as_text(value: Any) -> str:
    """Tells 1, 1.0 and true apart, and a key that is null from one that is not there."""
    return json.dumps(value, sort_keys=True, indent=1)

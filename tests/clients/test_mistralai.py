"""Mistral's client: recorded once, exactly, given back as its own objects."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from mistralai.client import Mistral, errors
from mistralai.client.models import UserMessage
from mistralai.client.utils import BackoffStrategy, RetryConfig
from pydantic import BaseModel

import playhead
from playhead import observe
from playhead.client import Client
from playhead.model import names
from playhead.testing import (
    MockModelServer,
    contains,
    dropped_connection,
    pytest_plugin,
    rate_limit,
    server_error,
    text,
    thinking,
    tool_call,
    tool_calls,
    tool_result_received,
)
from playhead_collector.process import CollectorProcess
from tests.clients.observed import LONG, assert_exact, awaited, delivered_to, rewound
from tests.support.journal_reader import Recording, start_recording

server = pytest_plugin.mock_model_server
MODEL = "magistral-small"
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
WEATHER: list[Any] = [{"role": "system", "content": "Be brief."}, UserMessage(content="the weather?")]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string", "default": None}}}
TOOLS: Any = [{"type": "function", "function": {"name": "look_up", "parameters": PARAMETERS}}]
covers = pytest.mark.covers


@observe(kind="tool")
def look_up(city: str) -> str:
    return f"sunny in {city}"


class Number(BaseModel):
    n: int


@pytest.fixture(autouse=True)
def answers(server: MockModelServer) -> None:
    server.when(contains("fail"), rate_limit(0))
    server.when(contains("break"), dropped_connection(text(LONG), after_chunks=2))
    server.when(contains("number"), text('{"n": 7}'))
    asked = tool_calls(tool_call("look_up", {"city": "Rome"}), tool_call("look_up", {"city": "Bern"}))
    server.when(contains("weather", role="user") & ~tool_result_received(), asked)
    server.otherwise(thinking("One must think about it.") + text(LONG))


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("mistralai.client")
        yield recording
        playhead.uninstrument("mistralai.client")


@pytest.fixture
def reader(collector: CollectorProcess, tmp_path: Path) -> Iterator[Client]:
    with delivered_to(collector, tmp_path, "mistralai.client") as reader:
        yield reader


@pytest.fixture
def client(server: MockModelServer) -> Iterator[Mistral]:
    with Mistral(api_key="none", server_url=f"{server.url}/mistral") as client:
        yield client


def agent(client: Mistral, **options: Any) -> list[Any]:
    """Asks, looks up what is asked for, and asks again, with the client's own objects in the history."""
    history = [*WEATHER]
    answer = client.chat.complete(model=MODEL, messages=history, tools=TOOLS, **options)
    message: Any = answer.choices[0].message
    history.append(message)
    for called in message.tool_calls or ():
        arguments = called.function.arguments
        city = "Rome" if "Rome" in str(arguments) else "Bern"
        history.append({"role": "tool", "tool_call_id": called.id, "name": "look_up", "content": look_up(city)})
    return [answer, client.chat.complete(model=MODEL, messages=history, tools=TOOLS, **options)]


def streams(client: Mistral) -> list[Any]:
    with client.chat.stream(model=MODEL, messages=HELLO) as stream:
        chunks = [*stream]
    chunks += client.chat.stream(model=MODEL, messages=WEATHER, tools=TOOLS)
    return chunks


async def later(url: str) -> list[Any]:
    async with Mistral(api_key="none", server_url=f"{url}/mistral") as client:
        answer = await client.chat.complete_async(model=MODEL, messages=HELLO, temperature=0.5, n=2)
        chunks = [chunk async for chunk in await client.chat.stream_async(model=MODEL, messages=WEATHER, tools=TOOLS)]
        agents = await client.agents.complete_async(agent_id="a1", messages=HELLO)
        return [answer, *chunks, agents, await client.embeddings.create_async(model=MODEL, inputs=["a", "b"])]


# --- what is recorded -------------------------------------------------------------------------------------------------


@covers("mistralai", "spans", "messages", "tools", "usage")
def test_a_call_is_recorded_with_what_it_asked_and_said(recording: Recording, client: Mistral):
    agent(client, temperature=0.5, max_tokens=100, random_seed=7)
    journaled = recording.read()
    first, second = journaled.of_kind("llm")
    assert first.attributes[names.PROVIDER] == "mistral_ai"
    assert first.attributes[names.REQUEST_TEMPERATURE] == 0.5
    assert first.attributes[names.REQUEST_MAX_TOKENS] == 100
    assert first.attributes[names.REQUEST_SEED] == 7
    assert first.attributes[names.FINISH_REASONS] == ["tool_calls"]
    assert second.attributes[names.INPUT_TOKENS] > first.attributes[names.INPUT_TOKENS] > 0
    assert second.attributes[names.OUTPUT_TOKENS] > 0
    [said] = journaled.messages(first.attributes[names.OUTPUT_MESSAGES_REF])
    asked = journaled.messages(second.attributes[names.INPUT_MESSAGES_REF])
    assert asked[2] == said
    assert [message["role"] for message in asked] == ["system", "user", "assistant", "tool", "tool"]
    ids = [part["id"] for part in said["parts"] if part["type"] == "tool_call"]
    assert [span.attributes[names.TOOL_CALL_ID] for span in journaled.of_kind("tool")] == ids
    assert journaled.value(first, names.TOOL_DEFINITIONS_REF) is not None


@covers("mistralai", "reasoning", "streaming", "usage")
@pytest.mark.parametrize("streamed", [False, True])
def test_thinking_is_recorded_where_it_stands(recording: Recording, client: Mistral, streamed: bool):
    ask = client.chat.stream if streamed else client.chat.complete
    result = ask(model=MODEL, messages=HELLO)
    assert not streamed or [*result]  # type: ignore[misc]
    journaled = recording.read()
    [span] = journaled.of_kind("llm")
    assert journaled.value(span, names.REASONING_REF) == "One must think about it."
    [said] = journaled.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
    assert [(part["type"], part["content"]) for part in said["parts"]] == [
        ("reasoning", "One must think about it."),
        ("text", LONG),
    ]
    assert span.attributes[names.OUTPUT_TOKENS] > 0


@covers("mistralai", "streaming")
def test_a_stream_that_is_left_early_ends_its_call(recording: Recording, client: Mistral):
    with client.chat.stream(model=MODEL, messages=HELLO) as stream:
        next(stream)
    assert recording.read().call(MODEL).attributes[names.OUTCOME] == "aborted"


@covers("mistralai", "errors")
def test_errors_are_the_clients_own_and_come_again(recording: Recording, server: MockModelServer, client: Mistral):
    def program() -> list[Any]:
        raised: list[Any] = []
        for message, streamed in (("fail", False), ("fail", True), ("break", True)):
            messages: list[Any] = [{"role": "user", "content": message}]
            try:
                if streamed:
                    raised.append([*client.chat.stream(model=MODEL, messages=messages)])
                else:
                    raised.append(client.chat.complete(model=MODEL, messages=messages))
            except Exception as error:  # noqa: BLE001 - whichever comes
                raised.append((type(error), str(error), getattr(error, "status_code", None)))
        return raised

    live, replayed = rewound(server, program)
    assert replayed == live
    assert live[0][0] is live[1][0] is errors.SDKError
    assert live[0][2] == 429
    assert [span.status for span in recording.read().calls(MODEL)[:3]] == [2, 2, 2]


@covers("mistralai", "errors", "spans")
def test_retries_of_the_client_are_one_call(recording: Recording, server: MockModelServer):
    server.when(contains("again"), server_error(503), times=2)
    backoff = RetryConfig("backoff", BackoffStrategy(1, 2, 1.0, 180_000), retry_connection_errors=True)
    with Mistral(api_key="none", server_url=f"{server.url}/mistral", retry_config=backoff) as client:
        client.chat.complete(model=MODEL, messages=[{"role": "user", "content": "again"}])
    assert len(server.requests) == 3
    assert len(recording.read().calls(MODEL)) == 1


@covers("mistralai", "spans")
def test_embeddings_are_recorded(recording: Recording, server: MockModelServer, client: Mistral):
    live, replayed = rewound(server, lambda: client.embeddings.create(model=MODEL, inputs=["a", "b"]))
    assert replayed == live
    assert type(replayed) is type(live)
    [span] = recording.read().of_kind("embedding")[:1]
    assert recording.read().value(span, names.INPUT_REF) == ["a", "b"]
    assert "$f32" in str(recording.read().value(span, names.RESPONSE_REF))
    assert span.attributes[names.INPUT_TOKENS] > 0


# --- what is given back -----------------------------------------------------------------------------------------------


@covers("mistralai", "resume", "tools", "streaming")
@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize("kind", ["plain", "streamed", "asynchronous"])
def test_the_clients_own_objects_come_from_the_record(server: MockModelServer, client: Mistral, kind: str):
    programs: dict[str, Callable[[], Any]] = {
        "plain": lambda: agent(client),
        "streamed": lambda: streams(client),
        "asynchronous": awaited(lambda: later(server.url)),
    }
    live, replayed = rewound(server, programs[kind])
    assert [*map(type, replayed)] == [*map(type, live)]
    assert [each.model_dump() for each in replayed] == [each.model_dump() for each in live]


@covers("mistralai", "resume")
@pytest.mark.usefixtures("recording")
def test_a_parsed_answer_is_parsed_again(server: MockModelServer, client: Mistral):
    def program() -> Any:
        messages: list[Any] = [{"role": "user", "content": "a number?"}]
        answer: Any = client.chat.parse(Number, model=MODEL, messages=messages)
        return answer.choices[0].message.parsed

    live, replayed = rewound(server, program)
    assert replayed == live == Number(n=7)


@covers("mistralai", "resume")
@pytest.mark.usefixtures("recording")
def test_a_run_that_broke_off_goes_on_live(server: MockModelServer, client: Mistral):
    with suppress(ZeroDivisionError), playhead.run("r") as run:
        client.chat.complete(model=MODEL, messages=HELLO)
        raise ZeroDivisionError
    assert run.id is not None
    with playhead.resume(run.id) as resumed, playhead.run("r"):
        client.chat.complete(model=MODEL, messages=HELLO)
        client.chat.complete(model=MODEL, messages=[*HELLO, *HELLO])
    assert resumed.report.live == 1
    assert len(server.requests) == 2


@covers("mistralai", "fork")
@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_and_a_question_can_be_edited(server: MockModelServer, client: Mistral, streamed: bool):
    def program() -> Any:
        if not streamed:
            return client.chat.complete(model=MODEL, messages=HELLO).choices[0].message.content  # type: ignore[union-attr]
        said: list[Any] = [event.data.choices[0].delta for event in client.chat.stream(model=MODEL, messages=HELLO)]
        return "".join(delta.content for delta in said if isinstance(delta.content, str))

    with playhead.run("r") as run:
        program()
    assert run.id is not None
    with playhead.fork(run.id, at="chat", outcome={"message": "Goodbye."}), playhead.run("r"):
        assert program() == "Goodbye."
    with playhead.fork(run.id, at="chat", outcome={"messages": {"0": "Good evening."}}), playhead.run("r"):
        assert program()
    assert server.requests[-1].messages[-1]["content"] == "Good evening."


# --- the bytes --------------------------------------------------------------------------------------------------------


@covers("mistralai", "messages")
def test_requests_are_given_back_as_they_were_sent(reader: Client, server: MockModelServer, client: Mistral):
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}], "closed": True}
    function = {"name": "f", "arguments": {"b": 1.0, "a": None}}
    history: list[Any] = [
        {"role": "user", "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": "data:x"}]},
        {"role": "assistant", "content": [thought, {"type": "text", "text": "Well."}], "prefix": False},
        {"role": "assistant", "content": "", "tool_calls": [{"id": "c1", "function": function}]},
        {"role": "tool", "content": "", "name": "f", "tool_call_id": "c1"},
    ]

    def program() -> None:
        agent(client, temperature=1, stop=["a"], parallel_tool_calls=False)
        streams(client)
        for upto in range(1, len(history) + 1):
            client.chat.complete(model=MODEL, messages=history[:upto], tools=None, tool_choice="any", max_tokens=None)
        client.chat.parse(Number, model=MODEL, messages=[{"role": "user", "content": "a number?"}])
        asyncio.run(later(server.url))

    assert_exact(reader, server, program, at_least=10)


@covers("mistralai", "messages", "streaming", "resume")
def test_langchains_model_is_recorded_exactly_and_resumed(reader: Client, server: MockModelServer):
    """It has an HTTP client of its own, and none of Mistral's."""
    from langchain_core.messages import HumanMessage
    from langchain_mistralai import ChatMistralAI

    playhead.instrument("langchain_core")
    model: Any = ChatMistralAI(model=MODEL, base_url=f"{server.url}/mistral/v1", api_key="none")

    async def ask_later() -> None:
        await model.ainvoke("later")
        assert [chunk async for chunk in model.astream("later streamed")]

    def program() -> None:
        answer = model.bind_tools(TOOLS).invoke([HumanMessage("the weather?")])
        assert [call["name"] for call in answer.tool_calls] == ["look_up", "look_up"]
        assert [*model.stream("hello")]
        asyncio.run(ask_later())

    def answers() -> list[Any]:
        called = model.bind_tools(TOOLS).invoke([HumanMessage("the weather?")])
        return [called.tool_calls, *[chunk.content for chunk in model.stream("hello")]]

    try:
        assert_exact(reader, server, program, at_least=4)
        live, replayed = rewound(server, answers)
        assert replayed == live
    finally:
        playhead.uninstrument("langchain_core")

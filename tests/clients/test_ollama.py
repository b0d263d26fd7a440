"""Ollama's client: recorded once, exactly, given back as its own objects."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import ollama
import pytest

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
    text,
    thinking,
    tool_call,
    tool_calls,
    tool_result_received,
)
from playhead_collector.process import CollectorProcess
from tests.clients.observed import LONG, as_text, assert_exact, awaited, delivered_to, rewound
from tests.support.journal_reader import Recording, start_recording

server = pytest_plugin.mock_model_server
MODEL = "qwen3"
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
WEATHER: list[Any] = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "the weather?"}]
covers = pytest.mark.covers


@observe(kind="tool")
def look_up(city: str) -> str:
    """Looks up the weather.

    Args:
        city: where
    """
    return f"sunny in {city}"


@pytest.fixture(autouse=True)
def answers(server: MockModelServer) -> None:
    server.when(contains("fail"), rate_limit(0))
    server.when(contains("break"), dropped_connection(text(LONG), after_chunks=2))
    asked = tool_calls(tool_call("look_up", {"city": "Rome"}), tool_call("look_up", {"z": 1, "city": "Bern"}))
    server.when(contains("weather", role="user") & ~tool_result_received(), thinking("I look.") + asked)
    server.otherwise(thinking("One must think about it.") + text(LONG))


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("ollama")
        yield recording
        playhead.uninstrument("ollama")


@pytest.fixture
def reader(collector: CollectorProcess, tmp_path: Path) -> Iterator[Client]:
    with delivered_to(collector, tmp_path, "ollama") as reader:
        yield reader


@pytest.fixture
def client(server: MockModelServer) -> Iterator[ollama.Client]:
    with ollama.Client(server.url) as client:
        yield client


def agent(client: ollama.Client, **options: Any) -> list[Any]:
    """Asks, looks up what is asked for, and asks again, with the client's own objects in the history."""
    history = [*WEATHER]
    answer = client.chat(MODEL, history, tools=[look_up], think=True, **options)
    history.append(answer.message)
    for called in answer.message.tool_calls or ():
        result = look_up(called.function.arguments["city"])
        history.append({"role": "tool", "tool_name": called.function.name, "content": result})
    return [answer, client.chat(MODEL, history, tools=[look_up], think=True, **options)]


async def agent_async(url: str) -> list[Any]:
    async with ollama.AsyncClient(url) as client:
        answer = await client.chat(MODEL, HELLO, think="high", format="json", keep_alive="5m")
        streamed = [chunk async for chunk in await client.chat(MODEL, WEATHER, tools=[look_up], stream=True)]
        text = await client.generate(MODEL, "complete", system="Be brief.", suffix="the end")
        texts = [chunk async for chunk in await client.generate(MODEL, "complete", stream=True)]
        return [answer, *streamed, text, *texts, await client.embed(MODEL, ["a", "b"])]


def streams(client: ollama.Client) -> list[Any]:
    chunks = [*client.chat(MODEL, HELLO, stream=True, think=True)]
    chunks += client.chat(MODEL, WEATHER, tools=[look_up], stream=True, think=True)
    return [*chunks, *client.generate(MODEL, "complete", think=True, stream=True)]


# --- what is recorded -------------------------------------------------------------------------------------------------


@covers("ollama", "spans", "messages", "tools", "usage", "reasoning")
def test_a_call_is_recorded_with_what_it_asked_and_said(recording: Recording, client: ollama.Client):
    agent(client, options={"temperature": 0.5, "num_predict": 100})
    first, second = recording.read().calls(MODEL)
    assert first.attributes["gen_ai.provider.name"] == "ollama"
    assert first.attributes["gen_ai.request.temperature"] == 0.5
    assert first.attributes["gen_ai.request.max_tokens"] == 100
    assert first.attributes["gen_ai.response.finish_reasons"] == ["tool_calls"]
    assert second.attributes["gen_ai.usage.input_tokens"] > first.attributes["gen_ai.usage.input_tokens"] > 0
    assert second.attributes["gen_ai.usage.output_tokens"] > 0
    journaled = recording.read()
    output = journaled.messages(first.attributes[names.OUTPUT_MESSAGES_REF])
    assert [part["type"] for part in output[0]["parts"]] == ["reasoning", "tool_call", "tool_call"]
    assert output[0]["parts"][2]["arguments"] == {"z": 1, "city": "Bern"}
    asked = journaled.messages(second.attributes[names.INPUT_MESSAGES_REF])
    assert asked[2] == output[0]
    assert [message["role"] for message in asked] == ["system", "user", "assistant", "tool", "tool"]
    assert journaled.value(first, names.REASONING_REF) == "I look."


@covers("ollama", "streaming", "usage", "reasoning")
def test_a_stream_is_recorded_as_one_answer(recording: Recording, client: ollama.Client):
    streams(client)
    talk, weather, written = recording.read().calls(MODEL)
    journaled = recording.read()
    said = [journaled.messages(span.attributes[names.OUTPUT_MESSAGES_REF])[0]["parts"] for span in (talk, written)]
    assert [[part["content"] for part in parts] for parts in said] == [["One must think about it.", LONG]] * 2
    assert weather.attributes["gen_ai.response.finish_reasons"] == ["tool_calls"]
    assert {span.attributes["gen_ai.request.stream"] for span in (talk, weather, written)} == {True}
    assert talk.attributes["gen_ai.usage.output_tokens"] > 0


@covers("ollama", "streaming")
def test_a_stream_that_is_left_early_ends_its_call(recording: Recording, client: ollama.Client):
    for _ in client.chat(MODEL, HELLO, stream=True):
        break
    assert recording.read().call(MODEL).attributes[names.OUTCOME] == "aborted"


@covers("ollama", "errors")
def test_errors_are_the_clients_own_and_come_again(
    recording: Recording, server: MockModelServer, client: ollama.Client
):
    def program() -> list[Any]:
        raised: list[Any] = []
        for message, streamed in (("fail", False), ("fail", True), ("break", True)):
            try:
                answer = client.chat(MODEL, [{"role": "user", "content": message}], stream=streamed)
                raised.append([chunk.message.content for chunk in answer] if streamed else answer)
            except (ollama.ResponseError, httpx.HTTPError) as error:
                raised.append((type(error), str(error), getattr(error, "status_code", None)))
        return raised

    live, replayed = rewound(server, program)
    assert replayed == live
    assert live[0][0] is live[1][0] is ollama.ResponseError
    assert live[0][2] == 429
    assert all(span.status == 2 for span in recording.read().calls(MODEL)[:3])


@covers("ollama", "spans")
def test_embeddings_are_recorded(recording: Recording, server: MockModelServer, client: ollama.Client):
    live, replayed = rewound(server, lambda: [client.embed(MODEL, ["a", "b"]), client.embeddings(MODEL, "a")])
    assert replayed == live
    assert [*map(type, replayed)] == [ollama.EmbedResponse, ollama.EmbeddingsResponse]
    span = recording.read().of_kind("embedding")[0]
    assert recording.read().value(span, names.INPUT_REF) == ["a", "b"]
    assert "$f32" in str(recording.read().value(span, names.RESPONSE_REF))


# --- what is given back -----------------------------------------------------------------------------------------------


@covers("ollama", "resume", "tools", "streaming")
@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize("kind", ["plain", "streamed", "asynchronous"])
def test_the_clients_own_objects_come_from_the_record(server: MockModelServer, client: ollama.Client, kind: str):
    programs: dict[str, Callable[[], Any]] = {
        "plain": lambda: [*agent(client), client.generate(MODEL, "complete", think=True)],
        "streamed": lambda: streams(client),
        "asynchronous": awaited(lambda: agent_async(server.url)),
    }
    live, replayed = rewound(server, programs[kind])
    assert [*map(type, replayed)] == [*map(type, live)]
    # The order of a call's arguments, too.
    assert [each.model_dump_json() for each in replayed] == [each.model_dump_json() for each in live]


@covers("ollama", "resume")
@pytest.mark.usefixtures("recording")
def test_a_run_that_broke_off_goes_on_live(server: MockModelServer, client: ollama.Client):
    with suppress(ZeroDivisionError), playhead.run("r") as run:
        client.chat(MODEL, HELLO)
        raise ZeroDivisionError
    assert run.id is not None
    with playhead.resume(run.id) as resumed, playhead.run("r"):
        client.chat(MODEL, HELLO)
        client.chat(MODEL, [*HELLO, {"role": "user", "content": "and?"}])
    assert resumed.report.live == 1
    assert len(server.requests) == 2


@covers("ollama", "fork")
@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_and_a_question_can_be_edited(server: MockModelServer, client: ollama.Client, streamed: bool):
    def program() -> str:
        if streamed:
            return "".join(chunk.message.content or "" for chunk in client.chat(MODEL, HELLO, stream=True))
        return client.chat(MODEL, HELLO).message.content or ""

    with playhead.run("r") as run:
        program()
    assert run.id is not None
    with playhead.fork(run.id, at="chat", outcome={"message": "Goodbye."}), playhead.run("r"):
        assert program() == "Goodbye."
    with playhead.fork(run.id, at="chat", outcome={"messages": {"0": "Good evening."}}), playhead.run("r"):
        assert program() == LONG
    assert server.requests[-1].messages[-1]["content"] == "Good evening."


# --- the bytes --------------------------------------------------------------------------------------------------------


@covers("ollama", "messages")
def test_requests_are_given_back_as_they_were_sent(reader: Client, server: MockModelServer, client: ollama.Client):
    image = "iVBORw0KGgo="
    history = [
        {"role": "user", "content": "look", "images": [image]},
        ollama.Message(role="assistant", content="", thinking="Hm.", tool_calls=[]),
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": {"b": 1.0, "a": None}}}]},
        {"role": "tool", "content": "", "tool_name": "f"},
    ]

    def program() -> None:
        agent(client, options={"temperature": 1, "stop": ["a"]})
        streams(client)
        for upto in range(1, len(history) + 1):
            client.chat(MODEL, history[:upto], logprobs=False, format={"type": "object", "default": None})
        client.generate(MODEL, "complete", images=[image], raw=True, context=[1, 2], options={"top_p": 1.0})
        client.generate(MODEL, system="Nothing is asked.")
        asyncio.run(agent_async(server.url))

    assert_exact(reader, server, program, at_least=14)


@covers("ollama", "messages", "streaming", "resume")
def test_langchains_model_above_it_is_recorded_exactly_and_resumed(reader: Client, server: MockModelServer):
    from langchain_core.messages import HumanMessage
    from langchain_ollama import ChatOllama

    playhead.instrument("langchain_core")
    model = ChatOllama(model=MODEL, base_url=server.url, reasoning=True)

    async def later() -> None:
        await model.ainvoke("later")
        assert [chunk async for chunk in model.astream("later streamed")]

    def program() -> None:
        tools = model.bind_tools([look_up])
        answer = tools.invoke([HumanMessage("the weather?")])
        assert [call["name"] for call in answer.tool_calls] == ["look_up", "look_up"]
        assert [*model.stream("hello")]
        asyncio.run(later())

    def answers() -> list[Any]:
        called = model.bind_tools([look_up]).invoke([HumanMessage("the weather?")])
        names_of = [call["name"] for call in called.tool_calls]
        return [names_of, *[(chunk.content, chunk.additional_kwargs) for chunk in model.stream("hello")]]

    try:
        assert_exact(reader, server, program, at_least=4)
        live, replayed = rewound(server, answers)
        assert replayed == live
    finally:
        playhead.uninstrument("langchain_core")


def test_calls_cost_the_program_nothing_when_it_is_switched_off(client: ollama.Client):
    before = as_text(client.chat(MODEL, HELLO).model_dump(exclude={"created_at"}))
    playhead.instrument("ollama")
    playhead.uninstrument("ollama")
    assert as_text(client.chat(MODEL, HELLO).model_dump(exclude={"created_at"})) == before

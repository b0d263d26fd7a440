"""Cohere's client: recorded once, exactly, given back as its own objects."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import cohere
import pytest
from cohere.core.api_error import ApiError

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
MODEL = "command-a-reasoning"
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
WEATHER: list[Any] = [
    cohere.SystemChatMessageV2(content="Be brief."),
    cohere.UserChatMessageV2(content="the weather?"),
]
PARAMETERS = {"type": "object", "properties": {"city": {"type": "string", "default": None}}}
TOOLS: Any = [{"type": "function", "function": {"name": "look_up", "parameters": PARAMETERS}}]
covers = pytest.mark.covers


@observe(kind="tool")
def look_up(city: str) -> str:
    return f"sunny in {city}"


@pytest.fixture(autouse=True)
def answers(server: MockModelServer) -> None:
    server.when(contains("fail"), rate_limit(0))
    server.when(contains("break"), dropped_connection(text(LONG), after_chunks=4))
    asked = text("I look.") + tool_calls(tool_call("look_up", {"city": "Rome"}), tool_call("look_up", {"city": "Bern"}))
    server.when(contains("weather", role="user") & ~tool_result_received(), asked)
    server.otherwise(thinking("One must think about it.") + text(LONG))


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("cohere")
        yield recording
        playhead.uninstrument("cohere")


@pytest.fixture
def reader(collector: CollectorProcess, tmp_path: Path) -> Iterator[Client]:
    with delivered_to(collector, tmp_path, "cohere") as reader:
        yield reader


@pytest.fixture
def client(server: MockModelServer) -> Iterator[cohere.ClientV2]:
    playhead.instrument("cohere")  # the client keeps its methods when it is made
    with cohere.ClientV2("none", base_url=server.url, max_retries=0) as client:
        yield client


def agent(client: cohere.ClientV2, **options: Any) -> list[Any]:
    """Asks, looks up what is asked for, and asks again, with the client's own objects in the history."""
    history = [*WEATHER]
    answer = client.chat(model=MODEL, messages=history, tools=TOOLS, **options)
    history.append(answer.message)
    for called in answer.message.tool_calls or ():
        city = "Rome" if "Rome" in str(called.function) else "Bern"
        document: Any = {"type": "document", "document": {"data": {"weather": look_up(city)}}}
        history.append({"role": "tool", "tool_call_id": called.id, "content": [document]})
    return [answer, client.chat(model=MODEL, messages=history, tools=TOOLS, **options)]


def streams(client: cohere.ClientV2) -> list[Any]:
    chunks = [*client.chat_stream(model=MODEL, messages=HELLO)]
    chunks += client.chat_stream(model=MODEL, messages=WEATHER, tools=TOOLS)
    return chunks


async def later(url: str) -> list[Any]:
    async with cohere.AsyncClientV2("none", base_url=url) as client:
        answer = await client.chat(model=MODEL, messages=HELLO, temperature=0.5, thinking={"type": "enabled"})  # type: ignore[arg-type]
        chunks = [chunk async for chunk in client.chat_stream(model=MODEL, messages=WEATHER, tools=TOOLS)]
        vectors = await client.embed(
            model=MODEL, texts=["a", "b"], input_type="search_query", embedding_types=["float", "int8"]
        )
        return [answer, *chunks, vectors]


# --- what is recorded -------------------------------------------------------------------------------------------------


@covers("cohere", "spans", "messages", "tools", "usage", "reasoning")
def test_a_call_is_recorded_with_what_it_asked_and_said(recording: Recording, client: cohere.ClientV2):
    agent(client, temperature=0.5, max_tokens=100, seed=7)
    journaled = recording.read()
    first, second = journaled.of_kind("llm")
    assert first.attributes[names.PROVIDER] == "cohere"
    assert first.attributes[names.REQUEST_TEMPERATURE] == 0.5
    assert first.attributes[names.REQUEST_MAX_TOKENS] == 100
    assert first.attributes[names.REQUEST_SEED] == 7
    assert first.attributes[names.FINISH_REASONS] == ["tool_calls"]
    assert second.attributes[names.INPUT_TOKENS] > first.attributes[names.INPUT_TOKENS] > 0
    assert second.attributes[names.OUTPUT_TOKENS] > 0
    assert journaled.value(first, names.REASONING_REF) == "I look."
    assert journaled.value(second, names.REASONING_REF) == "One must think about it."
    [said] = journaled.messages(first.attributes[names.OUTPUT_MESSAGES_REF])
    asked = journaled.messages(second.attributes[names.INPUT_MESSAGES_REF])
    assert asked[2] == said
    assert [message["role"] for message in asked] == ["system", "user", "assistant", "tool", "tool"]
    ids = [part["id"] for part in said["parts"] if part["type"] == "tool_call"]
    assert [span.attributes[names.TOOL_CALL_ID] for span in journaled.of_kind("tool")] == ids
    assert journaled.value(first, names.TOOL_DEFINITIONS_REF) == TOOLS


@covers("cohere", "streaming", "reasoning", "usage", "tools")
def test_a_stream_is_recorded_as_one_answer(recording: Recording, client: cohere.ClientV2):
    streams(client)
    journaled = recording.read()
    talk, weather = journaled.of_kind("llm")
    [said] = journaled.messages(talk.attributes[names.OUTPUT_MESSAGES_REF])
    assert [(part["type"], part["content"]) for part in said["parts"]] == [
        ("reasoning", "One must think about it."),
        ("text", LONG),
    ]
    [called] = journaled.messages(weather.attributes[names.OUTPUT_MESSAGES_REF])
    assert [part["arguments"] for part in called["parts"]] == [{"city": "Rome"}, {"city": "Bern"}]
    assert journaled.value(weather, names.REASONING_REF) == "I look."
    assert talk.attributes[names.OUTPUT_TOKENS] > 0
    assert talk.attributes[names.REQUEST_STREAM] is True
    assert talk.attributes[names.TIME_TO_FIRST_CHUNK] > 0


@covers("cohere", "streaming")
def test_a_stream_that_is_left_early_ends_its_call(recording: Recording, client: cohere.ClientV2):
    for _ in client.chat_stream(model=MODEL, messages=HELLO):
        break
    assert recording.read().call(MODEL).attributes[names.OUTCOME] == "aborted"


@covers("cohere", "errors")
def test_errors_are_the_clients_own_and_come_again(
    recording: Recording, server: MockModelServer, client: cohere.ClientV2
):
    def program() -> list[Any]:
        raised: list[Any] = []
        for message, streamed in (("fail", False), ("fail", True), ("break", True)):
            messages: list[Any] = [{"role": "user", "content": message}]
            try:
                if streamed:
                    raised.append([*client.chat_stream(model=MODEL, messages=messages)])
                else:
                    raised.append(client.chat(model=MODEL, messages=messages))
            except Exception as error:  # noqa: BLE001 - whichever comes
                raised.append((type(error), getattr(error, "status_code", None), getattr(error, "body", None)))
        return raised

    live, replayed = rewound(server, program)
    assert replayed == live
    assert live[0][0] is live[1][0] is cohere.TooManyRequestsError
    assert issubclass(live[0][0], ApiError)
    assert live[0][1] == 429
    assert [span.status for span in recording.read().calls(MODEL)[:3]] == [2, 2, 2]


@covers("cohere", "errors", "spans")
def test_retries_of_the_client_are_one_call(recording: Recording, server: MockModelServer):
    server.when(contains("again"), rate_limit(0), times=1)
    with cohere.ClientV2("none", base_url=server.url, max_retries=2) as client:
        client.chat(model=MODEL, messages=[{"role": "user", "content": "again"}])  # type: ignore[list-item]
    assert len(server.requests) == 2
    assert len(recording.read().calls(MODEL)) == 1


@covers("cohere", "spans")
def test_embeddings_are_recorded(recording: Recording, server: MockModelServer, client: cohere.ClientV2):
    def program() -> Any:
        return client.embed(model=MODEL, texts=["a", "b"], input_type="search_query", embedding_types=["float", "int8"])

    live, replayed = rewound(server, program)
    assert replayed == live
    assert type(replayed) is type(live)
    assert replayed.embeddings.float == live.embeddings.float
    span = recording.read().of_kind("embedding")[0]
    assert recording.read().value(span, names.INPUT_REF) == ["a", "b"]
    assert "$f32" in str(recording.read().value(span, names.RESPONSE_REF))
    assert span.attributes[names.INPUT_TOKENS] > 0


# --- what is given back -----------------------------------------------------------------------------------------------


@covers("cohere", "resume", "tools", "streaming")
@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize("kind", ["plain", "streamed", "asynchronous", "raw"])
def test_the_clients_own_objects_come_from_the_record(server: MockModelServer, client: cohere.ClientV2, kind: str):
    programs: dict[str, Callable[[], Any]] = {
        "plain": lambda: agent(client),
        "streamed": lambda: streams(client),
        "asynchronous": awaited(lambda: later(server.url)),
        "raw": lambda: [client.with_raw_response.chat(model=MODEL, messages=HELLO).data],
    }
    live, replayed = rewound(server, programs[kind])
    assert [*map(type, replayed)] == [*map(type, live)]
    assert [each.dict() for each in replayed] == [each.dict() for each in live]


@covers("cohere", "resume")
@pytest.mark.usefixtures("recording")
def test_a_run_that_broke_off_goes_on_live(server: MockModelServer, client: cohere.ClientV2):
    with suppress(ZeroDivisionError), playhead.run("r") as run:
        client.chat(model=MODEL, messages=HELLO)
        raise ZeroDivisionError
    assert run.id is not None
    with playhead.resume(run.id) as resumed, playhead.run("r"):
        client.chat(model=MODEL, messages=HELLO)
        client.chat(model=MODEL, messages=[*HELLO, *HELLO])
    assert resumed.report.live == 1
    assert len(server.requests) == 2


@covers("cohere", "fork")
@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_and_a_question_can_be_edited(server: MockModelServer, client: cohere.ClientV2, streamed: bool):
    def program() -> Any:
        if not streamed:
            return client.chat(model=MODEL, messages=HELLO).message.content[-1].text  # type: ignore[index, union-attr]
        events: list[Any] = [*client.chat_stream(model=MODEL, messages=HELLO)]
        return "".join(each.delta.message.content.text or "" for each in events if each.type == "content-delta")

    with playhead.run("r") as run:
        program()
    assert run.id is not None
    with playhead.fork(run.id, at="chat", outcome={"message": "Goodbye."}), playhead.run("r"):
        assert program() == "Goodbye."
    with playhead.fork(run.id, at="chat", outcome={"messages": {"0": "Good evening."}}), playhead.run("r"):
        assert program() == LONG
    assert server.requests[-1].messages[-1]["content"] == "Good evening."


# --- the bytes --------------------------------------------------------------------------------------------------------


@covers("cohere", "messages")
def test_requests_are_given_back_as_they_were_sent(reader: Client, server: MockModelServer, client: cohere.ClientV2):
    thought = {"type": "thinking", "thinking": "Hm."}
    function = {"name": "f", "arguments": '{"b": 1.0,  "a": null}'}
    history: list[Any] = [
        {
            "role": "user",
            "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "x"}}],
        },
        {"role": "assistant", "content": [thought, {"type": "text", "text": "Well."}]},
        {"role": "assistant", "tool_plan": "", "tool_calls": [{"id": "c1", "type": "function", "function": function}]},
        {"role": "tool", "content": "", "tool_call_id": "c1"},
    ]

    def program() -> None:
        agent(client, temperature=1, stop_sequences=["a"], strict_tools=False)
        streams(client)
        for upto in range(1, len(history) + 1):
            client.chat(model=MODEL, messages=history[:upto], documents=["a", {"data": {"b": "c"}}], seed=None)
        client.chat(model=MODEL, messages=HELLO, request_options={"additional_body_parameters": {"x": None, "y": 1}})
        asyncio.run(later(server.url))

    assert_exact(reader, server, program, at_least=11)


@covers("cohere", "errors")
def test_a_server_that_fails_is_an_error_of_the_client(recording: Recording, server: MockModelServer):
    server.when(contains("down"), server_error(500))
    with cohere.ClientV2("none", base_url=server.url, max_retries=0) as client, pytest.raises(ApiError):
        client.chat(model=MODEL, messages=[{"role": "user", "content": "down"}])  # type: ignore[list-item]
    assert recording.read().call(MODEL).status == 2

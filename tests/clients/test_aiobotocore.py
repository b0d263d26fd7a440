"""Bedrock through aiobotocore: recorded once, exactly, given back in the client's own forms."""

import asyncio
import base64
import gc
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from aiobotocore.config import AioConfig
from aiobotocore.session import get_session
from botocore.exceptions import ClientError, EventStreamError

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
    sequence,
    text,
    thinking,
    tool_call,
    tool_result_received,
)
from playhead_collector.process import CollectorProcess
from tests.clients.observed import LONG, delivered_to, rewound
from tests.support.journal_reader import Recording, start_recording

server = pytest_plugin.mock_model_server
MODEL = "us.anthropic.claude-sonnet-4-20250514-v1"
TOOLS: Any = {"tools": [{"toolSpec": {"name": "look_up", "inputSchema": {"json": {"type": "object"}}}}]}
THINK = {"thinking": {"type": "enabled", "budget_tokens": 1024}}
covers = pytest.mark.covers
Program = Callable[[Any], Awaitable[Any]]


@observe(kind="tool")
def look_up(city: str) -> str:
    return f"sunny in {city}"


@pytest.fixture(autouse=True)
def answers(server: MockModelServer) -> None:
    server.when(contains("fail"), rate_limit(0))
    server.when(contains("break"), dropped_connection(text(LONG), after_chunks=3))
    weather = contains("weather", role="user") & ~tool_result_received()
    server.when(weather, thinking("I look.") + tool_call("look_up", {"city": "Rome"}))
    server.otherwise(thinking("One must think about it.") + text(LONG))


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("aiobotocore", "botocore")
        yield recording
        playhead.uninstrument("aiobotocore", "botocore")


@pytest.fixture
def reader(collector: CollectorProcess, tmp_path: Path) -> Iterator[Client]:
    with delivered_to(collector, tmp_path, "aiobotocore", "botocore") as reader:
        yield reader


def ask(server: MockModelServer, program: Program, *, retries: int = 0, **config: Any) -> Callable[[], Any]:
    """The program, with a client of its own, as a plain function."""

    async def main() -> Any:
        settings = AioConfig(retries={"max_attempts": retries, "mode": "standard"}, proxies={}, **config)
        made = get_session().create_client(
            "bedrock-runtime",
            region_name="us-east-1",
            endpoint_url=server.url,
            aws_access_key_id="AKIDEXAMPLE",
            aws_secret_access_key="none",
            config=settings,
        )
        async with made as client:
            return await program(client)

    return lambda: asyncio.run(main())


def said(message: str) -> list[Any]:
    return [{"role": "user", "content": [{"text": message}]}]


def body_of(message: str) -> str:
    fields = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 100, "system": "Be brief."}
    return json.dumps({**fields, "messages": [{"role": "user", "content": message}]})


async def agent(client: Any) -> list[Any]:
    history = said("the weather?")
    answer = (await client.converse(modelId=MODEL, messages=history, toolConfig=TOOLS))["output"]["message"]
    [use] = [block["toolUse"] for block in answer["content"] if "toolUse" in block]
    result = {"toolUseId": use["toolUseId"], "content": [{"text": look_up(**use["input"])}]}
    history += [answer, {"role": "user", "content": [{"toolResult": result}]}]
    last = await client.converse(modelId=MODEL, messages=history, toolConfig=TOOLS, additionalModelRequestFields=THINK)
    return [answer, last["output"], last["usage"]]


async def streams(client: Any) -> list[Any]:
    talk = await client.converse_stream(modelId=MODEL, messages=said("hello"), inferenceConfig={"maxTokens": 100})
    weather = await client.converse_stream(modelId=MODEL, messages=said("the weather?"), toolConfig=TOOLS)
    return [[event async for event in answer["stream"]] for answer in (talk, weather)]


async def invoked(client: Any) -> list[Any]:
    whole = await client.invoke_model(modelId=MODEL, body=body_of("hello"))
    async with (await client.invoke_model(modelId=MODEL, body=body_of("in pieces")))["body"] as body:
        pieces = [piece async for piece in body.iter_chunks(50)]
    streamed = await client.invoke_model_with_response_stream(modelId=MODEL, body=body_of("streamed"))
    events = [event async for event in streamed["body"]]
    vectors = await client.invoke_model(modelId="amazon.titan-embed-text-v2", body=json.dumps({"inputText": "a"}))
    return [await whole["body"].read(), pieces, events, json.loads(await vectors["body"].read())]


# --- what is recorded -------------------------------------------------------------------------------------------------


@covers("aiobotocore", "spans", "messages", "tools", "usage", "reasoning")
def test_a_call_is_recorded_with_what_it_asked_and_said(recording: Recording, server: MockModelServer):
    ask(server, agent)()
    journaled = recording.read()
    first, second = journaled.calls(MODEL)
    assert first.attributes[names.PROVIDER] == "aws.bedrock"
    assert first.attributes[names.FINISH_REASONS] == ["tool_calls"]
    assert second.attributes[names.INPUT_TOKENS] > first.attributes[names.INPUT_TOKENS] > 0
    assert second.attributes[names.OUTPUT_TOKENS] > 0
    assert first.attributes[names.RESPONSE_ID]
    assert journaled.value(second, names.REASONING_REF) == "One must think about it."
    [output] = journaled.messages(first.attributes[names.OUTPUT_MESSAGES_REF])
    [ran] = journaled.of_kind("tool")
    assert ran.attributes[names.TOOL_CALL_ID] == output["parts"][-1]["id"]


@covers("aiobotocore", "streaming", "usage", "reasoning")
def test_streams_are_recorded_as_one_answer_each(recording: Recording, server: MockModelServer):
    ask(server, streams)()
    journaled = recording.read()
    talk, weather = journaled.calls(MODEL)
    [output] = journaled.messages(talk.attributes[names.OUTPUT_MESSAGES_REF])
    assert output["parts"][-1]["content"] == LONG
    assert weather.attributes[names.FINISH_REASONS] == ["tool_calls"]
    assert talk.attributes[names.REQUEST_STREAM] is True
    assert talk.attributes[names.OUTPUT_TOKENS] > 0
    assert talk.attributes[names.TIME_TO_FIRST_CHUNK] > 0


@covers("aiobotocore", "messages", "usage", "streaming")
def test_bodies_are_recorded_however_they_are_read(recording: Recording, server: MockModelServer):
    ask(server, invoked)()
    journaled = recording.read()
    calls = journaled.calls(MODEL)
    assert len(calls) == 3
    for span in calls:
        [output] = journaled.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
        assert output["parts"][-1]["content"] == LONG
        assert span.attributes[names.OUTPUT_TOKENS] > 0
    assert len(journaled.of_kind("embedding")) == 1


@covers("aiobotocore", "messages")
def test_bodies_are_recorded_with_httpx_beneath_too(recording: Recording, server: MockModelServer):
    """The client's event streams cannot be read with it."""
    httpx_session = pytest.importorskip("aiobotocore.httpxsession").HttpxSession

    async def program(client: Any) -> None:
        whole = await client.invoke_model(modelId=MODEL, body=body_of("hello"))
        assert LONG in (await whole["body"].read()).decode()
        pieces = (await client.invoke_model(modelId=MODEL, body=body_of("in pieces")))["body"]
        assert LONG in b"".join([piece async for piece in pieces.iter_chunks(50)]).decode()

    ask(server, program, http_session_cls=httpx_session)()
    journaled = recording.read()
    for span in journaled.calls(MODEL):
        [output] = journaled.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
        assert output["parts"][-1]["content"] == LONG
    assert len(journaled.calls(MODEL)) == 2


@covers("aiobotocore", "streaming")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_streams_that_are_left_early_end_their_calls(recording: Recording, server: MockModelServer):
    async def leave(client: Any) -> None:
        closed = (await client.converse_stream(modelId=MODEL, messages=said("hello")))["stream"]
        async for _ in closed:
            break
        closed.close()
        body = (await client.invoke_model(modelId=MODEL, body=body_of("hello")))["body"]
        await body.read(10)
        body.close()

    ask(server, leave)()
    gc.collect()
    assert [span.attributes[names.OUTCOME] for span in recording.read().calls(MODEL)] == ["aborted", "aborted"]


@covers("aiobotocore", "errors")
def test_errors_are_the_clients_own_and_come_again(recording: Recording, server: MockModelServer):
    async def program(client: Any) -> list[Any]:
        raised: list[Any] = []
        for message in ("fail", "break"):
            try:
                answer = await client.converse_stream(modelId=MODEL, messages=said(message))
                raised.append([event async for event in answer["stream"]])
            except ClientError as error:
                raised.append((isinstance(error, client.exceptions.ThrottlingException), error.response["Error"]))
            except (EventStreamError, OSError) as error:
                raised.append((type(error), str(error)))
            except Exception as error:  # noqa: BLE001 - of the HTTP library
                raised.append((type(error), str(error)))
        return raised

    live, replayed = rewound(server, ask(server, program))
    assert replayed == live
    assert live[0][0] is True
    assert [span.status for span in recording.read().calls(MODEL)[:2]] == [2, 2]


@covers("aiobotocore", "errors", "spans")
def test_retries_of_the_client_are_one_call(recording: Recording, server: MockModelServer):
    server.when(contains("again") & sequence(1), rate_limit(0))

    async def program(client: Any) -> None:
        await client.converse(modelId=MODEL, messages=said("again"))

    ask(server, program, retries=2)()
    assert len(recording.read().calls(MODEL)) == 1


# --- what is given back -----------------------------------------------------------------------------------------------


@covers("aiobotocore", "resume", "tools", "streaming")
@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize("program", [agent, streams, invoked], ids=lambda program: program.__name__)
def test_answers_come_from_the_record(server: MockModelServer, program: Program):
    live, replayed = rewound(server, ask(server, program))
    assert replayed == live


@covers("aiobotocore", "resume")
@pytest.mark.usefixtures("recording")
def test_a_run_that_broke_off_goes_on_live(server: MockModelServer):
    async def first(client: Any) -> None:
        await client.converse(modelId=MODEL, messages=said("hello"))
        raise ZeroDivisionError

    async def whole(client: Any) -> None:
        await client.converse(modelId=MODEL, messages=said("hello"))
        await client.converse(modelId=MODEL, messages=said("and?"))

    with suppress(ZeroDivisionError), playhead.run("r") as run:
        ask(server, first)()
    assert run.id is not None
    with playhead.resume(run.id) as resumed, playhead.run("r"):
        ask(server, whole)()
    assert resumed.report.live == 1
    assert len(server.requests) == 2


@covers("aiobotocore", "fork")
@pytest.mark.usefixtures("recording")
@pytest.mark.parametrize("streamed", [False, True])
def test_an_answer_and_a_question_can_be_edited(server: MockModelServer, streamed: bool):
    async def program(client: Any) -> str:
        if not streamed:
            answer = await client.converse(modelId=MODEL, messages=said("hello"))
            return answer["output"]["message"]["content"][-1]["text"]
        answer = await client.converse_stream(modelId=MODEL, messages=said("hello"))
        deltas = [event.get("contentBlockDelta", {}).get("delta", {}) async for event in answer["stream"]]
        return "".join(delta.get("text", "") for delta in deltas)

    with playhead.run("r") as run:
        ask(server, program)()
    assert run.id is not None
    with playhead.fork(run.id, at="chat", outcome="Goodbye."), playhead.run("r"):
        assert ask(server, program)() == "Goodbye."
    with playhead.fork(run.id, at="chat", outcome={"messages": {"0": "Good evening."}}), playhead.run("r"):
        assert ask(server, program)() == LONG
    assert server.requests[-1].messages[-1]["content"] == "Good evening."


# --- the bytes --------------------------------------------------------------------------------------------------------


@covers("aiobotocore", "messages")
def test_requests_are_given_back_as_they_were_sent(reader: Client, server: MockModelServer):
    image = {"image": {"format": "png", "source": {"bytes": base64.b64decode("/+/+8fL+8w==")}}}

    async def program(client: Any) -> None:
        await agent(client)
        await streams(client)
        await invoked(client)
        system = [{"text": "be kind"}, {"cachePoint": {"type": "default"}}]
        content = [{"role": "user", "content": [{"text": "what?"}, image]}]
        await client.converse(modelId=MODEL, messages=content, system=system, toolConfig=TOOLS)

    with playhead.run("exact") as run:
        ask(server, program)()
    assert playhead.flush(60)
    assert run.id is not None
    told = [reader.context(run.id, at=call["seq"], exact=True).get("request") for call in reader.llm_calls(run.id)]
    sent = [request.body for request in server.requests if not request.is_embedding]
    for rebuilt, body in zip(sorted(map(canonical, told)), sorted(map(canonical, sent)), strict=True):
        assert rebuilt == body
    assert len(told) == 8


def canonical(body: Any) -> str:
    return json.dumps(body, sort_keys=True, indent=1)

"""The real `huggingface_hub` client over loopback: recorded, and answered again from the record."""

import asyncio
import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from huggingface_hub import (
    AsyncInferenceClient,
    ChatCompletionOutput,
    ChatCompletionStreamOutput,
    InferenceClient,
    TextGenerationOutput,
    TextGenerationStreamOutput,
)
from huggingface_hub.errors import HfHubHTTPError
from huggingface_hub.inference._providers import PROVIDERS

import playhead
from playhead.model import names
from playhead.model.span import STATUS_ERROR
from playhead.testing import MockModelServer, contains, dropped_connection, pytest_plugin, rate_limit, text
from tests.clients.recorded_chat import (
    HELLO,
    HISTORY,
    SAID,
    TOOLS,
    again,
    assert_streamed_as_whole,
    calls,
    exact_requests,
    looked_up,
    recording_of,
    script,
    sent_requests,
    weather,
)
from tests.support.journal_reader import Recording

server = pytest_plugin.mock_model_server


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from recording_of("huggingface_hub", tmp_path, monkeypatch)


@pytest.fixture
def client(server: MockModelServer) -> Iterator[InferenceClient]:
    with InferenceClient(base_url=server.url, api_key="none") as client:
        yield client


def later(server: MockModelServer) -> AsyncInferenceClient:
    return AsyncInferenceClient(base_url=server.url, api_key="none")


def text_model(server: MockModelServer) -> str:
    return f"{server.url}/models/gpt"


def embedding_model(server: MockModelServer) -> str:
    return f"{server.url}/models/bge/pipeline/feature-extraction"


@pytest.mark.covers("huggingface_hub", "spans", "messages", "tools", "usage", "reasoning")
def test_a_call_is_recorded(client: InferenceClient, server: MockModelServer, recording: Recording):
    server.otherwise(SAID)
    answer = client.chat_completion(HELLO, model="m", temperature=0.5, top_p=0.9, max_tokens=50, seed=7, tools=TOOLS)
    seen, [span] = calls(recording)
    said = span.attributes
    assert (said[names.PROVIDER], said[names.OPERATION], said[names.REQUEST_MODEL]) == ("huggingface", "chat", "m")
    assert (said[names.REQUEST_TEMPERATURE], said[names.REQUEST_TOP_P]) == (0.5, 0.9)
    assert (said[names.REQUEST_MAX_TOKENS], said[names.REQUEST_SEED]) == (50, 7)
    assert said[names.FINISH_REASONS] == ["tool_calls"]
    assert (said[names.RESPONSE_ID], said[names.RESPONSE_MODEL]) == (answer.id, "m")
    assert said[names.INPUT_TOKENS] == answer.usage.prompt_tokens > 0
    assert said[names.OUTPUT_TOKENS] == answer.usage.completion_tokens > 0
    assert [message["role"] for message in seen.messages(said[names.INPUT_MESSAGES_REF])] == ["system", "user"]
    [output] = seen.messages(said[names.OUTPUT_MESSAGES_REF])
    assert [part["type"] for part in output["parts"]] == ["text", "tool_call"]
    assert seen.value(span, names.REASONING_REF) == "look it up"
    assert seen.value(span, names.TOOL_DEFINITIONS_REF) == TOOLS


@pytest.mark.covers("huggingface_hub", "tools")
def test_a_tool_has_the_id_of_the_model_s_request(
    client: InferenceClient, server: MockModelServer, recording: Recording
):
    script(server)
    weather(lambda messages: client.chat_completion(messages, tools=TOOLS).choices[0].message)
    seen, [first, second] = calls(recording)
    assert seen.call("look_up").attributes[names.TOOL_CALL_ID] == "t1"
    [answer] = seen.messages(first.attributes[names.OUTPUT_MESSAGES_REF])
    assert seen.messages(second.attributes[names.INPUT_MESSAGES_REF])[1]["parts"][-1] == answer["parts"][-1]


@pytest.mark.covers("huggingface_hub", "streaming")
def test_streams_are_recorded_however_they_end(client: InferenceClient, server: MockModelServer, recording: Recording):
    server.otherwise(SAID)
    client.chat_completion(HELLO)
    assert len([*client.chat_completion(HELLO, stream=True)]) > 3
    left: Any = client.chat_completion(HELLO, stream=True)
    next(left)
    left.close()
    dropped: Any = client.chat_completion(HELLO, stream=True)
    next(dropped)
    del dropped
    gc.collect()

    async def leave() -> None:
        async with later(server) as asynchronous:
            stream: Any = await asynchronous.chat_completion(HELLO, stream=True)
            await anext(stream)
            await stream.aclose()

    asyncio.run(leave())
    _, [whole, streamed, *others] = calls(recording)
    assert_streamed_as_whole(whole, streamed)
    assert [span.attributes[names.OUTCOME] for span in others] == ["aborted"] * 3


@pytest.mark.covers("huggingface_hub", "errors")
def test_errors_are_the_client_s(client: InferenceClient, server: MockModelServer, recording: Recording):
    server.when(contains("fail"), rate_limit(0))
    server.when(contains("broken"), dropped_connection(text("one two three four five six"), after_chunks=2))

    def program() -> list[Any]:
        said: list[Any] = []
        for words, more in (("fail", {}), ("broken", {"stream": True})):
            try:
                said += client.chat_completion([{"role": "user", "content": words}], **more)
            except Exception as error:  # noqa: BLE001 - which one it is, is compared
                said.append((type(error), error.args, getattr(error, "server_message", None)))
        return said

    live, replayed = again(server, program)
    assert replayed == live
    assert issubclass(live[0][0], HfHubHTTPError)
    assert len(live) > 2
    _, [failed, broken] = calls(recording)[0], calls(recording)[1][:2]
    assert (failed.status, broken.status) == (STATUS_ERROR, STATUS_ERROR)
    assert names.OUTPUT_MESSAGES_REF in broken.attributes


@pytest.mark.covers("huggingface_hub", "resume")
def test_the_record_gives_the_client_s_own_objects(client: InferenceClient, server: MockModelServer):
    script(server)

    def program() -> list[Any]:
        said = weather(lambda messages: client.chat_completion(messages, tools=TOOLS).choices[0].message)
        said.append(client.chat_completion(messages=HELLO, model="m"))
        said += client.chat.completions.create(HELLO, stream=True, stream_options={"include_usage": True})
        return said + asyncio.run(ask_later())

    async def ask_later() -> list[Any]:
        async with later(server) as asynchronous:
            whole = await asynchronous.chat_completion(HELLO)
            stream = await asynchronous.chat.completions.create(HELLO, stream=True)
            return [whole, *[chunk async for chunk in stream]]

    live, replayed = again(server, program)
    assert [*map(type, replayed)] == [*map(type, live)]
    assert {ChatCompletionOutput, ChatCompletionStreamOutput} <= {*map(type, replayed)}
    assert replayed == live
    assert [vars(value) for value in replayed if hasattr(value, "__dict__")] == [
        vars(value) for value in live if hasattr(value, "__dict__")
    ]
    assert [*map(json.dumps, replayed)] == [*map(json.dumps, live)]
    assert looked_up == ["Rome"]


@pytest.mark.covers("huggingface_hub", "fork")
def test_a_fork_answers_or_asks_otherwise(client: InferenceClient, server: MockModelServer):
    server.otherwise(text("as it was"))

    def program() -> list[Any]:
        said: list[Any] = [client.chat_completion(HELLO).choices[0].message.content]
        stream = client.chat_completion(HELLO, stream=True)
        said.append("".join(chunk.choices[0].delta.content or "" for chunk in stream))
        said.append(client.text_generation("hello", model=text_model(server)))
        return said

    with playhead.run("r") as run:
        assert program() == ["as it was"] * 3
    for place, at in enumerate(("chat#1", "chat#2", "text_completion")):
        with playhead.fork(run.id or "", at=at, outcome="Otherwise."), playhead.run("r"):
            assert [*enumerate(program())][place] == (place, "Otherwise.")
    asked = len(server.requests)
    with playhead.fork(run.id or "", at="chat#2", outcome={"system": "be terse"}), playhead.run("r"):
        program()
    assert server.requests[asked].body["messages"] == [{"role": "system", "content": "be terse"}, HELLO[1]]


@pytest.mark.covers("huggingface_hub", "messages", "streaming")
def test_the_exact_request_is_what_was_sent(client: InferenceClient, server: MockModelServer, recording: Recording):
    server.otherwise(text("see"))

    async def ask_later() -> None:
        async with later(server) as asynchronous:
            await asyncio.gather(*(asynchronous.chat_completion(HISTORY[:upto], tools=TOOLS) for upto in (2, 4, 6)))
            async for _ in await asynchronous.chat_completion(HISTORY, stream=True):
                pass

    schema: Any = {"type": "json_schema", "json_schema": {"name": "n", "schema": {"type": "object"}}}
    with playhead.run("r"):
        for upto in range(1, len(HISTORY) + 1):
            client.chat_completion(HISTORY[:upto], tools=TOOLS, model="m")
        messages: list[Any] = [*HELLO]
        messages.append(client.chat_completion(messages).choices[0].message)
        # This client sends another form of it for some providers.
        client.chat_completion(messages, response_format=schema, stop=["x"], extra_body={"top_k": 5, "x": None})
        for _ in client.chat_completion(HISTORY, stream=True, stream_options={"include_usage": True}):
            pass
        client.text_generation("Once", model=text_model(server), max_new_tokens=5, details=True)
        for _ in client.text_generation("Once", model=text_model(server), stream=True):
            pass
        asyncio.run(ask_later())
    told = exact_requests(recording)
    assert len(told) == 15
    assert told == sent_requests(server)


@pytest.mark.covers("huggingface_hub", "messages")
def test_the_exact_request_is_that_for_the_provider_behind(
    server: MockModelServer, recording: Recording, monkeypatch: pytest.MonkeyPatch
):
    """The client leaves nulls out of messages for most providers, as here, and not for those of an address."""
    server.otherwise(text("see"))
    monkeypatch.setattr(PROVIDERS["openai"]["conversational"], "base_url", server.url)
    with InferenceClient(provider="openai", api_key="none") as client:
        client.chat_completion(HISTORY, model="gpt-x", tools=TOOLS)
    assert exact_requests(recording) == sent_requests(server)
    assert "content" not in server.requests[0].body["messages"][2]


@pytest.mark.covers("huggingface_hub", "spans", "streaming", "resume", "usage")
def test_generated_text_is_recorded_and_given_back(
    client: InferenceClient, server: MockModelServer, recording: Recording
):
    server.otherwise(text("and so it goes on and on"))
    model = text_model(server)

    async def ask_later() -> list[Any]:
        async with later(server) as asynchronous:
            whole = await asynchronous.text_generation("Once", model=model)
            return [
                whole,
                *[text async for text in await asynchronous.text_generation("Once", model=model, stream=True)],
            ]

    def program() -> list[Any]:
        said: list[Any] = [client.text_generation("Once", model=model)]
        said.append(client.text_generation("Once", model=model, details=True))
        said += client.text_generation("Once", model=model, stream=True)
        said += client.text_generation("Once", model=model, stream=True, details=True)
        return said + asyncio.run(ask_later())

    live, replayed = again(server, program)
    assert replayed == live
    assert [*map(type, replayed)] == [*map(type, live)]
    assert {str, TextGenerationOutput, TextGenerationStreamOutput} == {*map(type, replayed)}
    seen, spans = calls(recording)
    outputs = [seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF]) for span in spans]
    assert outputs == [outputs[0]] * len(outputs)
    assert outputs[0][0]["parts"] == [{"type": "text", "content": "and so it goes on and on"}]
    assert spans[1].attributes[names.OUTPUT_TOKENS] > 0
    assert spans[3].attributes[names.INPUT_TOKENS] > 0


@pytest.mark.covers("huggingface_hub", "spans", "resume")
def test_embeddings_are_recorded_and_given_back(client: InferenceClient, server: MockModelServer, recording: Recording):
    model = embedding_model(server)

    async def ask_later() -> Any:
        async with later(server) as asynchronous:
            return await asynchronous.feature_extraction("c", model=model)

    def program() -> list[Any]:
        return [client.feature_extraction(["a", "b"], model=model, normalize=True), asyncio.run(ask_later())]

    live, replayed = again(server, program)
    assert [(array.dtype, array.shape) for array in replayed] == [
        (np.dtype("float32"), (2, 16)),
        (np.dtype("float32"), (1, 16)),
    ]
    for one, other in zip(live, replayed, strict=True):
        np.testing.assert_array_equal(one, other)
    seen, spans = calls(recording, "embedding")
    assert [seen.value(span, names.INPUT_REF) for span in spans] == [["a", "b"], "c"]
    assert seen.value(spans[0], names.REQUEST_REF) == {"model": model, "normalize": True}
    assert "$f32" in json.dumps(seen.value(spans[0], names.RESPONSE_REF))

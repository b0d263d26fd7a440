"""The real `google-genai` client over loopback: what its calls record, and that instrumenting changes nothing about
them."""

import asyncio
import gc
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google import genai
from google.genai import _api_client, errors, types
from google.oauth2.credentials import Credentials

import playhead
from playhead import observe
from playhead.model import names
from playhead.model.span import Span
from playhead.testing import (
    MockModelServer,
    contains,
    dropped_connection,
    malformed_tool_call,
    pytest_plugin,
    rate_limit,
    sequence,
    server_error,
    text,
    thinking,
    tool_call,
    tool_result_received,
)
from tests.support.journal_reader import Journaled, Recording, start_recording

server = pytest_plugin.mock_model_server
MODEL = "gemini-2.5-flash"
LONG = "Here is an answer that is long enough for a number of chunks, so that a stream can be left in the middle."
THINK = types.ThinkingConfig(include_thoughts=True)
covers = pytest.mark.covers


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("google.genai")
        yield recording
        playhead.uninstrument("google.genai")


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record.message for record in caplog.records if record.name == "playhead"] == []


def made(server: MockModelServer, **options: Any) -> genai.Client:
    return genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.url, **options))


@pytest.fixture
def client(server: MockModelServer) -> Iterator[genai.Client]:
    server.otherwise(text(LONG))
    with made(server) as client:
        yield client


def model_calls(seen: Journaled) -> list[Span]:
    return [span for span in seen.spans if span.attributes[names.KIND] == "llm"]


def only_call(recording: Recording) -> tuple[Journaled, Span]:
    seen = recording.read()
    [span] = model_calls(seen)
    return seen, span


def answer_of(seen: Journaled, span: Span) -> Any:
    """The text of the one message that came back."""
    [message] = seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
    return message["parts"][0]["content"]


# --- one answer ------------------------------------------------------------------------------------------------------


@covers("google-genai", "spans", "messages", "tools", "usage")
def test_a_call_records_what_was_asked_and_what_came_back(recording: Recording, client: genai.Client):
    tool = types.Tool(function_declarations=[types.FunctionDeclaration(name="look", description="Looks.")])
    config = types.GenerateContentConfig(
        system_instruction="Be brief.", tools=[tool], temperature=0.5, top_p=0.9, max_output_tokens=100, seed=7,
        safety_settings=[types.SafetySetting(category=types.HarmCategory.HARM_CATEGORY_HATE_SPEECH,
                                             threshold=types.HarmBlockThreshold.BLOCK_NONE)],
    )  # fmt: skip
    response = client.models.generate_content(model=MODEL, contents="hello", config=config)
    seen, span = only_call(recording)
    said = span.attributes
    assert (span.name, span.kind, span.status) == (f"generate_content {MODEL}", 3, 0)
    assert (said[names.OPERATION], said[names.PROVIDER]) == ("generate_content", "gcp.gemini")
    assert said[names.REQUEST_MODEL] == MODEL
    assert (said[names.REQUEST_TEMPERATURE], said[names.REQUEST_TOP_P]) == (0.5, 0.9)
    assert (said[names.REQUEST_MAX_TOKENS], said[names.REQUEST_SEED]) == (100, 7)
    assert (said[names.RESPONSE_ID], said[names.RESPONSE_MODEL]) == (response.response_id, MODEL)
    assert said[names.FINISH_REASONS] == ["stop"]
    usage = response.usage_metadata
    assert usage is not None
    assert said[names.INPUT_TOKENS] == usage.prompt_token_count
    assert said[names.OUTPUT_TOKENS] == usage.candidates_token_count
    assert seen.messages(said[names.INPUT_MESSAGES_REF]) == [
        {"role": "system", "parts": [{"type": "text", "content": "Be brief."}]},
        {"role": "user", "parts": [{"type": "text", "content": "hello"}]},
    ]
    assert answer_of(seen, span) == LONG
    declared = [{"functionDeclarations": [{"name": "look", "description": "Looks."}]}]
    assert seen.value(span, names.TOOL_DEFINITIONS_REF) == declared
    settings = seen.value(span, names.REQUEST_REF)
    assert settings["generationConfig"] == {"temperature": 0.5, "topP": 0.9, "maxOutputTokens": 100, "seed": 7}
    assert settings["safetySettings"] == [{"category": "HARM_CATEGORY_HATE_SPEECH", "threshold": "BLOCK_NONE"}]
    assert seen.value(span, names.RESPONSE_REF)["candidates"][0]["content"]["parts"] == [{"text": LONG}]
    assert [announced.span_id for announced in seen.announced] == [span.span_id]
    assert not any("hello" in str(value) for value in said.values())


@covers("google-genai", "messages")
def test_chats_record_their_history_and_answers_are_what_the_next_call_is_given(
    recording: Recording, server: MockModelServer, client: genai.Client
):
    server.when(contains("first", last=True), thinking("One must think about it.") + text(LONG))
    with playhead.run("agent"):
        chat = client.chats.create(model=MODEL, config=types.GenerateContentConfig(thinking_config=THINK))
        chat.send_message("first")
        for _ in chat.send_message_stream("first again"):
            pass
        chat.send_message("last")
    seen = recording.read()
    first, second, third = model_calls(seen)
    thread = [json.dumps(each, sort_keys=True) for each in seen.messages(third.attributes[names.INPUT_MESSAGES_REF])]
    outputs = [
        json.dumps(seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])[0], sort_keys=True)
        for span in (first, second)
    ]
    assert [thread[1], thread[3]] == outputs
    assert [json.loads(each)["role"] for each in thread] == ["user", "assistant", "user", "assistant", "user"]
    assert [part["type"] for part in json.loads(thread[3])["parts"]] == ["reasoning", "text", "text"]


@covers("google-genai", "reasoning", "usage")
@pytest.mark.parametrize("streamed", [False, True])
def test_thoughts_are_reasoning_and_count_as_output(
    recording: Recording, server: MockModelServer, client: genai.Client, streamed: bool
):
    server.otherwise(thinking("One must think about it.") + text("Yes."))
    config = types.GenerateContentConfig(thinking_config=THINK)
    if streamed:
        *_, response = client.models.generate_content_stream(model=MODEL, contents="Is it?", config=config)
    else:
        response = client.models.generate_content(model=MODEL, contents="Is it?", config=config)
    seen, span = only_call(recording)
    said, usage = span.attributes, response.usage_metadata
    assert usage is not None
    assert seen.value(span, names.REASONING_REF) == "One must think about it."
    assert said[names.REASONING_TOKENS] == usage.thoughts_token_count
    assert said[names.OUTPUT_TOKENS] == (usage.thoughts_token_count or 0) + (usage.candidates_token_count or 0)


@covers("google-genai", "reasoning")
def test_reasoning_that_is_not_wanted_is_not_among_the_messages(
    tmp_path: Path, server: MockModelServer, monkeypatch: pytest.MonkeyPatch
):
    server.otherwise(thinking("One must think about it.") + text("Yes."))
    monkeypatch.setenv("PLAYHEAD_CAPTURE_REASONING", "false")
    for recording in start_recording(tmp_path / "other", monkeypatch):
        with made(server) as client:
            config = types.GenerateContentConfig(thinking_config=THINK)
            client.models.generate_content(model=MODEL, contents="?", config=config)
        seen, span = only_call(recording)
        assert names.REASONING_REF not in span.attributes
        [message] = seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
        assert [part["type"] for part in message["parts"]] == ["text"]


@covers("google-genai", "usage")
def test_what_is_cached_counts_as_input(recording: Recording, server: MockModelServer, client: genai.Client):
    with playhead.run("agent"):
        chat = client.chats.create(model=MODEL)
        chat.send_message("hello")
        response = chat.send_message("more")
    second = model_calls(recording.read())[1]
    usage = response.usage_metadata
    assert usage is not None
    assert second.attributes[names.CACHE_READ_TOKENS] == usage.cached_content_token_count
    assert second.attributes[names.INPUT_TOKENS] == usage.prompt_token_count


@covers("google-genai", "spans")
def test_how_a_call_ended_is_said_as_chats_say_it(recording: Recording, server: MockModelServer, client: genai.Client):
    for name, answer in {
        "length": text("x", finish_reason="length"),
        "safety": text("x", finish_reason="content_filter"),
        "call": tool_call("look"),
        "broken": malformed_tool_call("look"),
    }.items():
        server.when(contains(name), answer)
    with playhead.run("agent"):
        for name in ("length", "safety", "call", "broken"):
            client.models.generate_content(model=MODEL, contents=name)
    reasons = [span.attributes[names.FINISH_REASONS] for span in model_calls(recording.read())]
    assert reasons == [["length"], ["content_filter"], ["tool_calls"], ["malformed_function_call"]]


@covers("google-genai", "spans")
def test_vertex_is_another_provider_with_the_same_models(recording: Recording, server: MockModelServer):
    server.otherwise(text("done"))
    options = types.HttpOptions(base_url=server.url)
    vertex = genai.Client(vertexai=True, project="p", location="l", credentials=Credentials("t"), http_options=options)
    with vertex:
        vertex.models.generate_content(model=MODEL, contents="hi")
        vertex.models.generate_content(model="projects/p/locations/l/endpoints/5", contents="hi")
    calls = model_calls(recording.read())
    assert {span.attributes[names.PROVIDER] for span in calls} == {"gcp.vertex_ai"}
    assert [span.attributes[names.REQUEST_MODEL] for span in calls] == [MODEL, "projects/p/locations/l/endpoints/5"]


def test_what_is_no_call_of_a_model_is_not_recorded(recording: Recording, client: genai.Client):
    with playhead.run("agent"):
        client.models.count_tokens(model=MODEL, contents="hello")
        with pytest.raises(errors.ClientError):
            client.models.get(model=MODEL)
    assert [span.attributes[names.KIND] for span in recording.read().spans] == ["agent"]


# --- streams ---------------------------------------------------------------------------------------------------------


@covers("google-genai", "streaming")
def test_a_stream_is_recorded_whole_and_says_when_it_began(recording: Recording, client: genai.Client):
    chunks = list(client.models.generate_content_stream(model=MODEL, contents="hello"))
    assert "".join(chunk.text or "" for chunk in chunks) == LONG
    seen, span = only_call(recording)
    assert answer_of(seen, span) == LONG
    assert span.attributes[names.REQUEST_STREAM] is True
    assert 0 < span.attributes[names.TIME_TO_FIRST_CHUNK] < 60
    assert span.attributes[names.FINISH_REASONS] == ["stop"]
    assert len(seen.value(span, names.RESPONSE_REF)["stream"]) == len(chunks)


@covers("google-genai", "streaming")
@pytest.mark.parametrize("how", ["close", "drop", "chat"])
def test_a_stream_that_is_left_has_what_had_come(recording: Recording, client: genai.Client, how: str):
    if how == "chat":
        stream = client.chats.create(model=MODEL).send_message_stream("hello")
    else:
        stream = client.models.generate_content_stream(model=MODEL, contents="hello")
    assert next(iter(stream)).text == LONG[:16]
    if how == "drop":
        del stream
        gc.collect()
    else:
        stream.close()  # type: ignore[attr-defined]
    seen, span = only_call(recording)
    assert answer_of(seen, span) == LONG[:16]
    assert (span.status, span.attributes[names.OUTCOME]) == (0, "aborted")


def test_a_stream_that_nobody_reads_asks_nobody(recording: Recording, server: MockModelServer, client: genai.Client):
    client.models.generate_content_stream(model=MODEL, contents="hello").close()  # type: ignore[attr-defined]
    assert recording.read().spans == []
    assert server.requests == []


@covers("google-genai", "streaming", "errors")
def test_a_stream_that_breaks_has_its_error_and_what_had_come(
    recording: Recording, server: MockModelServer, client: genai.Client
):
    server.when(contains("break"), dropped_connection(text(LONG), after_chunks=2))
    with pytest.raises(Exception, match=r".") as broken:
        list(client.models.generate_content_stream(model=MODEL, contents="break"))
    seen, span = only_call(recording)
    assert (span.status, span.attributes[names.ERROR_TYPE].rpartition(".")[2]) == (2, type(broken.value).__name__)
    assert answer_of(seen, span) == LONG[:32]


# --- errors ----------------------------------------------------------------------------------------------------------


@covers("google-genai", "errors")
@pytest.mark.parametrize("streamed", [False, True])
def test_an_error_of_the_provider_is_the_calls(
    recording: Recording, server: MockModelServer, client: genai.Client, streamed: bool
):
    server.when(contains("busy"), server_error(503))
    ask: Any = client.models.generate_content_stream if streamed else client.models.generate_content
    with pytest.raises(errors.ServerError):
        list(ask(model=MODEL, contents="busy"))
    seen, span = only_call(recording)
    assert (span.status, span.attributes[names.ERROR_TYPE]) == (2, "google.genai.errors.ServerError")
    assert "UNAVAILABLE" in seen.value(span, names.ERROR_REF)["message"]


@covers("google-genai", "errors")
def test_the_clients_own_retries_are_one_call(recording: Recording, server: MockModelServer):
    server.when(sequence(1) | sequence(2), rate_limit(0))
    server.otherwise(text("done"))
    retry = types.HttpRetryOptions(attempts=3, initial_delay=0.001, max_delay=0.001, jitter=0)
    with made(server, retry_options=retry) as client:
        assert client.models.generate_content(model=MODEL, contents="hi").text == "done"
    assert len(server.requests) == 3
    _, span = only_call(recording)
    assert span.status == 0


# --- asynchronous clients --------------------------------------------------------------------------------------------


@covers("google-genai", "spans", "streaming")
def test_asynchronous_calls_are_recorded_side_by_side(recording: Recording, client: genai.Client):
    async def ask() -> None:
        async with client.aio as later:

            async def stream() -> str:
                chunks = await later.models.generate_content_stream(model=MODEL, contents="stream")
                return "".join([chunk.text or "" async for chunk in chunks])

            async def chat() -> str | None:
                return (await later.chats.create(model=MODEL).send_message("chat")).text

            assert await asyncio.gather(stream(), chat(), stream()) == [LONG] * 3

    with playhead.run("agent"):
        asyncio.run(ask())
    seen = recording.read()
    assert [answer_of(seen, span) for span in model_calls(seen)] == [LONG] * 3


@covers("google-genai", "errors", "streaming")
@pytest.mark.parametrize("streamed", [False, True])
def test_a_cancelled_call_is_cancelled_in_the_record(recording: Recording, streamed: bool):
    async def ask(server: MockModelServer) -> None:
        async with made(server).aio as client:
            if streamed:
                chunks = await client.models.generate_content_stream(model=MODEL, contents="hi")
                await anext(chunks)
            task = asyncio.create_task(client.models.generate_content(model=MODEL, contents="hi"))
            while not server.requests:
                await asyncio.sleep(0.001)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    with MockModelServer(latency_seconds=0 if streamed else 30) as server:
        server.otherwise(text(LONG))
        if streamed:
            asyncio.run(_cancelled_in_a_stream(server))
        else:
            asyncio.run(ask(server))
    _, span = only_call(recording)
    assert span.attributes[names.OUTCOME] in ("cancelled", "aborted")
    assert span.end_ns


async def _cancelled_in_a_stream(server: MockModelServer) -> None:
    async with made(server).aio as client:
        chunks = await client.models.generate_content_stream(model=MODEL, contents="hi")
        begun = asyncio.Event()

        async def read() -> None:
            async for _ in chunks:
                begun.set()
                await asyncio.sleep(60)

        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await chunks.aclose()  # type: ignore[attr-defined]


# --- functions -------------------------------------------------------------------------------------------------------


def look(place: str, days: int = 1) -> dict[str, Any]:
    """Looks at the weather."""
    if place == "Nowhere":
        raise ValueError("no such place")
    return {"sky": "sunny", "days": days}


async def look_later(place: str) -> str:
    """Looks at the weather."""
    return f"sunny in {place}"


@observe(kind="tool")
def look_observed(place: str) -> str:
    """Looks at the weather."""
    return f"sunny in {place}"


def tool_spans(seen: Journaled) -> list[Span]:
    return [span for span in seen.spans if span.attributes[names.KIND] == "tool"]


@covers("google-genai", "tools")
@pytest.mark.parametrize("how", ["models", "chat", "stream", "async"])
def test_functions_that_the_client_calls_are_tools_between_calls(
    recording: Recording, server: MockModelServer, client: genai.Client, how: str
):
    server.when(~tool_result_received("look"), tool_call("look", {"place": "Bern", "days": 2}))
    config = types.GenerateContentConfig(tools=[look])

    async def ask() -> None:
        async with client.aio as later:
            assert (await later.chats.create(model=MODEL, config=config).send_message("weather?")).text == LONG

    with playhead.run("agent"):
        if how == "models":
            assert client.models.generate_content(model=MODEL, contents="weather?", config=config).text == LONG
        elif how == "chat":
            assert client.chats.create(model=MODEL, config=config).send_message("weather?").text == LONG
        elif how == "stream":
            list(client.chats.create(model=MODEL, config=config).send_message_stream("weather?"))
        else:
            asyncio.run(ask())
    seen = recording.read()
    first, second = model_calls(seen)
    [tool] = tool_spans(seen)
    assert tool.name == "execute_tool look"
    assert seen.value(tool, names.TOOL_ARGUMENTS_REF) == {"place": "Bern", "days": 2}
    assert seen.value(tool, names.TOOL_RESULT_REF) == {"sky": "sunny", "days": 2}
    assert first.start_ns < tool.start_ns < second.start_ns
    [call] = seen.messages(first.attributes[names.OUTPUT_MESSAGES_REF])[0]["parts"]
    assert tool.attributes[names.TOOL_CALL_ID] == call["id"]
    messages = seen.messages(second.attributes[names.INPUT_MESSAGES_REF])
    assert [message["role"] for message in messages] == ["user", "assistant", "tool"]
    response = {"result": {"sky": "sunny", "days": 2}}
    assert messages[2]["parts"] == [{"type": "tool_call_response", "name": "look", "response": response}]


@covers("google-genai", "tools")
def test_a_function_that_fails_and_one_that_is_awaited(
    recording: Recording, server: MockModelServer, client: genai.Client
):
    server.when(~tool_result_received("look"), tool_call("look", {"place": "Nowhere"}))
    server.when(~tool_result_received("look_later"), tool_call("look_later", {"place": "Bern"}))
    server.when(~tool_result_received("look_observed"), tool_call("look_observed", {"place": "Thun"}))
    config = types.GenerateContentConfig(tools=[look, look_later, look_observed])

    async def ask() -> None:
        async with client.aio as later:
            await later.models.generate_content(model=MODEL, contents="weather?", config=config)

    with playhead.run("agent"):
        asyncio.run(ask())
    seen = recording.read()
    failed, awaited, observed = tool_spans(seen)
    assert (failed.name, failed.status) == ("execute_tool look", 2)
    assert "no such place" in seen.value(failed, names.ERROR_REF)["message"]
    assert seen.value(awaited, names.TOOL_RESULT_REF) == "sunny in Bern"
    assert observed.name == "execute_tool look_observed"
    assert len(model_calls(seen)) == 4


# --- embeddings ------------------------------------------------------------------------------------------------------


@covers("google-genai", "spans", "usage")
def test_embeddings_have_their_inputs_as_content(recording: Recording, server: MockModelServer, client: genai.Client):
    config = types.EmbedContentConfig(output_dimensionality=5)
    client.models.embed_content(model="gemini-embedding-001", contents=["one", "two"], config=config)
    options = types.HttpOptions(base_url=server.url)
    vertex = genai.Client(vertexai=True, project="p", location="l", credentials=Credentials("t"), http_options=options)
    with vertex:
        vertex.models.embed_content(model="text-embedding-005", contents=["one", "two"], config=config)
        vertex.models.embed_content(model="gemini-embedding-2", contents="one", config=config)
    seen = recording.read()
    gemini, predicted, embedded = seen.spans
    for span in (gemini, predicted, embedded):
        said = span.attributes
        assert (said[names.KIND], said[names.OPERATION], said[names.EMBEDDING_DIMENSIONS]) == (
            "embedding",
            "embeddings",
            5,
        )
        assert said[names.OUTPUT_REF] == said[names.RESPONSE_REF]
        assert not {names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF} & set(said)
        assert not any("one" in str(value) for value in said.values())
    assert gemini.name == "embeddings gemini-embedding-001"
    assert [span.attributes[names.PROVIDER] for span in seen.spans] == ["gcp.gemini", "gcp.vertex_ai", "gcp.vertex_ai"]
    assert [seen.value(span, names.INPUT_REF) for span in seen.spans] == [["one", "two"], ["one", "two"], "one"]
    assert predicted.attributes[names.INPUT_TOKENS] == 2


# --- instrumenting ---------------------------------------------------------------------------------------------------


def test_instrumenting_changes_nothing_about_answers_and_can_be_undone(
    recording: Recording, server: MockModelServer, client: genai.Client
):
    recorded = client.models.generate_content(model=MODEL, contents="hello")
    playhead.uninstrument("google.genai")
    plain = client.models.generate_content(model=MODEL, contents="hello")
    ignored = {"sdk_http_response", "response_id", "usage_metadata"}
    assert recorded.model_dump(exclude=ignored) == plain.model_dump(exclude=ignored)
    assert server.requests[0].body == server.requests[1].body
    only_call(recording)
    assert not hasattr(_api_client.BaseApiClient.request, "__wrapped__")

"""The real `openai` client over loopback: what its calls record, and that instrumenting changes nothing about them."""

import asyncio
import gc
import inspect
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.resources.chat.completions import AsyncCompletions, Completions
from openai.types.chat import ChatCompletion, ParsedChatCompletion
from pydantic import BaseModel

import playhead
from playhead import observe
from playhead.model import names
from playhead.model.span import Span
from playhead.testing import (
    MockModelServer,
    any_request,
    contains,
    context_too_long,
    dropped_connection,
    pytest_plugin,
    rate_limit,
    sequence,
    server_error,
    text,
    thinking,
    tool_call,
    tool_calls,
    tool_result_received,
)
from tests.support.journal_reader import Journaled, Recording, start_recording

server = pytest_plugin.mock_model_server
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
LONG = "Here is an answer that is long enough for a number of chunks, so that a stream can be left in the middle."
TOOLS: list[Any] = [{"type": "function", "function": {"name": "lookup", "parameters": {"type": "object"}}}]


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai")
        yield recording
        playhead.uninstrument("openai")


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record.message for record in caplog.records if record.name == "playhead"] == []


@pytest.fixture
def client(server: MockModelServer) -> Iterator[openai.OpenAI]:
    server.otherwise(text(LONG))
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client


def async_client(server: MockModelServer) -> openai.AsyncOpenAI:
    server.otherwise(text(LONG))
    return openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0)


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


# --- one answer -------------------------------------------------------------------------------------------------------


@pytest.mark.covers("openai", "spans", "messages", "usage")
def test_a_call_records_what_was_asked_and_what_came_back(recording: Recording, client: openai.OpenAI):
    response = client.chat.completions.create(
        model="m", messages=HELLO, tools=TOOLS, temperature=0.5, top_p=0.9, max_tokens=100, seed=7
    )
    seen, span = only_call(recording)
    said = span.attributes
    assert (span.name, span.kind, span.status) == ("chat m", 3, 0)
    assert (said[names.OPERATION], said[names.PROVIDER], said[names.REQUEST_MODEL]) == ("chat", "openai", "m")
    assert (said[names.REQUEST_TEMPERATURE], said[names.REQUEST_TOP_P]) == (0.5, 0.9)
    assert (said[names.REQUEST_MAX_TOKENS], said[names.REQUEST_SEED]) == (100, 7)
    assert (said[names.RESPONSE_ID], said[names.RESPONSE_MODEL]) == (response.id, response.model)
    assert said[names.FINISH_REASONS] == ["stop"]
    assert response.usage is not None
    assert said[names.INPUT_TOKENS] == response.usage.prompt_tokens
    assert said[names.OUTPUT_TOKENS] == response.usage.completion_tokens
    assert seen.messages(said[names.INPUT_MESSAGES_REF]) == [
        {"role": "user", "parts": [{"type": "text", "content": "hello"}]}
    ]
    assert answer_of(seen, span) == LONG
    assert seen.value(span, names.TOOL_DEFINITIONS_REF) == TOOLS
    assert seen.value(span, names.REQUEST_REF) == {
        "model": "m",
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 100,
        "seed": 7,
    }
    assert seen.value(span, names.RESPONSE_REF) == response.model_dump(mode="json", exclude_unset=True)
    assert [announced.span_id for announced in seen.announced] == [span.span_id]


def test_a_call_within_an_observed_function_belongs_to_it(recording: Recording, client: openai.OpenAI):
    @observe
    def agent() -> str | None:
        return client.chat.completions.create(model="m", messages=HELLO).choices[0].message.content

    assert agent() == LONG
    assert recording.read().parent("m") == "agent"


async def test_the_asynchronous_client_is_the_same(recording: Recording, server: MockModelServer):
    async with async_client(server) as client, playhead.run("r"):
        first, second = await asyncio.gather(
            client.chat.completions.create(model="a", messages=HELLO),
            client.chat.completions.create(model="b", messages=HELLO),
        )
    assert (type(first), second.choices[0].message.content) == (ChatCompletion, LONG)
    seen = recording.read()
    assert (seen.parent("a"), seen.parent("b")) == ("r", "r")
    assert answer_of(seen, seen.call("a")) == LONG


def test_results_are_what_they_are_without_playhead(client: openai.OpenAI):
    observed = client.chat.completions.create(model="m", messages=HELLO)
    playhead.uninstrument("openai")
    bare = client.chat.completions.create(model="m", messages=HELLO)
    assert type(observed) is type(bare) is ChatCompletion
    ignored = {"id", "created", "usage"}
    assert observed.model_dump(exclude=ignored) == bare.model_dump(exclude=ignored)


def test_settings_are_what_is_sent_besides_messages_and_tools(recording: Recording, client: openai.OpenAI):
    client.chat.completions.create(
        model="m",
        messages=HELLO,
        temperature=openai.omit,
        tools=openai.omit,
        stream=openai.omit,
        stop=None,
        extra_headers={"authorization": "secret"},
        extra_body={"custom": 1},
        timeout=60,
    )
    seen, span = only_call(recording)
    assert seen.value(span, names.REQUEST_REF) == {"model": "m", "stop": None, "custom": 1}
    assert names.TOOL_DEFINITIONS_REF not in span.attributes
    assert not any(b"secret" in content.data for content in seen.contents.values())


def test_an_argument_that_the_client_does_not_know_is_its_own_error(recording: Recording, client: openai.OpenAI):
    with pytest.raises(TypeError, match="unexpected keyword argument 'wrong'"):
        client.chat.completions.create(model="m", messages=HELLO, wrong=1)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="Missing required arguments"):
        client.chat.completions.create(model="m")  # pyright: ignore[reportCallIssue]
    assert [span.status for span in model_calls(recording.read())] == [2, 2]


def test_messages_that_can_be_read_once_are_read_once(
    recording: Recording, client: openai.OpenAI, server: MockModelServer
):
    read: list[int] = []

    def once() -> Iterator[Any]:
        for n in range(2):
            read.append(n)
            yield {"role": "user", "content": str(n)}

    client.chat.completions.create(model="m", messages=once())
    assert read == [0, 1]
    assert [message["content"] for message in server.requests[0].messages] == ["0", "1"]
    seen, span = only_call(recording)
    assert len(seen.messages(span.attributes[names.INPUT_MESSAGES_REF])) == 2


def test_several_choices_are_several_messages(recording: Recording, client: openai.OpenAI):
    client.chat.completions.create(model="m", messages=HELLO, n=2)
    seen, span = only_call(recording)
    assert span.attributes[names.REQUEST_CHOICES] == 2
    response = seen.value(span, names.RESPONSE_REF)
    assert len(seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])) == len(response["choices"])


@pytest.mark.covers("openai", "reasoning")
def test_what_a_model_thinks_stands_apart(recording: Recording, client: openai.OpenAI, server: MockModelServer):
    server.when(any_request(), thinking("let me see") + text("done"))
    client.chat.completions.create(model="m", messages=HELLO)
    seen, span = only_call(recording)
    assert seen.value(span, names.REASONING_REF) == "let me see"
    assert answer_of(seen, span) == "done"


def test_a_parsed_answer_is_parsed_and_its_raw_form_recorded(
    recording: Recording, client: openai.OpenAI, server: MockModelServer
):
    class Verdict(BaseModel):
        refund: bool

    server.when(any_request(), text('{"refund": true}'))
    response = client.chat.completions.parse(model="m", messages=HELLO, response_format=Verdict)
    assert type(response).__name__.startswith(ParsedChatCompletion.__name__)
    assert response.choices[0].message.parsed == Verdict(refund=True)
    seen, span = only_call(recording)
    assert answer_of(seen, span) == '{"refund": true}'
    settings = seen.value(span, names.REQUEST_REF)
    assert settings["response_format"]["json_schema"]["schema"]["properties"]["refund"]["type"] == "boolean"
    assert "parsed" not in seen.value(span, names.RESPONSE_REF)["choices"][0]["message"]


# --- tools and conversations ------------------------------------------------------------------------------------------


def as_object(message: Any) -> Any:
    return message


def as_dictionary(message: Any) -> Any:
    return message.model_dump(exclude_unset=True)


def by_hand(message: Any) -> Any:
    calls = [
        {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
        for c in message.tool_calls or ()
    ]
    return {"role": "assistant", "content": message.content} | ({"tool_calls": calls} if calls else {})


def whole(client: openai.OpenAI, history: list[Any]) -> Any:
    return client.chat.completions.create(model="m", messages=history, tools=TOOLS).choices[0].message


def parsed(client: openai.OpenAI, history: list[Any]) -> Any:
    return client.chat.completions.parse(model="m", messages=history).choices[0].message


def streamed(client: openai.OpenAI, history: list[Any]) -> Any:
    with client.chat.completions.stream(model="m", messages=history, tools=TOOLS) as events:
        return events.get_final_completion().choices[0].message


@pytest.mark.covers("openai", "messages")
@pytest.mark.parametrize(
    ("ask", "appended"),
    [
        (whole, as_object),
        (whole, as_dictionary),
        (whole, by_hand),
        (parsed, as_object),
        (parsed, by_hand),
        (streamed, as_object),
        (streamed, by_hand),
    ],
)
def test_the_answer_of_one_call_is_a_message_of_the_next(
    recording: Recording,
    client: openai.OpenAI,
    server: MockModelServer,
    ask: Callable[[openai.OpenAI, list[Any]], Any],
    appended: Callable[[Any], Any],
):
    server.when(~tool_result_received("lookup"), tool_call("lookup", {"order": "A1"}))

    @observe
    def agent() -> None:
        history: list[Any] = list(HELLO)
        while (message := ask(client, history)).tool_calls:
            history.append(appended(message))
            history.append({"role": "tool", "tool_call_id": message.tool_calls[0].id, "content": "late"})
        history.append(appended(message))
        ask(client, [*history, {"role": "user", "content": "thanks"}])

    agent()
    seen = recording.read()
    first, second, third = model_calls(seen)
    for before, after in ((first, second), (second, third)):
        length = len(seen.messages(before.attributes[names.INPUT_MESSAGES_REF]))
        answered = seen.messages(after.attributes[names.INPUT_MESSAGES_REF])[length]
        assert [answered] == seen.messages(before.attributes[names.OUTPUT_MESSAGES_REF])


@pytest.mark.covers("openai", "tools")
def test_parallel_tool_calls_meet_the_functions_that_answer_them(
    recording: Recording, client: openai.OpenAI, server: MockModelServer
):
    asked = [tool_call("lookup", {"order": order}, call_id=f"call_{n}") for n, order in enumerate(("A1", "B2", "A1"))]
    server.when(~tool_result_received("lookup"), tool_calls(*asked))

    @observe(kind="tool", capture_input=False)
    def lookup(order: str) -> str:
        return order

    @observe
    def agent() -> None:
        response = client.chat.completions.create(model="m", messages=HELLO, tools=TOOLS)
        calls: Any = response.choices[0].message.tool_calls
        orders = [json.loads(call.function.arguments)["order"] for call in calls]
        lookup(order="never asked for")
        lookup(orders[1])
        with ThreadPoolExecutor(2) as pool:
            list(pool.map(playhead.propagate_to_thread(lookup), [orders[0], orders[2]]))
        lookup("A1")

    agent()
    seen = recording.read()
    met = sorted(
        (span.attributes.get(names.TOOL_CALL_ID, "-"), seen.value(span, names.TOOL_RESULT_REF))
        for span in seen.calls("lookup")
    )
    assert met == [("-", "A1"), ("-", "never asked for"), ("call_0", "A1"), ("call_1", "B2"), ("call_2", "A1")]


def test_calls_of_parallel_threads_share_a_run_and_mix_nothing_up(
    recording: Recording, client: openai.OpenAI, server: MockModelServer
):
    def converse(name: str) -> list[Any]:
        history: list[Any] = [{"role": "system", "content": "shared"}, {"role": "user", "content": name}]
        for _ in range(5):
            response = client.chat.completions.create(model="m", messages=history)
            history += [response.choices[0].message, {"role": "user", "content": f"{name} again"}]
        return history

    with playhead.run("r"), ThreadPoolExecutor(4) as pool:
        list(pool.map(playhead.propagate_to_thread(converse), "abcd"))
    seen = recording.read()
    assert len(model_calls(seen)) == 20
    for span in model_calls(seen):
        asked = seen.messages(span.attributes[names.INPUT_MESSAGES_REF])
        said_by_user = {message["parts"][0]["content"][0] for message in asked if message["role"] == "user"}
        assert len(said_by_user) == 1


# --- streams ----------------------------------------------------------------------------------------------------------


def read(stream: Any) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)


@pytest.mark.covers("openai", "streaming", "usage")
def test_a_stream_is_recorded_when_it_has_been_read(recording: Recording, client: openai.OpenAI):
    stream = client.chat.completions.create(
        model="m", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    assert isinstance(stream, openai.Stream)
    assert stream.response.status_code == 200
    assert inspect.ismethod(stream.close)
    assert recording.read().spans == []
    assert read(stream) == LONG
    seen, span = only_call(recording)
    assert answer_of(seen, span) == LONG
    assert span.attributes[names.REQUEST_STREAM] is True
    assert 0 < span.attributes[names.TIME_TO_FIRST_CHUNK] < 60
    assert span.attributes[names.FINISH_REASONS] == ["stop"]
    assert span.attributes[names.INPUT_TOKENS] > 0
    assert len(seen.value(span, names.RESPONSE_REF)["stream"]) > 3
    assert names.OUTCOME not in span.attributes


def test_a_tool_call_that_the_program_completes_in_place_is_recorded_as_it_was_streamed(
    recording: Recording, client: openai.OpenAI, server: MockModelServer
):
    server.when(any_request(), tool_call("lookup", {"order": "A1", "note": LONG}))
    called: Any = None
    for chunk in client.chat.completions.create(model="m", messages=HELLO, stream=True):
        for delta in chunk.choices[0].delta.tool_calls or () if chunk.choices else ():
            if called is None:  # as OpenAI's own examples do it
                called = delta
            else:
                called.function.arguments += delta.function.arguments  # type: ignore[union-attr]
    assert json.loads(called.function.arguments) == {"order": "A1", "note": LONG}
    seen, span = only_call(recording)
    [message] = seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
    assert [part["arguments"] for part in message["parts"]] == [{"order": "A1", "note": LONG}]


def test_a_stream_without_usage_has_none(recording: Recording, client: openai.OpenAI):
    read(client.chat.completions.create(model="m", messages=HELLO, stream=True))
    assert names.INPUT_TOKENS not in only_call(recording)[1].attributes


def test_a_stream_may_be_iterated_in_pieces(recording: Recording, client: openai.OpenAI):
    with client.chat.completions.create(model="m", messages=HELLO, stream=True) as stream:
        first = next(stream).choices[0].delta.content or ""
        second = read(chunk for chunk, _ in zip(iter(stream), range(2), strict=False))
        rest = read(iter(stream))
    assert len(first + second + rest) > len(LONG) - 20  # `zip` takes one chunk more than it gives
    assert list(stream) == []
    assert len(model_calls(recording.read())) == 1


def test_what_happens_between_chunks_is_not_inside_the_model_call(recording: Recording, client: openai.OpenAI):
    @observe
    def show() -> None: ...

    with playhead.run("r"):
        for _ in client.chat.completions.create(model="m", messages=HELLO, stream=True):
            with observe("chunk"):
                pass
            break
        show()
    seen = recording.read()
    assert (seen.parent("chunk"), seen.parent("show")) == ("r", "r")


def close(stream: Any) -> None:
    next(stream)
    next(stream)
    stream.close()


def leave_with(stream: Any) -> None:
    with stream:
        next(stream)
        next(stream)


def drop(stream: Any) -> None:
    next(stream)
    next(stream)


def fail_inside_with(stream: Any) -> None:
    def inside() -> None:
        with stream:
            next(stream)
            next(stream)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        inside()


@pytest.mark.covers("openai", "streaming")
@pytest.mark.parametrize("leave", [close, leave_with, drop, fail_inside_with])
def test_a_stream_left_early_is_aborted_and_keeps_what_was_received(
    recording: Recording, client: openai.OpenAI, leave: Callable[[Any], None]
):
    leave(client.chat.completions.create(model="m", messages=HELLO, stream=True))
    gc.collect()
    seen, span = only_call(recording)
    assert (span.status, span.attributes[names.OUTCOME]) == (0, "aborted")
    assert 0 < len(answer_of(seen, span)) < len(LONG)
    assert LONG.startswith(answer_of(seen, span))


def test_a_connection_that_drops_in_a_stream_is_an_error_with_what_was_received(
    recording: Recording, client: openai.OpenAI, server: MockModelServer
):
    server.when(any_request(), dropped_connection(text(LONG), after_chunks=3))
    received: list[str] = []
    stream = client.chat.completions.create(model="m", messages=HELLO, stream=True)
    with pytest.raises(openai.APIConnectionError) as caught:
        received.extend(chunk.choices[0].delta.content or "" for chunk in stream)
    seen, span = only_call(recording)
    assert span.status == 2
    assert span.attributes[names.ERROR_TYPE] == f"openai.{type(caught.value).__name__}"
    assert answer_of(seen, span) == "".join(received)


def test_the_stream_helper_is_one_call(recording: Recording, client: openai.OpenAI):
    with client.chat.completions.stream(model="m", messages=HELLO) as events:
        kinds = {event.type for event in events}
        final = events.get_final_completion()
    assert "content.delta" in kinds
    assert final.choices[0].message.content == LONG
    seen, span = only_call(recording)
    assert answer_of(seen, span) == LONG


def test_the_stream_helper_left_early_ends_the_call_when_it_is_left(recording: Recording, client: openai.OpenAI):
    with client.chat.completions.stream(model="m", messages=HELLO) as events:
        next(events)
        next(events)
    _, span = only_call(recording)
    assert span.attributes[names.OUTCOME] == "aborted"


@pytest.mark.covers("openai", "streaming")
async def test_an_asynchronous_stream_is_recorded(recording: Recording, server: MockModelServer):
    async with async_client(server) as client:
        stream = await client.chat.completions.create(model="m", messages=HELLO, stream=True)
        assert isinstance(stream, openai.AsyncStream)
        assert stream.response.status_code == 200
        said = [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
    assert "".join(said) == LONG
    seen, span = only_call(recording)
    assert answer_of(seen, span) == LONG
    assert names.TIME_TO_FIRST_CHUNK in span.attributes


@pytest.mark.parametrize("way", ["break", "close", "with", "helper"])
async def test_an_asynchronous_stream_left_early_is_aborted(recording: Recording, server: MockModelServer, way: str):
    async with async_client(server) as client:

        async def two(stream: Any) -> None:
            n = 0
            async for _ in stream:
                n += 1
                if n == 2:
                    break

        if way == "helper":
            async with client.chat.completions.stream(model="m", messages=HELLO) as events:
                await two(events)
        else:
            stream = await client.chat.completions.create(model="m", messages=HELLO, stream=True)
            if way == "with":
                async with stream:
                    await two(stream)
            else:
                await two(stream)
                if way == "close":
                    await stream.close()
                else:
                    await stream.response.aclose()
        _, span = only_call(recording)
    assert (span.status, span.attributes[names.OUTCOME]) == (0, "aborted")


async def test_a_cancelled_call_is_cancelled(recording: Recording, server: MockModelServer):
    from playhead.testing import delay

    server.when(any_request(), delay(60, text("late")))
    async with async_client(server) as client:
        task = asyncio.create_task(client.chat.completions.create(model="m", messages=HELLO))
        while not server.requests:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert only_call(recording)[1].attributes[names.OUTCOME] == "cancelled"


# --- raw responses ----------------------------------------------------------------------------------------------------


def test_a_raw_response_stays_readable_and_is_recorded(recording: Recording, client: openai.OpenAI):
    raw = client.chat.completions.with_raw_response.create(model="m", messages=HELLO)
    assert raw.headers["content-type"].startswith("application/json")
    parsed = raw.parse()
    assert type(parsed) is ChatCompletion
    assert raw.parse() is parsed
    assert json.loads(raw.text)["id"] == parsed.id
    seen, span = only_call(recording)
    assert answer_of(seen, span) == LONG


async def test_so_does_that_of_the_asynchronous_client(recording: Recording, server: MockModelServer):
    async with async_client(server) as client:
        raw = await client.chat.completions.with_raw_response.create(model="m", messages=HELLO)
        assert raw.parse().choices[0].message.content == LONG
    seen, span = only_call(recording)
    assert answer_of(seen, span) == LONG


def test_a_raw_response_with_a_stream_is_recorded_as_it_is_read(recording: Recording, client: openai.OpenAI):
    raw = client.chat.completions.with_raw_response.create(model="m", messages=HELLO, stream=True)
    assert raw.status_code == 200
    stream = raw.parse()
    assert isinstance(stream, openai.Stream)
    assert read(stream) == LONG
    seen, span = only_call(recording)
    assert answer_of(seen, span) == LONG


def test_a_response_that_the_caller_streams_is_left_to_the_caller(recording: Recording, client: openai.OpenAI):
    with client.chat.completions.with_streaming_response.create(model="m", messages=HELLO) as response:
        body = b"".join(response.iter_bytes())
    assert json.loads(body)["choices"][0]["message"]["content"] == LONG
    _, span = only_call(recording)
    assert span.status == 0
    assert names.OUTPUT_MESSAGES_REF not in span.attributes


# --- errors -----------------------------------------------------------------------------------------------------------


@pytest.mark.covers("openai", "errors")
@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (rate_limit(0), openai.RateLimitError),
        (context_too_long(), openai.BadRequestError),
        (server_error(), openai.InternalServerError),
        (dropped_connection(), openai.APIConnectionError),
        (dropped_connection(text(LONG)), openai.APIConnectionError),
    ],
)
@pytest.mark.parametrize("stream", [False, True])
def test_an_error_is_the_clients_own_and_is_recorded(
    recording: Recording,
    client: openai.OpenAI,
    server: MockModelServer,
    answer: Any,
    error: type[Exception],
    stream: bool,
):
    server.when(any_request(), answer)
    with pytest.raises(error) as caught:
        read(client.chat.completions.create(model="m", messages=HELLO, stream=stream))
    seen, span = only_call(recording)
    assert span.status == 2
    assert span.attributes[names.ERROR_TYPE] == f"openai.{error.__name__}"
    assert seen.value(span, names.ERROR_REF)["message"] == str(caught.value)
    assert names.INPUT_MESSAGES_REF in span.attributes


def test_the_clients_own_retries_are_one_call(recording: Recording, server: MockModelServer):
    server.when(sequence(1), rate_limit(0))
    server.when(sequence(2), server_error())
    server.otherwise(text("at last"))
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=2) as client:
        assert client.chat.completions.create(model="m", messages=HELLO).choices[0].message.content == "at last"
    assert len(server.requests) == 3
    assert only_call(recording)[1].status == 0


def test_retries_that_are_exhausted_are_one_failed_call(recording: Recording, server: MockModelServer):
    server.otherwise(rate_limit(0))
    with (
        openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=2) as client,
        pytest.raises(openai.RateLimitError),
    ):
        client.chat.completions.create(model="m", messages=HELLO)
    assert len(server.requests) == 3
    assert only_call(recording)[1].attributes[names.ERROR_TYPE] == "openai.RateLimitError"


# --- on and off -------------------------------------------------------------------------------------------------------


def test_instrumenting_twice_records_once_and_undoing_restores(recording: Recording, client: openai.OpenAI):
    playhead.instrument("openai")
    client.chat.completions.create(model="m", messages=HELLO)
    assert len(model_calls(recording.read())) == 1
    playhead.uninstrument("openai")
    playhead.uninstrument("openai")
    for owner in (Completions, AsyncCompletions):
        assert all(inspect.isfunction(vars(owner)[method]) for method in ("create", "parse"))
        assert not any(type(vars(owner)[method]).__module__.startswith("playhead") for method in ("create", "parse"))
    client.chat.completions.create(model="m", messages=HELLO)
    assert len(model_calls(recording.read())) == 1


def test_beneath_another_instrumentation_it_is_switched_off_and_on(
    recording: Recording, client: openai.OpenAI, monkeypatch: pytest.MonkeyPatch
):
    import functools

    ours = vars(Completions)["create"]

    @functools.wraps(ours)
    def theirs(self: Any, **kwargs: Any) -> Any:
        return ours.__get__(self, Completions)(**kwargs)

    with monkeypatch.context() as patch:
        patch.setattr(Completions, "create", theirs)
        playhead.instrument("openai")
        client.chat.completions.create(model="m", messages=HELLO)
        assert len(model_calls(recording.read())) == 1
        playhead.uninstrument("openai")
        client.chat.completions.create(model="m", messages=HELLO)
        assert len(model_calls(recording.read())) == 1


def test_the_methods_look_as_before(client: openai.OpenAI):
    def looks() -> list[Any]:
        methods = [getattr(owner, name) for owner in (Completions, AsyncCompletions) for name in ("create", "parse")]
        return [(inspect.signature(method), inspect.iscoroutinefunction(method), method.__doc__) for method in methods]

    observed = looks()
    playhead.uninstrument("openai")
    assert observed == looks()


def test_what_is_not_recorded_costs_no_change(recording: Recording, client: openai.OpenAI):
    from opentelemetry.instrumentation.utils import suppress_instrumentation

    with suppress_instrumentation():
        stream = client.chat.completions.create(model="m", messages=HELLO, stream=True)
        assert type(stream) is openai.Stream
        assert read(stream) == LONG
    assert recording.read().spans == []


def test_a_redactor_sees_messages_answers_and_raw_responses(
    recording: Recording, client: openai.OpenAI, server: MockModelServer
):
    def redact(value: Any) -> Any:
        return json.loads(json.dumps(value).replace("hello", "*").replace("Here is", "*"))

    with playhead.run("r", redact=redact):
        client.chat.completions.create(model="m", messages=HELLO)
    assert server.requests[0].messages == HELLO
    seen = recording.read()
    assert not any(b"hello" in content.data or b"Here is" in content.data for content in seen.contents.values())
    assert contains("hello").matches(server.requests[0])

"""The real `anthropic` client over loopback: what its calls record, and that instrumenting changes nothing about
them."""

import asyncio
import gc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

import playhead
from playhead import observe
from playhead.model import names
from playhead.model.span import Span
from playhead.testing import (
    MockModelServer,
    any_request,
    context_too_long,
    delay,
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
from tests.support.projected import projected
from tests.wire.openai.test_counted_once import as_received

server = pytest_plugin.mock_model_server
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
LONG = "Here is an answer that is long enough for a number of chunks, so that a stream can be left in the middle."
TOOLS: list[Any] = [{"name": "lookup", "input_schema": {"type": "object"}}]
ASKED: Any = {"model": "m", "max_tokens": 100, "messages": HELLO}
THINKING: Any = {"type": "adaptive"}


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("anthropic")
        yield recording
        playhead.uninstrument("anthropic", "openai")


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record.message for record in caplog.records if record.name == "playhead"] == []


@pytest.fixture
def client(server: MockModelServer) -> Iterator[anthropic.Anthropic]:
    server.otherwise(text(LONG))
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client:
        yield client


def async_client(server: MockModelServer) -> anthropic.AsyncAnthropic:
    server.otherwise(text(LONG))
    return anthropic.AsyncAnthropic(base_url=server.url, api_key="none", max_retries=0)


def model_calls(seen: Journaled) -> list[Span]:
    return [span for span in seen.spans if span.attributes[names.KIND] == "llm"]


def only_call(recording: Recording) -> tuple[Journaled, Span]:
    seen = recording.read()
    [span] = model_calls(seen)
    return seen, span


def answer_of(seen: Journaled, span: Span) -> Any:
    """The text of the one message that came back."""
    [message] = seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
    return message["parts"][-1]["content"]


# --- one answer ------------------------------------------------------------------------------------------------------


@pytest.mark.covers("anthropic", "spans", "messages", "tools", "usage")
def test_a_call_records_what_was_asked_and_what_came_back(recording: Recording, client: anthropic.Anthropic):
    extra = {"temperature": 0.5, "top_p": 0.9}
    response = client.messages.create(**ASKED, system="Be kind.", tools=TOOLS, extra_body=extra, stop_sequences=["x"])
    seen, span = only_call(recording)
    said = span.attributes
    assert (span.name, span.kind, span.status) == ("chat m", 3, 0)
    assert (said[names.OPERATION], said[names.PROVIDER], said[names.REQUEST_MODEL]) == ("chat", "anthropic", "m")
    assert said[names.REQUEST_MAX_TOKENS] == 100
    assert (said[names.RESPONSE_ID], said[names.RESPONSE_MODEL]) == (response.id, "m")
    assert said[names.FINISH_REASONS] == ["stop"]
    assert (said[names.INPUT_TOKENS], said[names.OUTPUT_TOKENS]) == (
        response.usage.input_tokens,
        response.usage.output_tokens,
    )
    assert seen.messages(said[names.INPUT_MESSAGES_REF]) == [
        {"role": "system", "parts": [{"type": "text", "content": "Be kind."}]},
        {"role": "user", "parts": [{"type": "text", "content": "hello"}]},
    ]
    assert answer_of(seen, span) == LONG
    assert seen.value(span, names.TOOL_DEFINITIONS_REF) == TOOLS
    assert seen.value(span, names.REQUEST_REF) == {"model": "m", "max_tokens": 100, "stop_sequences": ["x"], **extra}
    assert seen.value(span, names.RESPONSE_REF) == response.model_dump(mode="json", exclude_unset=True)
    assert [announced.span_id for announced in seen.announced] == [span.span_id]


async def test_the_asynchronous_client_is_the_same(recording: Recording, server: MockModelServer):
    async with async_client(server) as client, playhead.run("r"):
        first, second = await asyncio.gather(
            client.messages.create(**{**ASKED, "model": "a"}), client.beta.messages.create(**{**ASKED, "model": "b"})
        )
    assert (type(first).__name__, type(second).__name__) == ("Message", "BetaMessage")
    seen = recording.read()
    assert (seen.parent("a"), seen.parent("b")) == ("r", "r")
    assert answer_of(seen, seen.call("b")) == LONG


def test_results_are_what_they_are_without_playhead(client: anthropic.Anthropic):
    observed = client.messages.create(**ASKED)
    playhead.uninstrument("anthropic")
    bare = client.messages.create(**ASKED)
    assert type(observed) is type(bare) is anthropic.types.Message
    assert observed.model_dump(exclude={"id", "usage"}) == bare.model_dump(exclude={"id", "usage"})


@pytest.mark.covers("anthropic", "reasoning", "usage")
def test_thoughts_stand_apart_and_stay_in_their_message_for_the_next_call(
    recording: Recording, client: anthropic.Anthropic, server: MockModelServer
):
    opaque = {"role": "assistant", "content": [{"type": "redacted_thinking", "data": "b3BhcXVl"}]}
    server.when(sequence(1), thinking("let me see") + text("done"))
    first = client.messages.create(**ASKED, thinking=THINKING)
    again: Any = [*HELLO, {"role": "assistant", "content": [*opaque["content"], *first.content]}, *HELLO]
    client.messages.create(model="m", max_tokens=1, messages=again)  # the server checks the signature
    seen = recording.read()
    span, later = model_calls(seen)
    assert seen.value(span, names.REASONING_REF) == "let me see"
    assert answer_of(seen, span) == "done"
    assert span.attributes[names.REASONING_TOKENS] > 0
    [output] = seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
    sent = seen.messages(later.attributes[names.INPUT_MESSAGES_REF])[1]
    assert sent["parts"] == [{"type": "redacted_thinking", "data": "b3BhcXVl"}, *output["parts"]]


def test_thoughts_that_are_not_wanted_are_in_no_answers_message(
    recording: Recording, client: anthropic.Anthropic, server: MockModelServer
):
    recording.configure(capture_reasoning=False)
    server.when(any_request(), thinking("let me see") + text("done"))
    client.messages.create(**ASKED, thinking=THINKING)
    seen, span = only_call(recording)
    assert names.REASONING_REF not in span.attributes
    [message] = seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
    assert message["parts"] == [{"type": "text", "content": "done"}]


@pytest.mark.covers("anthropic", "usage")
def test_input_tokens_are_all_and_those_of_the_cache_are_told_too(recording: Recording, client: anthropic.Anthropic):
    history: list[Any] = [*HELLO]
    create: Any = client.messages.create
    answer: Any = None
    for _ in range(2):
        marked = [{"type": "text", "text": "a question", "cache_control": {"type": "ephemeral"}}]
        answer = create(model="m", max_tokens=1, messages=[*history, {"role": "user", "content": marked}])
        history += [{"role": "user", "content": "a question"}, {"role": "assistant", "content": answer.content}]
    counted = [
        {
            name: span.attributes[name]
            for name in (names.INPUT_TOKENS, names.CACHE_READ_TOKENS, names.CACHE_WRITE_TOKENS)
        }
        for span in model_calls(recording.read())
    ]
    usage = answer.usage
    read, written = usage.cache_read_input_tokens or 0, usage.cache_creation_input_tokens or 0
    assert read + written > 0
    assert counted[1] == {
        names.INPUT_TOKENS: usage.input_tokens + read + written,
        names.CACHE_READ_TOKENS: read,
        names.CACHE_WRITE_TOKENS: written,
    }


def test_tokens_are_not_counted_and_batches_are_left_alone(recording: Recording, client: anthropic.Anthropic):
    with pytest.raises(anthropic.NotFoundError):
        client.messages.count_tokens(model="m", messages=HELLO)
    with pytest.raises(anthropic.NotFoundError):
        client.messages.batches.create(requests=[])
    assert recording.read().spans == []


def test_an_argument_that_the_client_does_not_know_is_its_own_error(recording: Recording, client: anthropic.Anthropic):
    with pytest.raises(TypeError, match="unexpected keyword argument 'wrong'"):
        client.messages.create(**ASKED, wrong=1)  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match="unexpected keyword argument 'wrong'"):
        client.messages.stream(**ASKED, wrong=1)  # pyright: ignore[reportCallIssue]
    assert [span.status for span in model_calls(recording.read())] == [2]


# --- one conversation, two providers ---------------------------------------------------------------------------------


@pytest.mark.covers("anthropic", "messages", "tools")
def test_a_conversation_has_the_threads_that_it_has_with_openai(
    recording: Recording, client: anthropic.Anthropic, server: MockModelServer
):
    playhead.instrument("openai")
    calls = tool_calls(
        tool_call("lookup", {"order": "A1"}, call_id="c1"), tool_call("lookup", {"order": "B2"}, call_id="c2")
    )
    server.when(~tool_result_received("lookup"), text("I look.") + calls)

    def with_anthropic() -> None:
        messages: list[Any] = [*HELLO]
        for _ in range(3):
            answer = client.messages.create(model="m", max_tokens=9, system="Be kind.", messages=messages)
            messages.append({"role": "assistant", "content": answer.content})
            results: list[Any] = [
                {"type": "tool_result", "tool_use_id": block.id, "content": "late"}
                for block in answer.content
                if block.type == "tool_use"
            ]
            messages.append({"role": "user", "content": results or "thanks"})

    def with_openai() -> None:
        messages: list[Any] = [{"role": "system", "content": "Be kind."}, *HELLO]
        with openai.OpenAI(base_url=server.base_url, api_key="none") as other:
            for _ in range(3):
                message = other.chat.completions.create(model="m", messages=messages).choices[0].message
                messages.append(message)
                results = [
                    {"role": "tool", "tool_call_id": call.id, "content": "late"} for call in message.tool_calls or ()
                ]
                messages += results or [{"role": "user", "content": "thanks"}]

    with_anthropic()
    with_openai()
    threads: dict[str, list[Any]] = {"anthropic": [], "openai": []}
    for span in model_calls(recording.read()):
        refs = [span.attributes[name] for name in (names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF)]
        threads[str(span.attributes[names.PROVIDER])].append(refs)
    assert len(threads["anthropic"]) == 3
    assert threads["anthropic"] == threads["openai"]


@pytest.mark.parametrize("way", ["whole", "streamed", "parsed", "beta"])
def test_the_answer_of_one_call_is_a_message_of_the_next(
    recording: Recording, client: anthropic.Anthropic, server: MockModelServer, way: str
):
    server.when(~tool_result_received("lookup"), thinking("hm") + text("so") + tool_call("lookup", {"order": "A1"}))

    def ask(messages: list[Any]) -> Any:
        asked: Any = {"model": "m", "max_tokens": 9, "messages": messages, "thinking": THINKING}
        if way == "streamed":
            with client.messages.stream(**asked) as stream:
                return stream.get_final_message()
        if way == "beta":
            return client.beta.messages.create(**asked)
        return client.messages.parse(**asked) if way == "parsed" else client.messages.create(**asked)

    with playhead.run("r"):
        history = list(HELLO)
        while (answer := ask(history)).stop_reason == "tool_use":
            results = [{"type": "tool_result", "tool_use_id": answer.content[-1].id, "content": "late"}]
            history += [{"role": "assistant", "content": answer.content}, {"role": "user", "content": results}]
    seen = recording.read()
    first, second = model_calls(seen)
    length = len(seen.messages(first.attributes[names.INPUT_MESSAGES_REF]))
    answered = seen.messages(second.attributes[names.INPUT_MESSAGES_REF])[length]
    assert [answered] == seen.messages(first.attributes[names.OUTPUT_MESSAGES_REF])


def test_a_threads_turns_have_the_whole_conversation(recording: Recording, client: anthropic.Anthropic):
    with playhead.run("r"):
        thread = client.beta.messages.thread(model="m", max_tokens=9, system="Be kind.", messages=HELLO)
        thread.send()
        thread.send({"role": "user", "content": "and?"})
    seen = recording.read()
    second = model_calls(seen)[1]
    said = [message["role"] for message in seen.messages(second.attributes[names.INPUT_MESSAGES_REF])]
    assert said == ["system", "user", "assistant", "user"]


# --- streams ---------------------------------------------------------------------------------------------------------


def read(stream: Any) -> str:
    return "".join(event.delta.text for event in stream if event.type == "content_block_delta")


@pytest.mark.covers("anthropic", "streaming", "usage")
def test_a_stream_is_recorded_when_it_has_been_read(recording: Recording, client: anthropic.Anthropic):
    stream = client.messages.create(**ASKED, stream=True)
    assert isinstance(stream, anthropic.Stream)
    assert recording.read().spans == []
    assert read(stream) == LONG
    seen, span = only_call(recording)
    assert answer_of(seen, span) == LONG
    assert span.attributes[names.REQUEST_STREAM] is True
    assert 0 < span.attributes[names.TIME_TO_FIRST_CHUNK] < 60
    assert span.attributes[names.FINISH_REASONS] == ["stop"]
    assert span.attributes[names.INPUT_TOKENS] > 0
    assert span.attributes[names.OUTPUT_TOKENS] > 1
    assert len(seen.value(span, names.RESPONSE_REF)["stream"]) > 3


@pytest.mark.covers("anthropic", "streaming")
def test_the_helper_asks_when_it_is_entered(recording: Recording, client: anthropic.Anthropic, server: MockModelServer):
    with playhead.run("r"):
        helper = client.messages.stream(**ASKED)
        assert server.requests == []
        with helper as stream:
            assert "".join(stream.text_stream) == LONG
            assert stream.get_final_message().content[0].text == LONG  # pyright: ignore[reportAttributeAccessIssue]
    seen, span = only_call(recording)
    assert (answer_of(seen, span), seen.parent("m")) == (LONG, "r")
    assert span.attributes[names.REQUEST_STREAM] is True


def close(client: Any) -> None:
    stream = client.messages.create(**ASKED, stream=True)
    next(stream)
    for _ in range(3):
        next(stream)
    stream.close()


def drop(client: Any) -> None:
    stream = client.messages.create(**ASKED, stream=True)
    for _ in range(4):
        next(stream)


def leave_helper(client: Any) -> None:
    with client.messages.stream(**ASKED) as stream:
        for _ in zip(range(4), stream, strict=False):
            pass


def fail_in_helper(client: Any) -> None:
    def inside() -> None:
        with client.beta.messages.stream(**ASKED) as stream:
            for n, _ in enumerate(stream):
                if n == 4:
                    raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        inside()


@pytest.mark.parametrize("leave", [close, drop, leave_helper, fail_in_helper])
@pytest.mark.covers("anthropic", "streaming")
def test_a_stream_left_early_is_aborted_and_keeps_what_was_received(
    recording: Recording, client: anthropic.Anthropic, leave: Callable[[Any], None]
):
    leave(client)
    gc.collect()
    seen, span = only_call(recording)
    assert (span.status, span.attributes[names.OUTCOME]) == (0, "aborted")
    assert 0 < len(answer_of(seen, span)) < len(LONG)
    assert LONG.startswith(answer_of(seen, span))


@pytest.mark.covers("anthropic", "streaming", "errors")
def test_a_call_of_a_tool_whose_stream_breaks_off_keeps_what_came(
    recording: Recording, client: anthropic.Anthropic, server: MockModelServer
):
    answer = tool_call("lookup", {"order": "a number that is long enough"})
    server.when(any_request(), dropped_connection(answer, after_chunks=4))
    with pytest.raises(Exception, match="peer closed"):
        list(client.messages.create(**ASKED, stream=True))
    seen, span = only_call(recording)
    [message] = seen.messages(span.attributes[names.OUTPUT_MESSAGES_REF])
    assert span.status == 2
    assert message["parts"][0]["arguments"].startswith('{"order":"a numb')


@pytest.mark.parametrize("way", ["break", "close", "helper"])
async def test_an_asynchronous_stream_left_early_is_aborted(recording: Recording, server: MockModelServer, way: str):
    async with async_client(server) as client:

        async def some(stream: Any) -> None:
            n = 0
            async for _ in stream:
                n += 1
                if n == 3:
                    break

        if way == "helper":
            async with client.messages.stream(**ASKED) as events:
                await some(events)
        else:
            stream = await client.messages.create(**ASKED, stream=True)
            await some(stream)
            await (stream.close() if way == "close" else stream.response.aclose())
        _, span = only_call(recording)
    assert (span.status, span.attributes[names.OUTCOME]) == (0, "aborted")


async def test_a_cancelled_call_is_cancelled(recording: Recording, server: MockModelServer):
    server.when(any_request(), delay(60, text("late")))
    async with async_client(server) as client:
        task = asyncio.create_task(client.messages.create(**ASKED))
        while not server.requests:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert only_call(recording)[1].attributes[names.OUTCOME] == "cancelled"


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        (rate_limit(0), anthropic.RateLimitError),
        (context_too_long(), anthropic.BadRequestError),
        (server_error(), anthropic.InternalServerError),
        (server_error(529), anthropic.InternalServerError),
        (dropped_connection(), anthropic.APIConnectionError),
    ],
)
@pytest.mark.parametrize("way", ["whole", "stream", "helper"])
@pytest.mark.covers("anthropic", "errors")
def test_an_error_is_the_clients_own_and_is_recorded(
    recording: Recording,
    client: anthropic.Anthropic,
    server: MockModelServer,
    answer: Any,
    error: type[Exception],
    way: str,
):
    server.when(any_request(), answer)

    def ask() -> None:
        if way == "helper":
            with client.messages.stream(**ASKED):
                pass
        else:
            client.messages.create(**ASKED, stream=way == "stream")

    with pytest.raises(error) as caught:
        ask()
    seen, span = only_call(recording)
    assert span.status == 2
    assert span.attributes[names.ERROR_TYPE] == f"anthropic.{type(caught.value).__name__}"
    assert seen.value(span, names.ERROR_REF)["message"] == str(caught.value)


def test_retries_inside_the_client_are_one_call(recording: Recording, server: MockModelServer):
    server.when(sequence(1), rate_limit(0))
    server.when(sequence(2), server_error(529))
    server.otherwise(text(LONG))
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=3) as client:
        client.messages.create(**ASKED)
    assert len(server.requests) == 3
    seen, span = only_call(recording)
    assert (span.status, answer_of(seen, span)) == (0, LONG)


# --- the library's own spans -----------------------------------------------------------------------------------------


def test_a_call_that_the_librarys_own_span_tells_too_is_counted_once(
    recording: Recording, server: MockModelServer, monkeypatch: pytest.MonkeyPatch
):
    provider, exporter = TracerProvider(), InMemorySpanExporter()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(trace, "_TRACER_PROVIDER", provider)
    server.otherwise(text(LONG))

    @observe
    def agent() -> None:
        with anthropic.Anthropic(base_url=server.url, api_key="none") as client:
            client.messages.create(**ASKED)
            with client.messages.stream(**ASKED) as stream:
                stream.until_done()

    agent()
    received = tuple(map(as_received, exporter.get_finished_spans()))
    assert [span.name for span in received if "anthropic" in span.name], "the library has spans of its own"
    seen = recording.read()
    [run] = {str(span.attributes[names.RUN_ID]) for span in seen.spans}
    alone = projected(seen, run).row
    seen.spans += received
    together = projected(seen, run).row
    assert (together.llm_calls, together.input_tokens) == (2, alone.input_tokens)

"""Answers of Anthropic's Messages, given again in a resumed and in a forked run: as the library's own objects."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import pytest
from anthropic import beta_async_tool, beta_tool
from pydantic import BaseModel

import playhead
from playhead import observe
from playhead.model import names
from playhead.testing import (
    MockModelServer,
    any_request,
    dropped_connection,
    pytest_plugin,
    rate_limit,
    server_error,
    text,
    thinking,
    tool_call,
    tool_result_received,
)
from tests.support.journal_reader import Recording, start_recording

server = pytest_plugin.mock_model_server
HELLO: list[Any] = [{"role": "user", "content": "hello"}]
ASKED: Any = {"model": "m", "max_tokens": 2000, "messages": HELLO}
THINKING: Any = {"type": "adaptive"}
TOOLS: Any = [{"name": "look", "input_schema": {"type": "object"}}]


class Answer(BaseModel):
    n: int


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("anthropic")
        yield recording
        playhead.uninstrument("anthropic")


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest, caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    yield
    assert [record.message for record in caplog.records if record.name == "playhead"] == []


@pytest.fixture
def client(server: MockModelServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client:
        yield client


def seen(value: Any) -> Any:
    """All that a program can see of an object of the library's."""
    if isinstance(value, list):
        return [seen(each) for each in value]
    if not hasattr(value, "model_dump"):
        return value
    dumps = [value.model_dump(mode="json", exclude_unset=unset, warnings=False) for unset in (True, False)]
    return [type(value), *dumps, value.model_fields_set]


# --- ways to ask -----------------------------------------------------------------------------------------------------


def create(client: Any) -> Any:
    return client.messages.create(**ASKED, tools=TOOLS, thinking=THINKING)


def beta(client: Any) -> Any:
    return client.beta.messages.create(**ASKED, betas=["x"])


def parse(client: Any) -> Any:
    answer = client.messages.parse(**ASKED, output_format=Answer)
    assert answer.parsed_output == Answer(n=1)
    return answer


def beta_parse(client: Any) -> Any:
    return client.beta.messages.parse(**ASKED, output_format=Answer)


def raw_events(client: Any) -> Any:
    stream = client.messages.create(**ASKED, stream=True, thinking=THINKING)
    assert isinstance(stream, anthropic.Stream)
    assert stream.response.status_code == 200
    return list(stream)


def events_in_block(client: Any) -> Any:
    with client.beta.messages.create(**ASKED, stream=True) as stream:
        return [event.type for event in stream]


def stream(client: Any) -> Any:
    with client.messages.stream(**ASKED, thinking=THINKING) as stream:
        texts = list(stream.text_stream)
        return [texts, stream.get_final_message(), stream.current_message_snapshot]


def stream_events(client: Any) -> Any:
    with client.messages.stream(**ASKED) as stream:
        return [*stream, stream.get_final_text()]


def stream_parsed(client: Any) -> Any:
    with client.messages.stream(**ASKED, output_format=Answer) as stream:
        return stream.get_final_message().parsed_output


def beta_stream(client: Any) -> Any:
    with client.beta.messages.stream(**ASKED, betas=["x"]) as stream:
        return stream.get_final_message()


def raw_response(client: Any) -> Any:
    response = client.messages.with_raw_response.create(**ASKED)
    return [response.status_code, response.parse()]


def raw_stream(client: Any) -> Any:
    return list(client.messages.with_raw_response.create(**ASKED, stream=True).parse())


def streaming_response(client: Any) -> Any:
    with client.messages.with_streaming_response.create(**ASKED) as response:
        return response.parse()


def runner(client: Any) -> Any:
    @beta_tool
    def look(n: int) -> str:
        """Looks."""
        return f"found {n}"

    return list(client.beta.messages.tool_runner(**ASKED, tools=[look]))


def streamed_runner(client: Any) -> Any:
    @beta_tool
    def look(n: int) -> str:
        """Looks."""
        return f"found {n}"

    turns = client.beta.messages.tool_runner(**ASKED, tools=[look], stream=True)
    return [turn.get_final_message() for turn in turns]


WAYS = [
    create, beta, parse, beta_parse, raw_events, events_in_block, stream, stream_events, stream_parsed, beta_stream,
    raw_response, raw_stream, streaming_response, runner, streamed_runner,
]  # fmt: skip


def says(server: MockModelServer, ask: Callable[..., Any]) -> None:
    if ask in (runner, streamed_runner, async_runner):
        server.when(~tool_result_received("look"), text("I look.") + tool_call("look", {"n": 1}))
    elif ask is create:
        server.when(any_request(), thinking("hm") + text("é\u2028") + tool_call("look", {"n": 1}))
    server.otherwise(thinking("Let me think about it.") + text('{"n": 1}'))


def run_of(recording: Recording) -> str:
    [run] = {str(span.attributes[names.RUN_ID]) for span in recording.read().spans}
    return run


@pytest.mark.parametrize("ask", WAYS, ids=lambda ask: ask.__name__)
@pytest.mark.covers("anthropic", "resume")
def test_a_resumed_run_gets_what_the_first_got(
    recording: Recording, server: MockModelServer, client: anthropic.Anthropic, ask: Callable[[Any], Any]
):
    says(server, ask)

    @observe
    def agent() -> None:
        answers.append(seen(ask(client)))

    answers: list[Any] = []
    agent()
    requests = len(server.requests)
    assert requests >= 1
    with playhead.resume(run_of(recording)):
        agent()
    assert len(server.requests) == requests
    assert answers[1] == answers[0]


async def async_events(client: Any) -> Any:
    return [event async for event in await client.messages.create(**ASKED, stream=True)]


async def async_stream(client: Any) -> Any:
    async with client.messages.stream(**ASKED) as stream:
        texts = [each async for each in stream.text_stream]
        return [texts, await stream.get_final_message()]


async def async_beta_stream(client: Any) -> Any:
    async with client.beta.messages.stream(**ASKED) as stream:
        return await stream.get_final_message()


async def async_raw_response(client: Any) -> Any:
    response = await client.messages.with_raw_response.create(**ASKED)
    return await response.parse()


async def async_streaming_response(client: Any) -> Any:
    async with client.messages.with_streaming_response.create(**ASKED) as response:
        return await response.parse()


async def async_create(client: Any) -> Any:
    return [await client.messages.create(**ASKED), await client.beta.messages.parse(**ASKED, output_format=Answer)]


async def async_runner(client: Any) -> Any:
    @beta_async_tool
    async def look(n: int) -> str:
        """Looks."""
        return f"found {n}"

    return [turn async for turn in client.beta.messages.tool_runner(**ASKED, tools=[look])]


ASYNC_WAYS = [
    async_create, async_events, async_stream, async_beta_stream, async_raw_response, async_streaming_response,
    async_runner,
]  # fmt: skip


@pytest.mark.parametrize("ask", ASYNC_WAYS, ids=lambda ask: ask.__name__)
@pytest.mark.covers("anthropic", "resume")
def test_a_resumed_run_gets_what_the_first_got_asynchronously(
    recording: Recording, server: MockModelServer, ask: Callable[[Any], Any]
):
    says(server, ask)
    answers: list[Any] = []

    @observe
    async def agent() -> None:
        async with anthropic.AsyncAnthropic(base_url=server.url, api_key="none", max_retries=0) as client:
            answers.append(seen(await ask(client)))

    asyncio.run(agent())
    requests = len(server.requests)
    assert requests >= 1
    with playhead.resume(run_of(recording)):
        asyncio.run(agent())
    assert len(server.requests) == requests
    assert answers[1] == answers[0]


def test_a_tool_runners_tools_are_tool_calls_that_are_not_made_again(
    recording: Recording, server: MockModelServer, client: anthropic.Anthropic
):
    says(server, runner)
    made: list[int] = []

    @beta_tool
    def look(n: int) -> str:
        """Looks."""
        made.append(n)
        return f"found {n}"

    @observe
    def agent() -> str:
        turn: Any = client.beta.messages.tool_runner(**ASKED, tools=[look]).until_done()
        return turn.content[-1].text

    assert agent() == '{"n": 1}'
    journaled = recording.read()
    called = journaled.call("look")
    assert called.attributes[names.KIND] == "tool"
    assert called.attributes[names.TOOL_CALL_ID] == server.requests[1].body["messages"][-1]["content"][0]["tool_use_id"]
    assert journaled.value(called, names.TOOL_ARGUMENTS_REF) == {"n": 1}
    with playhead.resume(run_of(recording)):
        assert agent() == '{"n": 1}'
    assert made == [1]


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("failure", "kind"),
    [
        (rate_limit(0), anthropic.RateLimitError),
        (server_error(529), anthropic.APIStatusError),
        (dropped_connection(text("long enough to be cut"), after_chunks=4), httpx2.RemoteProtocolError),
    ],
)
@pytest.mark.covers("anthropic", "errors", "resume")
def test_an_error_is_raised_again(
    recording: Recording, server: MockModelServer, client: anthropic.Anthropic, failure: Any, kind: type[Exception]
):
    server.when(any_request(), failure)
    answers: list[Any] = []

    @observe
    def agent() -> None:
        received: list[Any] = []
        try:
            for event in client.messages.create(**ASKED, stream=True):
                received.append(event)  # noqa: PERF402 - what came before the error counts
        except (anthropic.APIError, httpx2.HTTPError) as error:
            answers.append((type(error), str(error), seen(received)))

    agent()
    requests = len(server.requests)
    with playhead.resume(run_of(recording)):
        agent()
    assert (len(server.requests), answers[1]) == (requests, answers[0])
    assert issubclass(answers[0][0], kind)


# --- forks -----------------------------------------------------------------------------------------------------------


def whole(client: Any, messages: Any) -> Any:
    return client.messages.create(model="m", max_tokens=9, system="Be kind.", messages=messages).content


def helped(client: Any, messages: Any) -> Any:
    with client.messages.stream(model="m", max_tokens=9, system="Be kind.", messages=messages) as stream:
        return stream.get_final_message().content


def streamed(client: Any, messages: Any) -> Any:
    text = ""
    for event in client.messages.create(model="m", max_tokens=9, system="Be kind.", messages=messages, stream=True):
        if event.type == "content_block_delta":
            text += event.delta.text
    return [anthropic.types.TextBlock(type="text", text=text)]


def two_turns(client: Any, ask: Callable[[Any, Any], Any]) -> str:
    messages: list[Any] = [{"role": "user", "content": "first"}]
    first = ask(client, messages)
    messages += [{"role": "assistant", "content": first}, {"role": "user", "content": "second"}]
    return first[0].text + " " + ask(client, messages)[0].text


@pytest.mark.parametrize("ask", [whole, helped, streamed], ids=lambda ask: ask.__name__)
@pytest.mark.covers("anthropic", "fork")
def test_a_fork_says_another_answer_or_asks_otherwise(
    recording: Recording, server: MockModelServer, client: anthropic.Anthropic, ask: Callable[[Any, Any], Any]
):
    server.otherwise(lambda request: text(f"<{request.messages[0]['content']} {len(request.messages)}>"))

    @observe
    def agent() -> str:
        return two_turns(client, ask)

    assert agent() == "<Be kind. 2> <Be kind. 4>"
    run = run_of(recording)
    with playhead.fork(run, at="chat", outcome={"message": "I say"}):
        assert agent() == "I say <Be kind. 4>"
    assert server.requests[-1].body["messages"][1]["content"] == [{"type": "text", "text": "I say"}]
    with playhead.fork(run, at="chat#2", outcome={"message": {"content": [{"type": "text", "text": "at last"}]}}):
        assert agent() == "<Be kind. 2> at last"
    with playhead.fork(run, at="chat#2", outcome={"system": "Be brief."}):
        assert agent() == "<Be kind. 2> <Be brief. 4>"
    assert server.requests[-1].body["system"] == "Be brief."
    with playhead.fork(run, at="chat#2", outcome={"messages": {1: "Hi"}}):
        assert agent() == "<Be kind. 2> <Be kind. 4>"
    assert server.requests[-1].body["messages"][0] == {"role": "user", "content": "Hi"}


def test_a_fork_of_a_tool_loop_keeps_its_results_together(
    recording: Recording, server: MockModelServer, client: anthropic.Anthropic
):
    calls = tool_call("look", {"n": 1}, call_id="c1") + tool_call("look", {"n": 2}, call_id="c2")
    server.when(~tool_result_received("look"), calls)
    server.otherwise(lambda request: text(request.messages[-1]["content"]))

    @observe
    def agent() -> str:
        messages: list[Any] = [*HELLO]
        create: Any = client.messages.create
        content = create(model="m", max_tokens=9, messages=messages).content
        results = [{"type": "tool_result", "tool_use_id": block.id, "content": "found"} for block in content]
        messages += [{"role": "assistant", "content": content}, {"role": "user", "content": results}]
        return create(model="m", max_tokens=9, messages=messages).content[0].text

    assert agent() == "found"
    run = run_of(recording)
    changed = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c2", "content": "nothing"}]}
    with playhead.fork(run, at="chat#2", outcome={"messages": {-1: changed}}, unrecorded="rerun"):
        assert agent() == "nothing"
    assert [block["content"] for block in server.requests[-1].body["messages"][-1]["content"]] == ["found", "nothing"]

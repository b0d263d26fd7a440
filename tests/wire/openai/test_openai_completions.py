"""The real `openai` client's text completions over loopback: recorded, exact, answered again, forked."""

import asyncio
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types import Completion

import playhead
from playhead.errors import ReplayError
from playhead.local.client import JournalClient
from playhead.model import names
from playhead.model.span import STATUS_ERROR, Span
from playhead.testing import MockModelServer, contains, pytest_plugin, rate_limit, text
from tests.support.journal_reader import Journaled, Recording, start_recording

server = pytest_plugin.mock_model_server


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("openai")
        yield recording
        playhead.uninstrument("openai")


@pytest.fixture
def client(server: MockModelServer) -> Iterator[openai.OpenAI]:
    server.when(contains("fail"), rate_limit(0))
    server.otherwise(text("and so it goes on and on"))
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client


def later(server: MockModelServer) -> openai.AsyncOpenAI:
    return openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0)


def calls(recording: Recording) -> tuple[Journaled, list[Span]]:
    seen = recording.read()
    return seen, sorted(seen.spans, key=lambda span: span.start_ns)


@pytest.mark.covers("openai", "spans", "messages", "usage")
def test_the_prompt_and_the_text_are_messages(recording: Recording, client: openai.OpenAI):
    answer = client.completions.create(model="m", prompt="Once", max_tokens=5, temperature=0.5, echo=False)
    seen, [span] = calls(recording)
    said = span.attributes
    assert span.name == "text_completion m"
    assert (said[names.KIND], said[names.OPERATION], said[names.PROVIDER]) == ("llm", "text_completion", "openai")
    assert (said[names.REQUEST_MAX_TOKENS], said[names.REQUEST_TEMPERATURE]) == (5, 0.5)
    assert answer.usage is not None
    assert said[names.INPUT_TOKENS] == answer.usage.prompt_tokens > 0
    assert said[names.OUTPUT_TOKENS] == answer.usage.completion_tokens > 0
    assert (said[names.RESPONSE_ID], said[names.FINISH_REASONS]) == (answer.id, ["stop"])
    assert seen.messages(said[names.INPUT_MESSAGES_REF]) == [
        {"role": "user", "parts": [{"type": "text", "content": "Once"}]}
    ]
    assert seen.messages(said[names.OUTPUT_MESSAGES_REF]) == [
        {"role": "assistant", "parts": [{"type": "text", "content": "and so it goes on and on"}]}
    ]
    assert not any("Once" in str(value) for value in said.values())


@pytest.mark.covers("openai", "streaming")
def test_a_stream_is_recorded_as_the_whole_text(recording: Recording, client: openai.OpenAI):
    client.completions.create(model="m", prompt=["One", "Two"])
    options: Any = {"include_usage": True}
    chunks = [*client.completions.create(model="m", prompt=["One", "Two"], stream=True, stream_options=options)]
    with client.completions.create(model="m", prompt="One", stream=True) as left:
        next(iter(left))
    assert len(chunks) > 4
    _, [whole, streamed, aborted] = calls(recording)
    for name in (names.OUTPUT_MESSAGES_REF, names.FINISH_REASONS, names.INPUT_TOKENS, names.OUTPUT_TOKENS):
        assert streamed.attributes[name] == whole.attributes[name]
    assert len(whole.attributes[names.FINISH_REASONS]) == 2
    assert aborted.attributes[names.OUTCOME] == "aborted"


@pytest.mark.covers("openai", "resume", "errors")
def test_the_record_gives_the_client_s_own_objects(server: MockModelServer, client: openai.OpenAI):
    create = client.completions.create

    async def ask_later() -> list[Any]:
        async with later(server) as asynchronous:
            whole = await asynchronous.completions.create(model="m", prompt="a")
            return [
                whole,
                *[c async for c in await asynchronous.completions.create(model="m", prompt="a", stream=True)],
            ]

    def program() -> list[Any]:
        said: list[Any] = [create(model="m", prompt="a"), *create(model="m", prompt="b", stream=True)]
        said.append(client.completions.with_raw_response.create(model="m", prompt="a").parse())
        try:
            create(model="m", prompt="fail")
        except openai.RateLimitError as error:
            said.append((type(error), error.status_code, error.message))
        return said + asyncio.run(ask_later())

    with playhead.run("r") as run:
        live = program()
    asked = len(server.requests)
    with playhead.resume(run.id or "", completed="rerun") as resumed, playhead.run("r"):
        replayed = program()
    assert (len(server.requests), resumed.report.live) == (asked, 0)
    assert replayed == live
    assert [*map(type, replayed)] == [*map(type, live)]
    assert type(replayed[0]) is Completion


def test_a_refused_call_is_an_error(recording: Recording, client: openai.OpenAI):
    with pytest.raises(openai.RateLimitError):
        client.completions.create(model="m", prompt="fail")
    _, [span] = calls(recording)
    assert (span.status, names.RESPONSE_REF in span.attributes) == (STATUS_ERROR, False)


def one(client: openai.OpenAI, **asked: Any) -> str:
    answer: Any = client.completions.create(model="m", **asked)
    return "".join(chunk.choices[0].text for chunk in answer) if asked.get("stream") else answer.choices[0].text


@pytest.mark.covers("openai", "fork")
@pytest.mark.parametrize("more", [{}, {"stream": True}], ids=str)
def test_a_fork_answers_and_asks_otherwise(server: MockModelServer, client: openai.OpenAI, more: Any):
    with playhead.run("r") as run:
        one(client, prompt="Once", **more)
    run_id = run.id or ""
    for outcome in ("No.", {"message": {"content": "No."}}):
        with playhead.fork(run_id, at="text_completion", outcome=outcome), playhead.run("r"):
            assert one(client, prompt="Once", **more) == "No."
    asked = len(server.requests)
    edit: Any = {"messages": [{"role": "user", "content": "Never"}]}
    with playhead.fork(run_id, at="text_completion", outcome=edit), playhead.run("r"):
        one(client, prompt="Once", **more)
    [request] = server.requests[asked:]
    assert request.body["prompt"] == "Never"
    call = {"tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}]}
    with (
        pytest.raises(ReplayError, match="this answer is a text"),
        playhead.fork(run_id, at="text_completion", outcome={"message": call}),
        playhead.run("r"),
    ):
        one(client, prompt="Once", **more)


def plain(client: openai.OpenAI, _: MockModelServer) -> None:
    client.completions.create(model="m", prompt="Once", stop=None, logit_bias={"5": -1}, seed=openai.omit)
    client.completions.create(model="m", prompt=["One", "Two"], n=2, extra_body={"top_k": 5, "nothing": None})
    client.completions.create(model="m", prompt=iter(["One"]))  # pyright: ignore[reportArgumentType]
    client.completions.create(model="m", prompt="")


def tokens(client: openai.OpenAI, _: MockModelServer) -> None:
    """No texts: recorded with the settings."""
    client.completions.create(model="m", prompt=[1, 2, 3])
    client.completions.create(model="m", prompt=[[1, 2], [3]])


def streamed(client: openai.OpenAI, _: MockModelServer) -> None:
    list(client.completions.create(model="m", prompt="Once", stream=True, stream_options={"include_usage": True}))
    list(client.completions.create(model="m", prompt=["One", "Two"], stream=True))


def asynchronous(_: openai.OpenAI, server: MockModelServer) -> None:
    async def ask() -> None:
        async with later(server) as client:
            await client.completions.create(model="m", prompt="Once")
            async for _ in await client.completions.create(model="m", prompt="Once", stream=True):
                pass

    asyncio.run(ask())


@pytest.mark.covers("openai", "messages", "streaming")
@pytest.mark.parametrize("ask", [plain, tokens, streamed, asynchronous], ids=lambda ask: ask.__name__)
def test_the_request_is_given_back_as_it_was_sent(
    server: MockModelServer, client: openai.OpenAI, recording: Recording, ask: Callable[..., None]
):
    with playhead.run("r") as run:
        ask(client, server)
    playhead.flush()
    with JournalClient(recording.folder, pytest.fail) as reader:
        recorded = [*reader.llm_calls(run.id or "")]
        told = [reader.context(run.id or "", at=call["seq"], exact=True).get("request") for call in recorded]
    assert [*map(as_text, told)] == [as_text(request.body) for request in server.requests]
    assert len(told) >= 2


def as_text(value: Any) -> str:
    """Tells 1, 1.0 and true apart, and a key that is null from one that is not there."""
    return json.dumps(value, sort_keys=True, indent=1)

"""Recorded answers of Gemini, given back: a program cannot tell them from live ones, and nothing is asked twice."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google import genai
from google.genai import errors, types
from pydantic import BaseModel

import playhead
from playhead.errors import ReplayError
from playhead.testing import (
    MockModelServer,
    contains,
    pytest_plugin,
    rate_limit,
    text,
    thinking,
    tool_call,
    tool_calls,
    tool_result_received,
)
from tests.support.journal_reader import Recording, start_recording

server = pytest_plugin.mock_model_server
MODEL = "gemini-2.5-flash"
LONG = "Here is an answer that is long enough for a number of chunks, so that there is a stream."
THINK = types.ThinkingConfig(include_thoughts=True)
# Of the HTTP exchange, which is not recorded.
NOT_KEPT: Any = {"sdk_http_response"}
covers = pytest.mark.covers


class Answer(BaseModel):
    n: int


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        playhead.instrument("google.genai")
        yield recording
        playhead.uninstrument("google.genai")


@pytest.fixture
def client(server: MockModelServer) -> Iterator[genai.Client]:
    server.otherwise(thinking("One must think about it.") + text(LONG))
    with genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.url)) as client:
        yield client


def run(program: Callable[[], Any]) -> tuple[str, Any]:
    with playhead.run("r") as run:
        result = program()
    assert run.id is not None
    return run.id, result


def again(server: MockModelServer, program: Callable[[], Any]) -> tuple[Any, Any]:
    """What the program gave live, and what it gives from the record; no request is made for the second."""
    run_id, live = run(program)
    requests = len(server.requests)
    with playhead.resume(run_id, completed="rerun") as rewound, playhead.run("r"):
        replayed = program()
    assert len(server.requests) == requests
    assert rewound.report.live == 0
    return live, replayed


def dumped(response: Any) -> Any:
    return response.model_dump(exclude=NOT_KEPT)


@covers("google-genai", "resume", "reasoning")
@pytest.mark.parametrize(
    "answer",
    [
        text("done"),
        thinking("Hm.") + text("é\u2028"),
        thinking("Hm.") + tool_call("look", {"z": 1, "a": {"y": 1.0, "b": None}}),
        text("x", finish_reason="content_filter"),
    ],
    ids=["text", "thought", "call", "filtered"],
)
def test_an_answer_is_the_one_that_the_program_got(server: MockModelServer, client: genai.Client, answer: Any):
    server.otherwise(answer)
    config = types.GenerateContentConfig(thinking_config=THINK)

    def ask() -> Any:
        return client.models.generate_content(model=MODEL, contents="hello", config=config)

    live, replayed = again(server, ask)
    assert type(replayed) is types.GenerateContentResponse
    assert dumped(replayed) == dumped(live)
    # The order of a call's arguments, too: programs write them into messages.
    assert json.dumps(dumped(replayed), default=repr) == json.dumps(dumped(live), default=repr)


@covers("google-genai", "resume", "streaming")
def test_a_stream_comes_chunk_by_chunk(server: MockModelServer, client: genai.Client):
    config = types.GenerateContentConfig(thinking_config=THINK)

    def ask() -> list[Any]:
        return list(client.models.generate_content_stream(model=MODEL, contents="hello", config=config))

    live, replayed = again(server, ask)
    assert len(live) > 3
    assert list(map(dumped, replayed)) == list(map(dumped, live))


@covers("google-genai", "resume")
def test_a_structured_answer_is_parsed_again(server: MockModelServer, client: genai.Client):
    server.otherwise(text('{"n": 3}'))
    config = types.GenerateContentConfig(response_schema=Answer, response_mime_type="application/json")
    live, replayed = again(
        server, lambda: client.models.generate_content(model=MODEL, contents="n?", config=config).parsed
    )
    assert replayed == live == Answer(n=3)


@covers("google-genai", "resume", "streaming")
def test_a_chat_has_its_history_again_and_goes_on_live(server: MockModelServer, client: genai.Client):
    def talk(turns: int) -> list[Any]:
        chat = client.chats.create(model=MODEL, config=types.GenerateContentConfig(thinking_config=THINK))
        for turn in range(turns):
            chat.send_message(f"turn {turn}")
            for _ in chat.send_message_stream(f"turn {turn} again"):
                pass
        return [content.model_dump() for content in chat.get_history()]

    live, replayed = again(server, lambda: talk(2))
    assert replayed == live
    with contextlib.suppress(ConnectionError), playhead.run("r") as cut:
        talk(1)
        raise ConnectionError
    assert cut.id is not None
    requests = len(server.requests)
    with playhead.resume(cut.id), playhead.run("r"):
        talk(2)
    assert len(server.requests) == requests + 2
    assert server.requests[-1].body == server.requests[3].body


@covers("google-genai", "resume", "streaming")
def test_asynchronous_calls_are_answered_again(server: MockModelServer, client: genai.Client):
    async def talk() -> Any:
        async with genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.url)).aio as later:
            chunks = await later.models.generate_content_stream(model=MODEL, contents="hello")
            streamed = [dumped(chunk) async for chunk in chunks]
            return streamed, dumped(await later.chats.create(model=MODEL).send_message("more"))

    live, replayed = again(server, lambda: asyncio.run(talk()))
    assert replayed == live


@covers("google-genai", "resume", "errors")
@pytest.mark.parametrize("streamed", [False, True])
def test_an_error_is_raised_again(server: MockModelServer, client: genai.Client, streamed: bool):
    server.when(contains("limit"), rate_limit(0.5))

    def ask() -> Any:
        method: Any = client.models.generate_content_stream if streamed else client.models.generate_content
        with pytest.raises(errors.ClientError) as raised:
            list(method(model=MODEL, contents="limit"))
        return raised.value.code, raised.value.status, raised.value.message, str(raised.value)

    live, replayed = again(server, ask)
    assert replayed == live
    assert live[0] == 429


# --- functions that the client calls ---------------------------------------------------------------------------------


class Looked:
    """A function for the model, and where it has looked.  No method: the client copies a method's object."""

    def __init__(self) -> None:
        self.at: list[str] = []
        at = self.at

        def look(place: str) -> dict[str, Any]:
            """Looks at the weather."""
            at.append(place)
            if place == "Nowhere":
                raise ValueError("no such place")
            return {"sky": "sunny", "at": place}

        self.look = look


def asks_to_look(server: MockModelServer) -> None:
    places = ("Bern", "Nowhere", "Thun")
    server.when(~tool_result_received("look"), tool_calls(*(tool_call("look", {"place": place}) for place in places)))


@covers("google-genai", "resume", "tools")
@pytest.mark.parametrize("how", ["models", "stream", "chat", "async"])
def test_functions_are_not_called_again(server: MockModelServer, client: genai.Client, how: str):
    asks_to_look(server)
    looked = Looked()
    config = types.GenerateContentConfig(tools=[looked.look])

    async def later() -> Any:
        async with genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.url)).aio as aio:
            return dumped(await aio.models.generate_content(model=MODEL, contents="weather?", config=config))

    def ask() -> Any:
        if how == "async":
            return asyncio.run(later())
        if how == "chat":
            chat = client.chats.create(model=MODEL, config=config)
            chat.send_message("weather?")
            return [content.model_dump() for content in chat.get_history()]
        asked: Any = {"model": MODEL, "contents": "weather?", "config": config}
        if how == "stream":
            return list(map(dumped, client.models.generate_content_stream(**asked)))
        return dumped(client.models.generate_content(**asked))

    live, replayed = again(server, ask)
    assert replayed == live
    assert looked.at == ["Bern", "Nowhere", "Thun"]
    assert len(server.requests) == 2


@covers("google-genai", "resume", "tools")
def test_what_was_cut_off_between_functions_goes_on_there(server: MockModelServer, client: genai.Client):
    asks_to_look(server)
    looked = Looked()
    config = types.GenerateContentConfig(tools=[looked.look])

    def ask(last: Callable[[], None]) -> str | None:
        answer = client.chats.create(model=MODEL, config=config).send_message("weather?").text
        last()
        return answer

    def broken() -> None:
        raise ConnectionError

    with contextlib.suppress(ConnectionError), playhead.run("r") as cut:
        ask(broken)
    assert cut.id is not None
    with playhead.resume(cut.id), playhead.run("r"):
        assert ask(lambda: None) == LONG
    assert looked.at == ["Bern", "Nowhere", "Thun"]
    assert len(server.requests) == 2


# --- forks -----------------------------------------------------------------------------------------------------------


def talk(client: genai.Client, *, streamed: bool = False) -> list[str]:
    """Two turns of a chat."""
    chat = client.chats.create(model=MODEL, config=types.GenerateContentConfig(system_instruction="Be kind."))
    said: list[str] = []
    for turn in ("one", "two"):
        if streamed:
            said.append("".join(chunk.text or "" for chunk in chat.send_message_stream(turn)))
        else:
            said.append(chat.send_message(turn).text or "")
    return said


@covers("google-genai", "fork")
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "message",
    ["Otherwise.", {"role": "model", "parts": [{"text": "Other"}, {"text": "wise."}]}],
    ids=["text", "content"],
)
def test_a_fork_has_another_answer(server: MockModelServer, client: genai.Client, streamed: bool, message: Any):
    parent, _ = run(lambda: talk(client, streamed=streamed))
    requests = len(server.requests)
    with playhead.fork(parent, at="generate_content", outcome={"message": message}), playhead.run("r"):
        assert talk(client, streamed=streamed) == ["Otherwise.", LONG]
    [request] = server.requests[requests:]
    assert [entry["content"] for entry in request.messages] == ["Be kind.", "one", "Otherwise.", "two"]


@covers("google-genai", "fork", "tools")
def test_a_fork_may_ask_for_a_function(server: MockModelServer, client: genai.Client):
    looked = Looked()
    config = types.GenerateContentConfig(tools=[looked.look])

    def ask() -> str | None:
        return client.models.generate_content(model=MODEL, contents="weather?", config=config).text

    parent, _ = run(ask)
    call = {"parts": [{"functionCall": {"name": "look", "args": {"place": "Thun"}}}]}
    with playhead.fork(parent, at="generate_content", outcome={"message": call}), playhead.run("r"):
        assert ask() == LONG
    assert looked.at == ["Thun"]


@covers("google-genai", "fork")
@pytest.mark.parametrize("streamed", [False, True])
def test_a_fork_asks_otherwise(server: MockModelServer, client: genai.Client, streamed: bool):
    parent, _ = run(lambda: talk(client, streamed=streamed))
    requests = len(server.requests)
    with playhead.fork(parent, at="generate_content#2", outcome={"system": "Be brief."}), playhead.run("r"):
        talk(client, streamed=streamed)
    [request] = server.requests[requests:]
    assert [entry["content"] for entry in request.messages] == ["Be brief.", "one", LONG, "two"]
    assert request.body["systemInstruction"] == {"parts": [{"text": "Be brief."}], "role": "user"}
    with playhead.fork(parent, at="generate_content", outcome={"messages": {"1": "three"}}), playhead.run("r"):
        talk(client, streamed=streamed)
    asked = [[entry["content"] for entry in request.messages] for request in server.requests[requests + 1 :]]
    assert asked == [["Be kind.", "three"], ["Be kind.", "three", LONG, "two"]]


# --- embeddings ------------------------------------------------------------------------------------------------------


@covers("google-genai", "resume", "fork")
def test_embeddings_come_from_the_record(server: MockModelServer, client: genai.Client):
    def ask() -> Any:
        config = types.EmbedContentConfig(output_dimensionality=40)
        return client.models.embed_content(model="gemini-embedding-001", contents=["a", "b"], config=config)

    live, replayed = again(server, ask)
    assert dumped(replayed) == dumped(live)
    parent, _ = run(ask)
    with (
        pytest.raises(ReplayError, match="an embedding has no message"),
        playhead.fork(parent, at="embeddings", outcome="a text"),
        playhead.run("r"),
    ):
        ask()

"""Answers of the mock model server, recorded and restored: user code must not be able to tell them from live ones.

`Tape` does to the client what instrumentation does: it wraps the library's methods, keeps what capture would keep of
an answer, and later answers from that.
"""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, cast

import httpx
import openai
import pytest
import wrapt
from openai.resources.chat.completions import AsyncCompletions, Completions
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ParsedChatCompletion
from pydantic import BaseModel

from playhead.capture.openai import read_response
from playhead.capture.openai.replay import restore
from playhead.errors import CannotRestore
from playhead.model.canonical import canonical_json, parse_json
from playhead.refs.faithful import decode, decode_error, encode, encode_error
from playhead.testing import MockModelServer, context_too_long, pytest_plugin, rate_limit, text, thinking, tool_call

HELLO: Any = [{"role": "user", "content": "hello"}]
server = pytest_plugin.mock_model_server


class Weather(BaseModel):
    city: str
    degrees: float


WEATHER = '{"city": "Bern", "degrees": 7.5}'


class Tape:
    """Records the answers of live calls, and plays them back."""

    def __init__(self) -> None:
        self.answers: list[Any] = []
        self.headers: dict[str, str] = {}
        self.playing = False

    def kept(self, answer: Any) -> Any:
        """What the record holds, as read back from its bytes."""
        self.answers.append(parse_json(canonical_json(answer)))

    def seen(self, result: Any, kwargs: Any) -> Any:
        if not kwargs.get("stream"):
            completion = result if hasattr(result, "choices") else result.parse()
            response = read_response(completion)
            assert response is not None
            self.kept(response.raw)
            self.headers = {"x-request-id": completion._request_id}
        return result

    def around(self, method: str, *, is_async: bool) -> Callable[..., Any]:
        async def live(wrapped: Any, kwargs: Any) -> Any:
            return self.seen(await wrapped(**kwargs), kwargs)

        def wrapper(wrapped: Any, resource: Any, args: Any, kwargs: Any) -> Any:
            if self.playing:
                answer = self.answers.pop(0)
                return restore(answer, kwargs, resource, method=method, is_async=is_async, headers=self.headers)
            if is_async:
                return live(wrapped, kwargs)
            return self.seen(wrapped(**kwargs), kwargs)

        return wrapper


def chunk_values(chunks: list[Any]) -> Any:
    return {"stream": [chunk.model_dump(mode="json", exclude_unset=True) for chunk in chunks]}


@pytest.fixture
def tape(monkeypatch: pytest.MonkeyPatch) -> Tape:
    tape = Tape()
    for owner, is_async in ((Completions, False), (AsyncCompletions, True)):
        for method in ("create", "parse"):
            if hasattr(owner, method):
                around = tape.around(method, is_async=is_async)
                monkeypatch.setattr(owner, method, wrapt.FunctionWrapper(vars(owner)[method], around))
    return tape


@pytest.fixture
def client(server: MockModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client


def asynchronous(server: MockModelServer) -> Any:
    return openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0)


def twice(tape: Tape, server: MockModelServer, ask: Callable[[], Any]) -> tuple[Any, Any]:
    """What asking gave live, and what it gives from the tape; no request is made for the second."""
    live = ask()
    requests = len(server.requests)
    tape.playing = True
    replayed = ask()
    assert len(server.requests) == requests
    assert not tape.answers
    return live, replayed


def the_same(live: Any, replayed: Any) -> None:
    assert type(replayed) is type(live)
    assert replayed == live
    for exclude_unset in (False, True):
        # What parse() made is no field that openai's own class expects: dumping it warns, live as well.
        asked: Any = {"exclude_unset": exclude_unset, "warnings": False}
        assert replayed.model_dump(**asked) == live.model_dump(**asked)
        assert replayed.model_dump_json(**asked) == live.model_dump_json(**asked)
    assert replayed.model_fields_set == live.model_fields_set
    assert getattr(replayed, "_request_id", None) == getattr(live, "_request_id", None)
    assert encode(replayed) == encode(live)
    assert decode(encode(live)) == live
    assert type(decode(encode(live))) is type(live)


# --- whole answers ---------------------------------------------------------------------------------------------------


@pytest.mark.covers("openai", "resume")
@pytest.mark.parametrize(
    "answer",
    [text("done"), thinking("hm") + text("x"), tool_call("look", {"id": 1}), text("é\u2028") + tool_call("t", {})],
)
def test_a_completion_is_the_one_that_the_user_got(
    tape: Tape, server: MockModelServer, client: openai.OpenAI, answer: Any
) -> None:
    server.otherwise(answer)
    live, replayed = twice(tape, server, lambda: client.chat.completions.create(model="m", messages=HELLO))
    assert type(replayed) is ChatCompletion
    the_same(live, replayed)
    assert type(replayed.choices[0].message) is type(live.choices[0].message)


def test_an_asynchronous_completion_is_the_one_that_the_user_got(tape: Tape, server: MockModelServer) -> None:
    server.otherwise(text("done"))

    async def ask() -> Any:
        async with asynchronous(server) as client:
            return await client.chat.completions.create(model="m", messages=HELLO)

    the_same(*twice(tape, server, lambda: asyncio.run(ask())))


def parse(client: Any, **more: Any) -> Any:
    if not hasattr(client.chat.completions, "parse"):
        pytest.skip("this version of openai has parse() elsewhere")
    return client.chat.completions.parse(model="m", messages=HELLO, **more)


def test_a_parsed_completion_is_parsed_again(tape: Tape, server: MockModelServer, client: openai.OpenAI) -> None:
    server.otherwise(text(WEATHER))
    live, replayed = twice(tape, server, lambda: parse(client, response_format=Weather))
    assert isinstance(replayed, ParsedChatCompletion)
    the_same(live, replayed)
    assert replayed.choices[0].message.parsed == Weather(city="Bern", degrees=7.5)


def test_the_arguments_of_tools_are_parsed_again(tape: Tape, server: MockModelServer, client: openai.OpenAI) -> None:
    server.otherwise(tool_call("Weather", {"city": "Bern", "degrees": 1}))
    tools = [openai.pydantic_function_tool(Weather)]
    live, replayed = twice(tape, server, lambda: parse(client, tools=tools))
    the_same(live, replayed)
    called = replayed.choices[0].message.tool_calls[0].function
    assert called.parsed_arguments == Weather(city="Bern", degrees=1)


def test_an_asynchronous_parsed_completion_is_parsed_again(tape: Tape, server: MockModelServer) -> None:
    server.otherwise(text(WEATHER))

    async def ask() -> Any:
        async with asynchronous(server) as client:
            return await parse(client, response_format=Weather)

    the_same(*twice(tape, server, lambda: asyncio.run(ask())))


def test_a_raw_response_can_be_read_in_every_way(tape: Tape, server: MockModelServer, client: openai.OpenAI) -> None:
    server.otherwise(text("done"))
    live, replayed = twice(
        tape, server, lambda: client.chat.completions.with_raw_response.create(model="m", messages=HELLO)
    )
    assert type(replayed) is type(live)
    the_same(live.parse(), replayed.parse())
    assert parse_json(replayed.text) == parse_json(live.text)
    assert parse_json(replayed.content) == replayed.http_response.json()
    assert (replayed.status_code, replayed.url, replayed.method) == (live.status_code, live.url, live.method)
    assert replayed.headers["content-type"].startswith("application/json")
    assert type(replayed.http_response) is type(live.http_response)
    assert replayed.http_request.content == live.http_request.content
    assert replayed.http_version == live.http_version
    assert (replayed.is_closed, replayed.retries_taken) == (live.is_closed, live.retries_taken)
    assert replayed.elapsed.total_seconds() == 0
    assert replayed.request_id == live.request_id == live.parse()._request_id


def test_an_asynchronous_raw_response_can_be_parsed(tape: Tape, server: MockModelServer) -> None:
    server.otherwise(text("done"))

    async def ask() -> Any:
        async with asynchronous(server) as client:
            return await client.chat.completions.with_raw_response.create(model="m", messages=HELLO)

    live, replayed = twice(tape, server, lambda: asyncio.run(ask()))
    assert type(replayed) is type(live)
    the_same(live.parse(), replayed.parse())


# --- streams ---------------------------------------------------------------------------------------------------------


def streamed(client: Any) -> Any:
    return client.chat.completions.create(
        model="m", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )


def play(tape: Tape, answer: Any) -> None:
    tape.kept(answer)
    tape.playing = True


@pytest.mark.covers("openai", "resume", "streaming")
def test_a_stream_comes_again_chunk_by_chunk(tape: Tape, server: MockModelServer, client: openai.OpenAI) -> None:
    server.otherwise(thinking("let me see") + text("one two three four five six") + tool_call("t", {"a": "x" * 60}))
    stream = streamed(client)
    live = list(stream)
    play(tape, chunk_values(live))
    with streamed(client) as replayed:
        assert type(replayed) is type(stream)
        assert isinstance(replayed, openai.Stream)
        assert replayed.response.status_code == 200
        assert replayed.response.headers["content-type"] == "text/event-stream; charset=utf-8"
        assert not replayed.response.is_closed
        first = next(replayed)
        assert type(first) is ChatCompletionChunk
        chunks = [first, *replayed]
    assert len(chunks) == len(live) > 3
    for one, other in zip(live, chunks, strict=True):
        the_same(one, other)
    assert replayed.response.is_closed
    assert list(replayed) == []
    assert len(server.requests) == 1


def test_a_replayed_stream_can_be_closed_early(tape: Tape, server: MockModelServer, client: openai.OpenAI) -> None:
    server.otherwise(text("one two three four five six"))
    play(tape, chunk_values(list(streamed(client))))
    replayed = streamed(client)
    next(replayed)
    replayed.close()
    assert replayed.response.is_closed


def test_an_asynchronous_stream_comes_again_chunk_by_chunk(tape: Tape, server: MockModelServer) -> None:
    server.otherwise(text("one two three four five six"))

    async def ask() -> tuple[Any, list[Any]]:
        async with asynchronous(server) as client, await streamed(client) as stream:
            return stream, [chunk async for chunk in stream]

    stream, live = asyncio.run(ask())
    play(tape, chunk_values(live))
    replayed, chunks = asyncio.run(ask())
    assert type(replayed) is type(stream)
    assert isinstance(replayed, openai.AsyncStream)
    for one, other in zip(live, chunks, strict=True):
        the_same(one, other)
    assert replayed.response.is_closed


def helper(client: Any) -> Any:
    chat = client.chat.completions
    return (chat if hasattr(chat, "stream") else client.beta.chat.completions).stream


def test_the_stream_helper_works_on_a_replayed_stream(
    tape: Tape, server: MockModelServer, client: openai.OpenAI
) -> None:
    server.otherwise(text(WEATHER))

    def ask() -> tuple[list[Any], Any]:
        with helper(client)(model="m", messages=HELLO, response_format=Weather) as stream:
            return list(stream), stream.get_final_completion()

    events, final = ask()
    play(tape, chunk_values([event.chunk for event in events if event.type == "chunk"]))
    events_again, final_again = ask()
    assert [event.type for event in events_again] == [event.type for event in events]
    assert final_again == final
    assert final_again.choices[0].message.parsed == Weather(city="Bern", degrees=7.5)
    assert len(server.requests) == 1


def test_the_asynchronous_stream_helper_works_on_a_replayed_stream(tape: Tape, server: MockModelServer) -> None:
    server.otherwise(text("one two three four five six"))

    async def ask() -> tuple[list[Any], Any]:
        async with asynchronous(server) as client, helper(client)(model="m", messages=HELLO) as stream:
            return [event async for event in stream], await stream.get_final_completion()

    events, final = asyncio.run(ask())
    play(tape, chunk_values([event.chunk for event in events if event.type == "chunk"]))
    assert asyncio.run(ask())[1].to_json() == final.to_json()


def test_a_stream_that_broke_breaks_again_at_the_same_chunk(server: MockModelServer, client: openai.OpenAI) -> None:
    server.otherwise(text("one two three four five six"))
    live = list(streamed(client))
    ending = ConnectionResetError(104, "reset")
    broken: Any = restore(
        chunk_values(live[:2]), {"model": "m", "messages": HELLO, "stream": True}, client.chat.completions,
        method="create", is_async=False, ending=ending,
    )  # fmt: skip
    assert [next(broken), next(broken)] == live[:2]
    with pytest.raises(ConnectionResetError) as raised:
        next(broken)
    assert raised.value is ending


# --- clients ---------------------------------------------------------------------------------------------------------

WHOLE = {
    "id": "c1", "object": "chat.completion", "created": 1, "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "x"}}],
}  # fmt: skip


def refuse(*_: Any, **__: Any) -> Any:
    raise AssertionError("replay asked for something outside of the record")


def again(client: Any, raw: Any = WHOLE, **more: Any) -> Any:
    asked = {"model": "m", "messages": HELLO, **more}
    return restore(raw, asked, client.chat.completions, method="create", is_async=False)


def test_no_credentials_are_fetched_and_none_are_needed() -> None:
    azure = openai.AzureOpenAI(
        azure_endpoint="http://x.test", api_version="1", azure_ad_token_provider=refuse, max_retries=0
    )
    assert again(azure).choices[0].message.content == "x"
    fetching = openai.OpenAI(base_url="http://x.test", api_key="none")
    fetching.api_key = ""
    assert again(fetching).choices[0].message.content == "x"
    azure.close()
    fetching.close()


def test_a_client_that_was_made_with_httpx_gets_httpx_responses(server: MockModelServer, tape: Tape) -> None:
    server.otherwise(text("done"))
    with openai.OpenAI(base_url=server.base_url, api_key="none", http_client=cast(Any, httpx.Client())) as client:
        live, replayed = twice(
            tape, server, lambda: client.chat.completions.with_raw_response.create(model="m", messages=HELLO)
        )
    assert type(replayed.http_response) is type(live.http_response) is httpx.Response


def test_the_users_own_client_stays_as_it_was(client: openai.OpenAI) -> None:
    again(client)  # the client makes some of its attributes when they are first asked for
    before = dict(vars(client))
    again(client)
    assert vars(client) == before


def test_a_subclass_of_the_client_with_hooks_of_its_own_works(server: MockModelServer) -> None:
    class Gateway(openai.OpenAI):
        def __init__(self, route: str):
            super().__init__(base_url=server.base_url, api_key=route)

        _prepare_options = refuse
        _prepare_request = refuse

    with Gateway("route") as client:
        assert again(client).choices[0].message.content == "x"


def test_a_client_that_does_not_ask_over_its_line_is_noticed() -> None:
    class Local(openai.OpenAI):
        def request(self, *_: Any, **__: Any) -> Any:
            return "made up"

    with Local(base_url="http://x.test", api_key="none") as client, pytest.raises(CannotRestore, match="sends? its"):
        again(client)


@pytest.mark.parametrize(
    ("raw", "more", "why"),
    [
        ({"$playhead": "too large", "bytes": 9}, {}, "too large"),
        (None, {}, "none was recorded"),
        ({"stream": []}, {}, "none was recorded"),
        (WHOLE, {"stream": True}, "none was recorded"),
        ("text", {}, "none was recorded"),
    ],
)
def test_what_was_not_recorded_is_not_made_up(client: openai.OpenAI, raw: Any, more: Any, why: str) -> None:
    with pytest.raises(CannotRestore, match=why):
        again(client, raw, **more)


def test_an_answer_that_no_longer_parses_is_refused(client: openai.OpenAI) -> None:
    asked = {"model": "m", "messages": HELLO, "response_format": Weather}
    with pytest.raises(CannotRestore, match="ValidationError|has no Completions.parse"):
        restore(WHOLE, asked, client.chat.completions, method="parse", is_async=False)


# --- errors ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "kind"), [(rate_limit(), openai.RateLimitError), (context_too_long(), openai.BadRequestError)]
)
def test_an_error_of_the_client_comes_back_whole(
    server: MockModelServer, client: openai.OpenAI, answer: Any, kind: type
) -> None:
    server.otherwise(answer)
    with pytest.raises(openai.APIStatusError) as failed:
        client.chat.completions.create(model="m", messages=HELLO)
    live = failed.value
    replayed: Any = decode_error(parse_json(canonical_json(encode_error(live))))
    assert type(replayed) is type(live) is kind
    for name in ("status_code", "code", "body", "message", "param", "type", "request_id"):
        assert getattr(replayed, name) == getattr(live, name)
    assert str(replayed) == str(live)
    assert replayed.response.status_code == live.status_code
    assert replayed.response.headers.get("retry-after") == live.response.headers.get("retry-after")
    assert replayed.response.json() == live.response.json()
    assert replayed.request.url == live.request.url
    assert "none" not in repr(encode_error(live)).replace("None", "")


def test_a_connection_error_comes_back_with_its_cause(client: openai.OpenAI) -> None:
    unreachable = client.with_options(base_url="http://127.0.0.1:9/v1")
    with pytest.raises(openai.APIConnectionError) as failed:
        unreachable.chat.completions.create(model="m", messages=HELLO)
    replayed: Any = decode_error(parse_json(canonical_json(encode_error(failed.value))))
    assert type(replayed) is openai.APIConnectionError
    assert str(replayed) == "Connection error."
    assert type(replayed.__cause__) is type(failed.value.__cause__)

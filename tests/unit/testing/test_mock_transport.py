"""The mock server without a socket: real clients over `http_client()`, streams and faults included."""

import asyncio
from types import SimpleNamespace
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest
from google import genai

from playhead.testing import (
    MockModelServer,
    contains,
    delay,
    dropped_connection,
    rate_limit,
    text,
    thinking,
    tool_call,
    tool_offered,
)

QUESTION: list[Any] = [{"role": "user", "content": "hello"}]


def make_client(server: MockModelServer, **options: Any) -> openai.OpenAI:
    options = {"api_key": "none", "http_client": server.http_client(), "max_retries": 0} | options
    return openai.OpenAI(**options)


def test_a_client_is_answered_without_a_socket_and_without_starting_the_server():
    server = MockModelServer()
    server.otherwise(text("hi"))
    with make_client(server) as client:
        completion = client.chat.completions.create(model="m", messages=QUESTION)
        responded = client.responses.create(model="m", input="hello")
    assert (completion.choices[0].message.content, responded.output_text) == ("hi", "hi")
    assert [request.number for request in server.requests] == [1, 2]


@pytest.mark.parametrize("library", [httpx, httpx2])
def test_both_libraries_clients_give_the_same(library: Any):
    server = MockModelServer()
    server.otherwise(text("hi"))
    with server.http_client(library, base_url="http://anywhere") as client:
        assert isinstance(client, library.Client)
        answer = client.post("/v1/chat/completions", json={"model": "m", "messages": QUESTION})
    assert answer.json()["choices"][0]["message"]["content"] == "hi"


async def test_asynchronous_clients_and_streams_work():
    server = MockModelServer(piece_characters=2)
    server.otherwise(text("hello there"))
    async with openai.AsyncOpenAI(api_key="none", http_client=server.async_http_client()) as client:
        stream: Any = await client.chat.completions.create(model="m", messages=QUESTION, stream=True)
        pieces = [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
    assert ("".join(pieces), len(pieces) > 5) == ("hello there", True)


def test_a_stream_arrives_piece_by_piece_and_breaks_where_it_is_told_to():
    server = MockModelServer(piece_characters=2)
    server.otherwise(dropped_connection(text("hello there"), after_chunks=3))
    with make_client(server) as client:
        stream = client.chat.completions.create(model="m", messages=QUESTION, stream=True)
        pieces: list[str] = []
        with pytest.raises((httpx2.RemoteProtocolError, openai.APIConnectionError)):
            pieces.extend(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices)
    assert "".join(pieces) == "hell"


def test_errors_drops_and_waits_are_the_clients_own_exceptions():
    server = MockModelServer()
    server.when(contains("limit"), rate_limit())
    server.when(contains("late"), delay(60, text("never")))
    server.otherwise(dropped_connection())
    with make_client(server, timeout=0.01) as client:
        for words, error in (
            ("limit", openai.RateLimitError),
            ("late", openai.APITimeoutError),
            ("drop", openai.APIConnectionError),
        ):
            with pytest.raises(error):
                client.chat.completions.create(model="m", messages=[{"role": "user", "content": words}])


async def test_a_late_answer_is_a_timeout_of_an_asynchronous_client_too():
    server = MockModelServer()
    server.otherwise(delay(60, text("never")))
    client = openai.AsyncOpenAI(api_key="none", http_client=server.async_http_client(), timeout=0.01, max_retries=0)
    async with client, asyncio.timeout(60):
        with pytest.raises(openai.APITimeoutError):
            await client.chat.completions.create(model="m", messages=QUESTION)


def test_a_latency_of_the_server_holds_without_a_socket(monkeypatch: pytest.MonkeyPatch):
    waited: list[float] = []
    # Of that module alone: threads of other tests sleep as ever.
    monkeypatch.setattr("playhead.testing.transport.time", SimpleNamespace(sleep=waited.append))
    server = MockModelServer(latency_seconds=0.25)
    server.otherwise(text("hi"))
    with make_client(server) as client:
        client.chat.completions.create(model="m", messages=QUESTION)
    assert waited == [0.25]


def test_clients_of_other_providers_take_it():
    server = MockModelServer()
    server.otherwise(text("hi"))
    options = genai.types.HttpOptions(httpx_client=server.http_client())
    with genai.Client(api_key="none", http_options=options) as client:
        assert client.models.generate_content(model="m", contents="hello").text == "hi"
    # Its API is another one: what matters here is that the client takes ours, and gets an answer from the server.
    with anthropic.Anthropic(api_key="none", http_client=server.http_client(), max_retries=0) as claude:
        assert str(claude.base_url).startswith("https://")


def test_a_rule_for_tools_that_are_offered():
    server = MockModelServer()
    server.when(tool_offered("lookup"), tool_call("lookup", {"q": 1}))
    server.otherwise(text("no tools"))
    parameters = {"type": "object", "properties": {}}
    tools: Any = [{"type": "function", "function": {"name": "lookup", "parameters": parameters}}]
    flat: Any = [{"type": "function", "name": "lookup", "parameters": parameters, "strict": False}]
    declared: Any = genai.types.Tool(
        function_declarations=[genai.types.FunctionDeclaration(name="lookup", description="Looks up.")]
    )
    with make_client(server) as client:
        with_tools = client.chat.completions.create(model="m", messages=QUESTION, tools=tools)
        without = client.chat.completions.create(model="m", messages=QUESTION)
        responded = client.responses.create(model="m", input="hello", tools=flat)
    options = genai.types.HttpOptions(httpx_client=server.http_client())
    with genai.Client(api_key="none", http_options=options) as gemini:
        settings = genai.types.GenerateContentConfig(tools=[declared])
        generated = gemini.models.generate_content(model="m", contents="hello", config=settings)
    calls: Any = with_tools.choices[0].message.tool_calls
    assert [call.function.name for call in calls] == ["lookup"]
    assert without.choices[0].message.content == "no tools"
    assert [item.type for item in responded.output] == ["function_call"]
    assert [call.name for call in generated.function_calls or []] == ["lookup"]


@pytest.mark.parametrize("on_request", [True, False])
def test_thinking_only_where_the_request_asks_for_it(on_request: bool):
    server = MockModelServer(thinking_on_request=on_request)
    server.otherwise(thinking("hm") + text("hi"))
    chat: list[dict[str, Any]] = [{}, {"reasoning_effort": "low"}, {"reasoning_effort": "none"}]
    responding: list[dict[str, Any]] = [{}, {"reasoning": {"effort": "low"}}, {"reasoning": {"effort": "none"}}]
    with make_client(server) as client:
        said: list[Any] = [
            client.chat.completions.create(model="m", messages=QUESTION, **more).choices[0].message for more in chat
        ]
        responses = [client.responses.create(model="m", input="hello", **more) for more in responding]
    assert [getattr(message, "reasoning_content", None) is not None for message in said] == [
        not on_request,
        True,
        not on_request,
    ]
    assert ["reasoning" in [item.type for item in response.output] for response in responses] == [
        not on_request,
        True,
        not on_request,
    ]

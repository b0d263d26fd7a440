"""The mock model server, asked by the real `openai` client over loopback."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from http.client import HTTPConnection
from pathlib import Path
from typing import Any, cast

import openai
import orjson
import pytest
from openai.types.chat import ChatCompletionMessageParam
from pydantic import BaseModel

from playhead.testing import (
    ChatRequest,
    MockModelServer,
    Trajectories,
    any_request,
    contains,
    context_exceeds,
    context_too_long,
    delay,
    dropped_connection,
    malformed_tool_call,
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
from playhead.testing.answers import Answer
from playhead.testing.request import JsonObject

RECORDED = Path(os.environ.get("PLAYHEAD_TRAJECTORIES", Path(__file__).parents[4] / "shared" / "data"))

HELLO: list[ChatCompletionMessageParam] = [{"role": "user", "content": "hello"}]

server = pytest_plugin.mock_model_server


@pytest.fixture
def client(server: MockModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client


def messages(values: list[JsonObject]) -> list[ChatCompletionMessageParam]:
    return cast("list[ChatCompletionMessageParam]", values)


def said_by(client: openai.OpenAI, content: str = "hello") -> str | None:
    answer = client.chat.completions.create(model="m", messages=[{"role": "user", "content": content}])
    return answer.choices[0].message.content


def server_threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("playhead-mock-model")]


def all_end(threads: list[threading.Thread]) -> bool:
    """Whether they end, however long this machine stands still."""
    for thread in threads:
        thread.join(60)
    return not any(thread.is_alive() for thread in threads)


def port_of(server: MockModelServer) -> int:
    return int(server.base_url.removesuffix("/v1").rpartition(":")[2])


def test_a_text_answer_comes_through_the_client(server: MockModelServer, client: openai.OpenAI) -> None:
    server.otherwise(text("done"))
    answer = client.chat.completions.create(model="gpt-x", messages=HELLO)
    assert answer.choices[0].message.model_dump(exclude_none=True) == {"role": "assistant", "content": "done"}
    assert (answer.model, answer.choices[0].finish_reason) == ("gpt-x", "stop")
    assert answer.id.startswith("chatcmpl-000001")
    assert answer.usage is not None
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + 1


def test_an_agent_calls_a_tool_and_goes_on_with_its_result(server: MockModelServer, client: openai.OpenAI) -> None:
    server.when(contains("refund") & ~tool_result_received("lookup"), tool_call("lookup", {"order": "A1"}))
    server.otherwise(text("refunded"))
    history: list[JsonObject] = [{"role": "user", "content": "refund A1"}]
    asked = client.chat.completions.create(model="m", messages=messages(history)).choices[0]
    assert asked.finish_reason == "tool_calls"
    assert asked.message.content is None
    history.append(asked.message.model_dump(exclude_none=True))
    history.append({"role": "tool", "tool_call_id": history[-1]["tool_calls"][0]["id"], "content": "paid"})
    assert (
        client.chat.completions.create(model="m", messages=messages(history)).choices[0].message.content == "refunded"
    )
    assert [len(request.messages) for request in server.requests] == [1, 3]
    assert server.requests[1].messages == history


def test_a_stream_comes_in_pieces_and_ends_with_usage(server: MockModelServer, client: openai.OpenAI) -> None:
    server.otherwise(thinking("let me see") + text("one two three four five six"))
    with client.chat.completions.create(
        model="m", messages=HELLO, stream=True, stream_options={"include_usage": True}
    ) as stream:
        *chunks, last = list(stream)
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert "".join(delta.content or "" for delta in deltas) == "one two three four five six"
    assert "".join(getattr(delta, "reasoning_content", "") for delta in deltas) == "let me see"
    assert sum(bool(delta.content) for delta in deltas) == 2
    assert chunks[-1].choices[0].finish_reason == "stop"
    assert last.usage is not None
    assert last.usage.completion_tokens_details is not None
    assert last.usage.completion_tokens_details.reasoning_tokens == 3


def test_streamed_tool_calls_are_put_together_by_the_client(server: MockModelServer, client: openai.OpenAI) -> None:
    calls = tool_calls(tool_call("a", {"long": "x" * 50}), malformed_tool_call("b", '{"order": '))
    server.otherwise(text("both") + calls)
    whole = client.chat.completions.create(model="m", messages=HELLO).choices[0]
    with client.chat.completions.stream(model="m", messages=HELLO) as stream:
        streamed = stream.get_final_completion().choices[0]
    assert streamed.finish_reason == whole.finish_reason == "tool_calls"
    assert [call["function"]["arguments"] for call in streamed.message.model_dump()["tool_calls"]] == [
        '{"long":"' + "x" * 50 + '"}',
        '{"order": ',
    ]
    assert streamed.message.content == whole.message.content == "both"


def test_the_async_client_gets_the_same(server: MockModelServer) -> None:
    server.when(contains("stream"), tool_call("a", {"x": 1}))
    server.otherwise(text("done"))

    async def ask() -> tuple[list[str | None], str]:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
            calls = [client.chat.completions.create(model="m", messages=HELLO) for _ in range(10)]
            answers = await asyncio.gather(*calls)
            stream = await client.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "stream"}], stream=True
            )
            async with stream:
                deltas = [chunk.choices[0].delta async for chunk in stream]
            parts = [call.function for delta in deltas for call in delta.tool_calls or []]
            return [answer.choices[0].message.content for answer in answers], "".join(
                (part.arguments or "") if part else "" for part in parts
            )

    assert asyncio.run(ask()) == (["done"] * 10, '{"x":1}')


def test_parse_reads_an_answer_that_is_json(server: MockModelServer, client: openai.OpenAI) -> None:
    class Order(BaseModel):
        id: str
        items: int

    server.otherwise(text('{"id": "A1", "items": 2}'))
    parsed = client.chat.completions.parse(model="m", messages=HELLO, response_format=Order)
    assert parsed.choices[0].message.parsed == Order(id="A1", items=2)
    assert server.requests[0].body["response_format"]["json_schema"]["name"] == "Order"


def test_several_choices_are_given_when_asked_for(server: MockModelServer, client: openai.OpenAI) -> None:
    server.otherwise(text("done"))
    answer = client.chat.completions.create(model="m", messages=HELLO, n=2)
    assert [choice.message.content for choice in answer.choices] == ["done", "done"]


def test_a_client_waits_as_a_rate_limit_says_and_tries_again(server: MockModelServer, client: openai.OpenAI) -> None:
    server.when(any_request(), rate_limit(retry_after=0), times=2)
    server.otherwise(text("at last"))
    with pytest.raises(openai.RateLimitError) as caught:
        said_by(client)
    assert caught.value.code == "rate_limit_exceeded"
    assert caught.value.response.headers["retry-after"] == "0"
    assert said_by(client.with_options(max_retries=2)) == "at last"
    assert len(server.requests) == 3


def test_faults_raise_the_errors_that_the_real_ones_do(server: MockModelServer, client: openai.OpenAI) -> None:
    server.when(sequence(1), server_error(503))
    server.when(context_exceeds(50), context_too_long(50))
    with pytest.raises(openai.InternalServerError) as unavailable:
        said_by(client)
    assert unavailable.value.status_code == 503
    with pytest.raises(openai.BadRequestError) as too_long:
        said_by(client, "x" * 500)
    assert too_long.value.code == "context_length_exceeded"


def test_a_request_that_nothing_answers_is_not_tried_again(server: MockModelServer, client: openai.OpenAI) -> None:
    server.when(contains("refund"), text("x"))
    with pytest.raises(openai.BadRequestError, match=r"No rule matches.*contains\('refund'\)"):
        said_by(client.with_options(max_retries=2))
    assert len(server.requests) == 1


def test_a_connection_dropped_before_the_answer_is_tried_again(server: MockModelServer, client: openai.OpenAI) -> None:
    server.when(sequence(1), dropped_connection())
    server.otherwise(text("done"))
    with pytest.raises(openai.APIConnectionError):
        said_by(client)
    assert said_by(client) == "done"


def test_a_connection_dropped_in_a_stream_shows_what_came_before(
    server: MockModelServer, client: openai.OpenAI
) -> None:
    server.otherwise(dropped_connection(text("x" * 100), after_chunks=3))
    came: list[str | None] = []
    stream = client.chat.completions.create(model="m", messages=HELLO, stream=True)
    with stream, pytest.raises(openai.APIConnectionError):
        came.extend(chunk.choices[0].delta.content for chunk in stream)
    assert came == ["", "x" * 16, "x" * 16]
    with pytest.raises(openai.APIConnectionError):
        said_by(client)


def test_a_delayed_answer_comes(server: MockModelServer, client: openai.OpenAI) -> None:
    server.otherwise(delay(0.001, text("later")))
    assert said_by(client) == "later"


def test_closing_ends_a_delayed_answer_at_once(server: MockModelServer, client: openai.OpenAI) -> None:
    asked = threading.Event()

    def slowly(_: ChatRequest) -> Answer:
        asked.set()
        return delay(600, text("too late"))

    server.otherwise(slowly)
    with ThreadPoolExecutor(1) as pool:
        pending = pool.submit(said_by, client)
        assert asked.wait(60)
        threads = server_threads()
        server.close()
        with pytest.raises(openai.APIConnectionError):
            pending.result(60)
    assert len(threads) >= 2
    assert all_end(threads)


def test_closing_ends_every_thread_though_clients_keep_their_connections() -> None:
    before = server_threads()
    with MockModelServer() as server:
        server.otherwise(text("done"))
        with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as other:
            assert said_by(other) == "done"
            threads = [thread for thread in server_threads() if thread not in before]
            assert len(threads) == 2
            server.close()
            assert all_end(threads)
            server.close()
            with pytest.raises(openai.APIConnectionError):
                said_by(other)
        with pytest.raises(RuntimeError, match="not running"):
            _ = server.base_url
        assert len(server.requests) == 1


def test_a_closed_server_can_be_started_again() -> None:
    server = MockModelServer()
    server.otherwise(text("done"))
    for _ in range(2):
        with server, openai.OpenAI(base_url=server.start().base_url, api_key="none") as client:
            assert said_by(client) == "done"


def test_many_clients_at_once_get_their_own_answers(server: MockModelServer, client: openai.OpenAI) -> None:
    def echo(request: ChatRequest) -> Answer:
        return text(next(request.texts(last=True)))

    server.otherwise(echo)
    contents = [f"call {number}" for number in range(160)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(partial(said_by, client), contents)) == contents
    assert [request.number for request in server.requests] == list(range(1, 161))


def test_a_wrong_key_and_an_unknown_path_raise_their_errors() -> None:
    with (
        MockModelServer(api_key="right", models=["m1"]) as server,
        openai.OpenAI(base_url=server.base_url, api_key="wrong", max_retries=0) as client,
    ):
        with pytest.raises(openai.AuthenticationError):
            said_by(client)
        known = client.with_options(api_key="right")
        assert [model.id for model in known.models.list()] == ["m1"]
        with pytest.raises(openai.NotFoundError):
            known.moderations.create(input="x")


def test_the_client_reads_embeddings_as_numbers_and_as_base64() -> None:
    with MockModelServer() as server, openai.OpenAI(base_url=server.base_url, api_key="none") as client:
        plain = client.embeddings.create(model="e", input=["x", "y"], encoding_format="float")
        packed = client.embeddings.create(model="e", input=["x", "y"])  # which the client asks for as base64
    assert [each.embedding for each in plain.data] == [list(each.embedding) for each in packed.data]
    assert server.requests[1].body["encoding_format"] == "base64"


RUN: list[JsonObject] = [
    {"role": "system", "content": "You help."},
    {"role": "user", "content": "Where is A1?"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "lookup", "arguments": '{"id": "A1"}'}}],
    },
    {"role": "tool", "tool_call_id": "c1", "name": "lookup", "content": "lost"},
    {"role": "assistant", "content": "It is lost, sorry about that.", "x-score": {"is": [1, 2]}, "x-note": "n"},
    {"role": "user", "content": "And B2?"},
    {"role": "assistant", "content": None, "function_call": {"name": "lookup", "arguments": '{"id": "B2"}'}},
    {"role": "function", "name": "lookup", "content": "here"},
    {"role": "assistant", "content": ""},
]


@pytest.fixture
def trajectories(tmp_path: Path) -> Trajectories:
    other = [*RUN[:2], {"role": "assistant", "content": "I do not know."}]
    (tmp_path / "shop.json").write_bytes(orjson.dumps([{"traj": RUN}, {"traj": other}]))
    return Trajectories.load(tmp_path)


def played(client: openai.OpenAI, run: Any, position: int, *, stream: bool) -> JsonObject:
    """The answer at that position as the client gives it."""
    asked = messages(list(run.messages[:position]))
    if not stream:
        answer = client.chat.completions.create(model="m", messages=asked, extra_headers=run.headers)
        return answer.choices[0].message.model_dump(exclude_none=True)
    with client.chat.completions.stream(model="m", messages=asked, extra_headers=run.headers) as streamed:
        message = streamed.get_final_completion().choices[0].message.model_dump(exclude_none=True)
    # The stream helper leaves its own bookkeeping on what it put together.
    message.pop("parsed", None)
    for call in cast("list[JsonObject]", message.get("tool_calls") or []):
        call.pop("index", None)
        call["function"].pop("parsed_arguments", None)
    return message


def without_null(message: JsonObject) -> JsonObject:
    return {key: value for key, value in message.items() if value is not None}


@pytest.mark.parametrize("stream", [False, True])
def test_a_recorded_run_plays_again_through_the_client(
    server: MockModelServer, client: openai.OpenAI, trajectories: Trajectories, stream: bool
) -> None:
    server.play(trajectories)
    for run in trajectories:
        answers = [played(client, run, position, stream=stream) for position in run.turns]
        assert answers == [without_null(run.messages[position]) for position in run.turns]


def test_content_recorded_as_parts_comes_back_as_parts_and_streams_as_text(
    server: MockModelServer, client: openai.OpenAI, tmp_path: Path
) -> None:
    parts = [{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]
    run = [*RUN[:2], {"role": "assistant", "content": parts}]
    (tmp_path / "parts.json").write_bytes(orjson.dumps([{"traj": run}]))
    found = Trajectories.load(tmp_path)["parts/0"]
    server.play(Trajectories([found]))
    asked = messages(RUN[:2])
    whole = client.chat.completions.create(model="m", messages=asked, extra_headers=found.headers)
    assert cast("object", whole.choices[0].message.content) == parts
    assert played(client, found, 2, stream=True)["content"] == "in parts"


def test_rules_come_before_the_record_so_that_faults_can_be_put_into_a_run(
    server: MockModelServer, client: openai.OpenAI, trajectories: Trajectories
) -> None:
    server.play(trajectories)
    server.when(sequence(1), rate_limit(retry_after=0))
    retrying = client.with_options(max_retries=1)
    assert played(retrying, trajectories["shop/1"], 2, stream=False)["content"] == "I do not know."


def test_messages_that_were_not_recorded_raise_a_conflict_and_no_retry(
    server: MockModelServer, client: openai.OpenAI, trajectories: Trajectories
) -> None:
    server.play(trajectories)
    with pytest.raises(openai.ConflictError, match="Message 0 is not the one in shop/0"):
        client.with_options(max_retries=2).chat.completions.create(
            model="m", messages=HELLO, extra_headers=trajectories["shop/0"].headers
        )
    assert len(server.requests) == 1


@pytest.mark.skipif(not RECORDED.is_dir(), reason=f"no recorded runs in {RECORDED}")
def test_real_recorded_runs_play_again_through_the_client(server: MockModelServer, client: openai.OpenAI) -> None:
    trajectories = Trajectories.load(RECORDED)
    server.play(trajectories)
    for run in list(trajectories)[::40]:
        for position in run.turns:
            answer = played(client, run, position, stream=position % 4 == 0)
            assert answer == without_null(run.messages[position])


def test_a_connection_is_kept_for_the_next_request(server: MockModelServer) -> None:
    connection = HTTPConnection("127.0.0.1", port_of(server))
    try:
        for path in ("/healthz", "/v1/nothing", "/v1/models"):
            connection.request("GET", path)
            connection.getresponse().read()
            assert connection.sock is not None
    finally:
        connection.close()


@pytest.mark.parametrize(
    ("sent", "first_line"),
    [
        (b"GARBAGE\r\n\r\n", b"HTTP/1.1 400 Bad Request"),
        (b"PUT /v1/models HTTP/1.1\r\n\r\n", b"HTTP/1.1 501 Not Implemented"),
        (b"POST /v1/chat/completions HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n", b"HTTP/1.1 411 Length Required"),
        (b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: -1\r\n\r\n", b"HTTP/1.1 411 Length Required"),
    ],
)
def test_http_that_cannot_be_read_gets_an_error_in_openais_form(
    server: MockModelServer, sent: bytes, first_line: bytes
) -> None:
    answer = raw(server, sent)
    assert answer.startswith(first_line)
    assert orjson.loads(answer.partition(b"\r\n\r\n")[2])["error"]["code"] == "malformed_http"


def test_a_client_of_http_1_0_gets_its_stream_without_chunks(server: MockModelServer) -> None:
    server.otherwise(text("done"))
    body = orjson.dumps({"model": "m", "messages": HELLO, "stream": True})
    head = b"POST /v1/chat/completions HTTP/1.0\r\ncontent-length: %d\r\n\r\n" % len(body)
    answer = raw(server, head + body)
    assert b"chunked" not in answer
    assert answer.endswith(b"data: [DONE]\n\n")


def test_a_client_that_goes_away_in_the_middle_does_no_harm(server: MockModelServer, client: openai.OpenAI) -> None:
    server.otherwise(text("done"))
    with socket.create_connection(("127.0.0.1", port_of(server))) as connection:
        connection.sendall(b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 100\r\n\r\n{")
    assert said_by(client) == "done"


def raw(server: MockModelServer, sent: bytes) -> bytes:
    """Everything the server says to these bytes, until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port_of(server)), timeout=60) as connection:
        connection.sendall(sent)
        return b"".join(iter(lambda: connection.recv(65536), b""))

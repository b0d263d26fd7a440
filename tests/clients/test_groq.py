"""The real `groq` client over loopback: recorded, and answered again from the record."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import groq
import httpx
import orjson
import pytest
from groq.types import CreateEmbeddingResponse

import playhead
from playhead.model import names
from playhead.testing import MockModelServer, pytest_plugin
from tests.clients import stainless_chat as checks
from tests.clients.recorded_chat import HELLO, calls, recording_of
from tests.support.journal_reader import Recording

server = pytest_plugin.mock_model_server


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from recording_of("groq", tmp_path, monkeypatch)


@pytest.fixture
def client(server: MockModelServer) -> Iterator[groq.Groq]:
    with made(server) as client:
        yield client


def made(server: MockModelServer, retries: int = 0) -> groq.Groq:
    return groq.Groq(base_url=server.url, api_key="none", max_retries=retries)


def later(server: MockModelServer) -> groq.AsyncGroq:
    return groq.AsyncGroq(base_url=server.url, api_key="none", max_retries=0)


@pytest.mark.covers("groq", "spans", "messages", "tools", "usage", "reasoning")
def test_a_call_is_recorded(client: groq.Groq, server: MockModelServer, recording: Recording):
    checks.check_record("groq", "groq", client, server, recording)


@pytest.mark.covers("groq", "streaming")
def test_streams_are_recorded_however_they_end(client: groq.Groq, server: MockModelServer, recording: Recording):
    checks.check_streams(client, server, recording)


@pytest.mark.covers("groq", "errors")
def test_errors_are_the_client_s(server: MockModelServer, recording: Recording):
    checks.check_errors(groq, lambda retries: made(server, retries), server, recording)


@pytest.mark.covers("groq", "resume")
def test_the_record_gives_the_client_s_own_objects(client: groq.Groq, server: MockModelServer):
    checks.check_resume(client, lambda: later(server), server)


@pytest.mark.covers("groq", "tools")
def test_a_tool_has_the_id_of_the_model_s_request(client: groq.Groq, server: MockModelServer, recording: Recording):
    checks.check_tool_ids(client, server, recording)


@pytest.mark.covers("groq", "fork")
def test_a_fork_answers_or_asks_otherwise(client: groq.Groq, server: MockModelServer):
    checks.check_forks(client, server)


@pytest.mark.covers("groq", "messages", "streaming")
def test_the_exact_request_is_what_was_sent(client: groq.Groq, server: MockModelServer, recording: Recording):
    checks.check_exact_bodies(client, lambda: later(server), groq.NOT_GIVEN, server, recording)


@pytest.mark.covers("groq", "spans", "resume")
def test_embeddings_are_recorded_and_given_back(client: groq.Groq, server: MockModelServer, recording: Recording):
    checks.check_embeddings(CreateEmbeddingResponse, client, lambda: later(server), server, recording)


# The chunks of a stream as Groq sends them: usage without being asked for, in a field of its own.
GROQ_STREAM: list[dict[str, Any]] = [
    {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}}], "x_groq": {"id": "req_1"}},
    {"choices": [{"index": 0, "delta": {"reasoning": "hm"}}]},
    {"choices": [{"index": 0, "delta": {"content": "fine"}}]},
    {
        "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}],
        "x_groq": {
            "id": "req_1",
            "usage": {
                "prompt_tokens": 18,
                "completion_tokens": 7,
                "total_tokens": 25,
                "completion_time": 0.1,
                "completion_tokens_details": {"reasoning_tokens": 3},
            },
        },
    },
]


@pytest.mark.covers("groq", "usage", "streaming")
def test_the_usage_of_a_stream_is_where_groq_has_it(recording: Recording):
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    events = b"".join(b"data: " + orjson.dumps({**head, **chunk}) + b"\n\n" for chunk in GROQ_STREAM)
    answered: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        answered.append(request)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=events + b"data: [DONE]\n\n")

    with groq.Groq(api_key="none", http_client=httpx.Client(transport=httpx.MockTransport(answer))) as client:

        def program() -> list[Any]:
            return list(client.chat.completions.create(model="m", messages=HELLO, stream=True))

        with playhead.run("r") as run:
            live = program()
        with playhead.resume(run.id or "", completed="rerun"), playhead.run("r"):
            assert program() == live
    assert (len(answered), live[-1].x_groq.usage.prompt_tokens) == (1, 18)
    seen, [span, *_] = calls(recording)
    assert (span.attributes[names.INPUT_TOKENS], span.attributes[names.OUTPUT_TOKENS]) == (18, 7)
    assert span.attributes[names.REASONING_TOKENS] == 3
    assert seen.value(span, names.REASONING_REF) == "hm"

"""The real `together` client over loopback: recorded, and answered again from the record."""

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
import together
from together.types import Completion, Embedding

import playhead
from playhead.model import names
from playhead.testing import MockModelServer, pytest_plugin, text
from tests.clients import stainless_chat as checks
from tests.clients.recorded_chat import again, calls, exact_requests, recording_of, sent_requests
from tests.support.journal_reader import Recording

server = pytest_plugin.mock_model_server


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from recording_of("together", tmp_path, monkeypatch)


@pytest.fixture
def client(server: MockModelServer) -> Iterator[together.Together]:
    with made(server) as client:
        yield client


def made(server: MockModelServer, retries: int = 0) -> together.Together:
    return together.Together(base_url=server.url, api_key="none", max_retries=retries)


def later(server: MockModelServer) -> together.AsyncTogether:
    return together.AsyncTogether(base_url=server.url, api_key="none", max_retries=0)


@pytest.mark.covers("together", "spans", "messages", "tools", "usage", "reasoning")
def test_a_call_is_recorded(client: Any, server: MockModelServer, recording: Recording):
    checks.check_record("together", "together_ai", client, server, recording)


@pytest.mark.covers("together", "streaming")
def test_streams_are_recorded_however_they_end(client: Any, server: MockModelServer, recording: Recording):
    checks.check_streams(client, server, recording)


@pytest.mark.covers("together", "errors")
def test_errors_are_the_client_s(server: MockModelServer, recording: Recording):
    checks.check_errors(together, lambda retries: made(server, retries), server, recording)


@pytest.mark.covers("together", "resume")
def test_the_record_gives_the_client_s_own_objects(client: Any, server: MockModelServer):
    checks.check_resume(client, lambda: later(server), server)


@pytest.mark.covers("together", "tools")
def test_a_tool_has_the_id_of_the_model_s_request(client: Any, server: MockModelServer, recording: Recording):
    checks.check_tool_ids(client, server, recording)


@pytest.mark.covers("together", "fork")
def test_a_fork_answers_or_asks_otherwise(client: Any, server: MockModelServer):
    checks.check_forks(client, server)


@pytest.mark.covers("together", "messages", "streaming")
def test_the_exact_request_is_what_was_sent(client: Any, server: MockModelServer, recording: Recording):
    checks.check_exact_bodies(client, lambda: later(server), together.omit, server, recording)


@pytest.mark.covers("together", "spans", "resume")
def test_embeddings_are_recorded_and_given_back(client: Any, server: MockModelServer, recording: Recording):
    checks.check_embeddings(Embedding, client, lambda: later(server), server, recording)


@pytest.mark.covers("together", "spans", "streaming", "resume", "fork")
def test_text_completions_are_recorded_given_back_and_forked(
    client: Any, server: MockModelServer, recording: Recording
):
    server.otherwise(text("and so it goes on and on"))

    async def ask_later() -> Any:
        async with later(server) as asynchronous:
            return await asynchronous.completions.create(model="m", prompt="Then")

    def program() -> list[Any]:
        whole = client.completions.create(model="m", prompt="Once", max_tokens=5)
        stream = client.completions.create(model="m", prompt="Once", stream=True)
        return [whole, *stream, asyncio.run(ask_later())]

    live, replayed = again(server, program)
    assert replayed == live
    assert [*map(type, replayed)] == [*map(type, live)]
    assert type(replayed[0]) is Completion
    seen, [whole, streamed, *_] = calls(recording)
    assert whole.attributes[names.OPERATION] == "text_completion"
    assert seen.messages(whole.attributes[names.OUTPUT_MESSAGES_REF]) == seen.messages(
        streamed.attributes[names.OUTPUT_MESSAGES_REF]
    )
    with playhead.fork(whole.attributes[names.RUN_ID], at="text_completion", outcome="No."), playhead.run("r"):
        assert client.completions.create(model="m", prompt="Once", max_tokens=5).choices[0].text == "No."
    assert exact_requests(recording)[-3:] == sent_requests(server)


@pytest.mark.covers("together", "streaming", "usage")
def test_a_streamed_text_is_read_as_together_sends_it(recording: Recording):
    """The reason why it ended stands beside the choices."""
    head = {"id": "1", "object": "completion.chunk", "created": 1, "token": {"id": 1, "text": "", "logprob": 0}}
    chunks: list[dict[str, Any]] = [
        {"choices": [{"index": 0, "text": "on "}], "finish_reason": None, "usage": None},
        {
            "choices": [{"index": 0, "text": "and on"}],
            "finish_reason": "length",
            "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
        },
    ]
    events = b"".join(b"data: " + orjson.dumps({**head, **chunk}) + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"
    transport = httpx.MockTransport(lambda _: httpx.Response(200, content=events))
    with together.Together(api_key="none", http_client=httpx.Client(transport=transport)) as client:
        list(client.completions.create(model="m", prompt="Once", stream=True))
    seen, [span] = calls(recording)
    said = span.attributes
    assert (said[names.FINISH_REASONS], said[names.INPUT_TOKENS], said[names.OUTPUT_TOKENS]) == (["length"], 3, 4)
    [message] = seen.messages(said[names.OUTPUT_MESSAGES_REF])
    assert message["parts"] == [{"type": "text", "content": "on and on"}]

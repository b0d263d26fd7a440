"""The real `openai` client's embeddings over loopback: recorded, and answered again from the record."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from openai.types import CreateEmbeddingResponse

import playhead
from playhead.errors import ReplayError
from playhead.model import names
from playhead.model.span import Span
from playhead.testing import MockModelServer, any_request, pytest_plugin, rate_limit, text
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
    server.otherwise(text("fine"))
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client


def only_call(recording: Recording) -> tuple[Journaled, Span]:
    seen = recording.read()
    [span] = [span for span in seen.spans if span.attributes[names.KIND] == "embedding"]
    return seen, span


def again(server: MockModelServer, program: Callable[[], Any]) -> tuple[Any, Any]:
    """What the program gave live, and what it gives from the record; no request is made for the second."""
    with playhead.run("r") as run:
        live = program()
    requests = len(server.requests)
    assert run.id is not None
    with playhead.resume(run.id, completed="rerun"), playhead.run("r"):
        replayed = program()
    assert len(server.requests) == requests
    return live, replayed


@pytest.mark.covers("openai", "spans", "usage")
def test_a_call_records_its_inputs_settings_and_usage_and_no_message(recording: Recording, client: openai.OpenAI):
    client.embeddings.create(model="text-embedding-3-small", input=["one", "two"], dimensions=5, user="u")
    seen, span = only_call(recording)
    said = span.attributes
    assert span.name == "embeddings text-embedding-3-small"
    assert (said[names.OPERATION], said[names.PROVIDER]) == ("embeddings", "openai")
    assert (said[names.REQUEST_MODEL], said[names.RESPONSE_MODEL]) == ("text-embedding-3-small",) * 2
    assert (said[names.EMBEDDING_DIMENSIONS], said[names.INPUT_TOKENS] > 0) == (5, True)
    assert seen.value(span, names.INPUT_REF) == ["one", "two"]
    assert seen.value(span, names.REQUEST_REF) == {"model": "text-embedding-3-small", "dimensions": 5, "user": "u"}
    assert said[names.OUTPUT_REF] == said[names.RESPONSE_REF]
    assert not {names.INPUT_MESSAGES_REF, names.OUTPUT_MESSAGES_REF} & set(said)
    assert not any("one" in str(value) for value in said.values())


def both() -> Any:
    """An iterator, which can be read once only."""
    return iter(["a", "b"])


@pytest.mark.covers("openai", "resume")
@pytest.mark.parametrize(
    "more", [{}, {"encoding_format": "float"}, {"encoding_format": "base64"}, {"dimensions": 300}], ids=str
)
def test_a_record_gives_the_same_vectors_and_asks_nobody(server: MockModelServer, client: openai.OpenAI, more: Any):
    live, replayed = again(server, lambda: client.embeddings.create(model="e", input=both(), **more))
    assert isinstance(replayed, CreateEmbeddingResponse)
    assert replayed == live
    kinds = [type(value) for value in replayed.data[0].embedding]
    assert kinds == [type(value) for value in live.data[0].embedding]


def test_raw_and_asynchronous_calls_are_recorded_and_answered_again(server: MockModelServer, client: openai.OpenAI):
    live, replayed = again(server, lambda: client.embeddings.with_raw_response.create(model="e", input="a").parse())
    assert replayed == live

    async def program() -> Any:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as asynchronous:
            return await asynchronous.embeddings.create(model="e", input=[[1, 2, 3], [4]])

    live, replayed = again(server, lambda: asyncio.run(program()))
    assert replayed == live


@pytest.mark.covers("openai", "errors")
def test_an_error_is_recorded_and_raised_again(server: MockModelServer, recording: Recording, client: openai.OpenAI):
    server.when(any_request(), rate_limit(), times=1)
    with pytest.raises(openai.RateLimitError):
        client.embeddings.create(model="e", input="a")
    seen, span = only_call(recording)
    assert (span.status, names.RESPONSE_REF in span.attributes) == (2, False)
    assert seen.value(span, names.INPUT_REF) == "a"


@pytest.mark.covers("openai", "fork")
def test_a_fork_may_have_another_error_and_no_message(server: MockModelServer, client: openai.OpenAI):
    with playhead.run("r") as run:
        client.embeddings.create(model="e", input="a")
    assert run.id is not None
    with (
        playhead.fork(run.id, at="embeddings", outcome={"error": TimeoutError("slow")}),
        playhead.run("r"),
        pytest.raises(TimeoutError, match="slow"),
    ):
        client.embeddings.create(model="e", input="a")
    with (
        pytest.raises(ReplayError, match="an embedding has no message"),
        playhead.fork(run.id, at="embeddings", outcome="a text"),
        playhead.run("r"),
    ):
        client.embeddings.create(model="e", input="a")
    assert len(server.requests) == 1

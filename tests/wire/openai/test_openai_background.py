"""Responses that run in the background, and are retrieved: by the real client, recorded and answered again."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import openai
import pytest

import playhead
from playhead.model import names
from playhead.model.span import Span
from playhead.testing import MockModelServer, pytest_plugin, text
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
    server.otherwise(text("done at last"))
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        yield client


def calls_in(recording: Recording) -> tuple[Journaled, list[Span]]:
    seen = recording.read()
    return seen, [span for span in seen.spans if span.attributes[names.KIND] == "llm"]


def in_background(client: openai.OpenAI, **how: Any) -> list[Any]:
    """Starts a response, and asks for it until it has ended, once more, and goes on from it."""
    first = client.responses.create(model="m", input="work", background=True)
    seen = [first]
    while seen[-1].status in ("queued", "in_progress"):
        seen.append(client.responses.retrieve(first.id))
    seen.append(client.responses.retrieve(response_id=first.id, **how))
    seen.append(client.responses.create(model="m", input="thanks", previous_response_id=first.id))
    return seen


def test_each_retrieval_is_a_call_and_tokens_count_once(recording: Recording, client: openai.OpenAI):
    with playhead.run("r"):
        found = in_background(client)
    seen, calls = calls_in(recording)
    assert [answer.status for answer in found] == ["queued", "in_progress", "completed", "completed", "completed"]
    operations = [call.attributes[names.OPERATION] for call in calls]
    assert operations == ["chat", "fetch_response", "fetch_response", "fetch_response", "chat"]
    assert [call.attributes[names.REQUEST_MODEL] for call in calls] == ["m"] * 5
    assert [call.attributes[names.FINISH_REASONS] for call in calls[:3]] == [["queued"], ["in_progress"], ["stop"]]
    assert [names.OUTPUT_TOKENS in call.attributes for call in calls] == [False, False, True, False, True]
    asked = {call.attributes[names.INPUT_MESSAGES_REF] for call in calls[:4]}
    assert [message["parts"][0]["content"] for message in seen.messages(asked.pop())] == ["work"]
    assert not asked
    last = seen.messages(calls[4].attributes[names.INPUT_MESSAGES_REF])
    assert [message["parts"][0]["content"] for message in last] == ["work", "done at last", "thanks"]


@pytest.mark.covers("openai", "resume")
@pytest.mark.parametrize("how", [{}, {"stream": True}], ids=["whole", "streamed"])
def test_a_resumed_run_retrieves_nothing(server: MockModelServer, client: openai.OpenAI, how: Any):
    def program() -> Any:
        first = client.responses.create(model="m", input="work", background=True)
        client.responses.retrieve(first.id)
        got = client.responses.retrieve(first.id, **how)
        return [event.to_dict() for event in got] if how else got

    with playhead.run("r") as run:
        live = program()
    assert run.id is not None
    server.close()
    with playhead.resume(run.id, completed="rerun") as resumed, playhead.run("r"):
        assert program() == live
    assert (resumed.report.live, resumed.report.divergences) == (0, [])


def test_a_response_that_this_run_did_not_start_says_so(recording: Recording, client: openai.OpenAI):
    started = client.responses.create(model="m", input="work")
    with playhead.run("another"):
        client.responses.retrieve(started.id)
    seen, calls = calls_in(recording)
    [message] = seen.messages(calls[-1].attributes[names.INPUT_MESSAGES_REF])
    assert message["parts"][0] == {"type": "playhead.elsewhere", "response_id": started.id}


@pytest.mark.covers("openai", "errors")
def test_a_response_that_is_not_there_is_the_clients_own_error(recording: Recording, client: openai.OpenAI):
    with pytest.raises(openai.NotFoundError):
        client.responses.retrieve("resp_none")
    _, [call] = calls_in(recording)
    assert (call.status, call.attributes[names.OPERATION]) == (2, "fetch_response")


def ask_chat(client: Any) -> None:
    client.chat.completions.create(model="gpt", messages=[{"role": "user", "content": "hello"}])


def ask_responses(client: Any) -> None:
    client.responses.create(model="gpt", input="hello")


def ask_embeddings(client: Any) -> None:
    client.embeddings.create(model="gpt", input="hello")


@pytest.mark.parametrize("ask", [ask_chat, ask_responses, ask_embeddings])
def test_azures_client_is_recorded_as_azure(server: MockModelServer, recording: Recording, ask: Callable[[Any], None]):
    server.otherwise(text("fine"))
    azure = openai.AzureOpenAI(
        azure_endpoint=server.url, api_key="none", api_version="2025-03-01-preview", max_retries=0
    )
    with azure:
        ask(azure)
    [call] = [span for span in recording.read().spans if names.PROVIDER in span.attributes]
    assert call.attributes[names.PROVIDER] == "azure.ai.openai"
    assert call.attributes[names.REQUEST_MODEL] == "gpt"
    assert call.status == 0


@pytest.mark.parametrize(
    ("url", "provider"),
    [
        ("https://api.openai.com/v1", "openai"),
        ("https://api.groq.com/openai/v1", "groq"),
        ("https://generativelanguage.googleapis.com/v1beta/openai/", "gcp.gemini"),
        ("https://mine.openai.azure.com/openai/v1/", "azure.ai.openai"),
        ("https://api.x.ai/v1", "x_ai"),
        ("https://evil-x.ai.example/v1", "openai"),
        ("http://127.0.0.1:11434/v1", "openai"),
    ],
)
def test_known_hosts_name_their_provider(recording: Recording, url: str, provider: str):
    with (
        openai.OpenAI(base_url=url, api_key="none", max_retries=0, timeout=0.001) as client,
        pytest.raises(openai.APIError),
    ):
        client.with_options(http_client=_Refusing()).chat.completions.create(
            model="m", messages=[{"role": "user", "content": "x"}]
        )
    _, [call] = calls_in(recording)
    assert call.attributes[names.PROVIDER] == provider


class _Refusing(openai.DefaultHttpxClient):
    """Sends nothing."""

    def send(self, request: Any, **options: Any) -> Any:
        raise openai.APIConnectionError(request=request)

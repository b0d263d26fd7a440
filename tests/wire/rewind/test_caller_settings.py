"""Settings that say who asks, with real clients: recorded, and no reason for a resumed run to stop."""

import contextlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai
import pytest
from google import genai
from google.genai import types

import playhead
from playhead.errors import ReplayDiverged
from playhead.model import names
from playhead.testing import MockModelServer, text
from tests.support.journal_reader import Recording, start_recording
from tests.wire.bedrock.boto_client import bedrock_client

HELLO: Any = [{"role": "user", "content": "hello"}]
Ask = Callable[..., Any]


@pytest.fixture(autouse=True)
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    yield from start_recording(tmp_path / "journal", monkeypatch)


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        server.otherwise(text("fine"))
        yield server


def chat(server: MockModelServer, **settings: Any) -> Any:
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        return client.chat.completions.create(model="m", messages=HELLO, **settings)


def responses(server: MockModelServer, **settings: Any) -> Any:
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        return client.responses.create(model="m", input="hello", **settings)


def embeddings(server: MockModelServer, **settings: Any) -> Any:
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        return client.embeddings.create(model="m", input="hello", **settings)


def messages(server: MockModelServer, **settings: Any) -> Any:
    with anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0) as client:
        return client.messages.create(model="m", max_tokens=10, messages=HELLO, **settings)


def gemini(server: MockModelServer, **config: Any) -> Any:
    # As Vertex AI has it: the Developer API's client refuses labels.
    options = types.HttpOptions(base_url=server.url, extra_body={"labels": config.pop("labels")})
    with genai.Client(api_key="none", http_options=options) as client:
        asked = types.GenerateContentConfig(**config)
        return client.models.generate_content(model="gemini-2.5-flash", contents="hello", config=asked)


def converse(server: MockModelServer, **settings: Any) -> Any:
    client = bedrock_client(server)
    asked: Any = [{"role": "user", "content": [{"text": "hello"}]}]
    answer = client.converse(modelId="anthropic.claude-sonnet-4-20250514-v1:0", messages=asked, **settings)
    client.close()
    return answer


def invoke(server: MockModelServer, **settings: Any) -> Any:
    client = bedrock_client(server)
    body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 10, "messages": HELLO, **settings}
    client.invoke_model(modelId="anthropic.claude-sonnet-4-20250514-v1:0", body=json.dumps(body))
    client.close()


CALLERS: list[Any] = [
    pytest.param("openai", chat, {"prompt_cache_key": "{}"}, {"temperature": 1}, id="prompt_cache_key"),
    pytest.param("openai", chat, {"user": "{}"}, {"temperature": 1}, id="user"),
    pytest.param("openai", chat, {"safety_identifier": "{}"}, {"temperature": 1}, id="safety_identifier"),
    pytest.param("openai", chat, {"metadata": {"by": "{}"}}, {"temperature": 1}, id="metadata"),
    pytest.param("openai", chat, {"extra_body": {"session_id": "{}"}}, {"temperature": 1}, id="extra_body"),
    pytest.param("openai", chat, {"extra_headers": {"x-by": "{}"}}, {"temperature": 1}, id="headers"),
    pytest.param("openai", responses, {"prompt_cache_key": "{}", "user": "{}"}, {"temperature": 1}, id="responses"),
    pytest.param("openai", embeddings, {"user": "{}"}, {"dimensions": 8}, id="embeddings"),
    pytest.param(
        "anthropic", messages, {"metadata": {"user_id": "{}"}}, {"extra_body": {"temperature": 1}}, id="anthropic"
    ),
    pytest.param("google.genai", gemini, {"labels": {"by": "{}"}}, {"temperature": 1}, id="gemini"),
    pytest.param(
        "botocore",
        converse,
        {"requestMetadata": {"by": "{}"}},
        {"inferenceConfig": {"temperature": 1}},
        id="converse",
    ),
    pytest.param(
        "botocore",
        converse,
        {"additionalModelRequestFields": {"metadata": {"user_id": "{}"}}},
        {"inferenceConfig": {"temperature": 1}},
        id="converse-fields",
    ),
    pytest.param("botocore", invoke, {"metadata": {"user_id": "{}"}}, {"temperature": 1}, id="invoke"),
]
with_each_client = pytest.mark.parametrize(("family", "ask", "caller", "other"), CALLERS)


@pytest.fixture
def instrumented(family: str) -> Iterator[None]:
    playhead.instrument(family)
    yield
    playhead.uninstrument(family)


def named(caller: Any, who: str) -> dict[str, Any]:
    return json.loads(json.dumps(caller).replace("{}", who))


def recorded(ask: Ask, server: MockModelServer, **settings: Any) -> Any:
    with playhead.run("agent") as run:
        ask(server, **settings)
    return run.id


@pytest.mark.usefixtures("instrumented")
@with_each_client
def test_another_caller_is_answered(
    ask: Ask, caller: Any, other: Any, server: MockModelServer, recording: Recording
) -> None:
    run = recorded(ask, server, **named(caller, "ann"), **other)
    for who in ("ann", "bob"):
        with playhead.resume(run) as resumed, playhead.run("agent"):
            ask(server, **named(caller, who), **other)
        assert (resumed.report.answered, len(server.requests)) == (1, 1)
    if "extra_headers" not in caller:  # those of a client are not recorded
        journal = recording.read()
        [span] = [span for span in journal.spans if names.REQUEST_REF in span.attributes]
        assert "ann" in json.dumps(journal.value(span, names.REQUEST_REF))


@pytest.mark.usefixtures("instrumented")
@with_each_client
def test_another_setting_diverges_and_the_report_tells_only_that(
    ask: Ask, caller: Any, other: Any, server: MockModelServer
) -> None:
    run = recorded(ask, server, **named(caller, "ann"))
    with pytest.raises(ReplayDiverged) as caught, playhead.resume(run), playhead.run("agent"):
        ask(server, **named(caller, "bob"), **other)
    [changed] = [name for name in ("temperature", "dimensions") if name in json.dumps(other)]
    assert changed in str(caught.value)
    assert not any(who in str(caught.value) for who in ("ann", "bob"))


@pytest.mark.parametrize("family", ["openai"])
@pytest.mark.usefixtures("instrumented")
@pytest.mark.parametrize(("before", "now"), [({}, {"user": "bob"}), ({"user": "ann"}, {})])
def test_a_caller_that_is_named_only_once_is_answered(before: Any, now: Any, server: MockModelServer) -> None:
    for ask in (chat, responses, embeddings):
        run = recorded(ask, server, **before)
        with playhead.resume(run) as resumed, playhead.run("agent"):
            ask(server, **now)
        assert resumed.report.answered == 1


@pytest.mark.parametrize("family", ["openai"])
@pytest.mark.usefixtures("instrumented")
def test_a_fork_compares_as_a_resume_does(server: MockModelServer, recording: Recording) -> None:
    with playhead.run("agent") as run:
        chat(server, user="ann")
        chat(server, user="ann", seed=1)
    before = len(server.requests)
    with playhead.fork(str(run.id), at="chat#2", on_divergence="raise") as fork, playhead.run("agent"):
        chat(server, user="bob")
        chat(server, user="bob", seed=1)
    assert (fork.report.answered, len(server.requests) - before) == (1, 1)
    # And who goes on with the fork.
    with playhead.resume(fork.id) as resumed, playhead.run("agent"):
        chat(server, user="carol")
        chat(server, user="carol", seed=1)
    assert (resumed.report.answered, len(server.requests) - before) == (2, 1)


@pytest.mark.parametrize("family", ["openai"])
@pytest.mark.usefixtures("instrumented")
def test_more_settings_can_be_named_also_for_what_is_recorded_already(
    server: MockModelServer, recording: Recording
) -> None:
    run = recorded(chat, server, extra_body={"tenant": "ann"})
    with pytest.raises(ReplayDiverged), playhead.resume(run), playhead.run("agent"):
        chat(server, extra_body={"tenant": "bob"})
    recording.configure(caller_settings=["tenant"])
    with playhead.resume(run) as resumed, playhead.run("agent"):
        chat(server, extra_body={"tenant": "bob"})
    assert (resumed.report.answered, len(server.requests)) == (1, 1)


@pytest.mark.parametrize("family", ["openai"])
@pytest.mark.usefixtures("instrumented")
def test_a_hook_that_redacts_the_caller_does_not_change_what_is_compared(
    server: MockModelServer, recording: Recording
) -> None:
    recording.configure(redact=lambda value: {**value, "user": "***"} if "seed" in value else value)
    run = recorded(chat, server, user="ann", seed=1)
    with playhead.resume(run) as resumed, playhead.run("agent"):
        chat(server, user="bob", seed=1)
    assert resumed.report.answered == 1


@pytest.mark.parametrize("family", ["botocore"])
@pytest.mark.usefixtures("instrumented")
def test_a_body_that_is_not_known_is_compared_whole(server: MockModelServer) -> None:
    """What it calls the user may be what is asked."""

    def unknown(asked: str) -> None:
        client = bedrock_client(server)
        with contextlib.suppress(client.exceptions.ClientError):  # the mock server does not know it either
            client.invoke_model(modelId="somebody.unknown-v1", body=json.dumps({"user": asked}))
        client.close()

    with playhead.run("agent") as run:
        unknown("hello")
    with pytest.raises(ReplayDiverged), playhead.resume(str(run.id)), playhead.run("agent"):
        unknown("goodbye")

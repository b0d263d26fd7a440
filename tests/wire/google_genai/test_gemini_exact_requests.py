"""`context?exact=true`: the request's body as the mock server received it, compared value by value and key by key."""

import asyncio
import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from google import genai
from google.genai import types
from google.oauth2.credentials import Credentials
from pydantic import BaseModel

import playhead
from playhead.client import Client
from playhead.testing import (
    MockModelServer,
    contains,
    pytest_plugin,
    text,
    thinking,
    tool_call,
    tool_calls,
    tool_result_received,
)
from playhead_collector.process import CollectorProcess

server = pytest_plugin.mock_model_server
MODEL = "gemini-2.5-flash"
THINK = types.ThinkingConfig(include_thoughts=True, thinking_budget=100)


class Answer(BaseModel):
    n: int
    of: list[str] = []


def look(place: str, days: int = 1) -> dict[str, Any]:
    """Looks at the weather.

    Args:
        place: where
    """
    return {"sky": "sunny", "of": place, "days": [days, 1.0, None]}


@pytest.fixture
def client(collector: CollectorProcess, tmp_path: Path) -> Iterator[Client]:
    with Client(collector.url) as client:
        playhead.shutdown()
        playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "journal", record="always")
        playhead.instrument("google.genai")
        yield client
        playhead.shutdown()
        playhead.uninstrument("google.genai")


@pytest.fixture
def gemini(server: MockModelServer) -> Iterator[genai.Client]:
    with genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.url)) as client:
        yield client


def as_text(value: Any) -> str:
    """Tells 1, 1.0 and true apart, and a key that is null from one that is not there."""
    return json.dumps(value, sort_keys=True, indent=1)


Part = types.Part
IMAGE = base64.b64decode("/+/+8fL+8w==")
HISTORY = [
    types.Content(role="user", parts=[Part(text="What is this?"), Part.from_bytes(data=IMAGE, mime_type="image/png")]),
    types.Content(role="model", parts=[
        Part(text="I look.", thought=True), Part(text="Wait", thought_signature=b"\xff\xfe\xfd"),
        Part(function_call=types.FunctionCall(id="c1", name="look", args={"place": "é", "b": 1.0, "a": None})),
    ]),
    types.Content(role="user", parts=[
        Part(function_response=types.FunctionResponse(id="c1", name="look", response={"result": IMAGE})),
        Part.from_function_response(name="look", response={"z": 1, "a": [1.0]}),
        Part.from_uri(file_uri="gs://bucket/a.mp4", mime_type="video/mp4"),
        Part(text=""),
    ]),
    types.Content(parts=[Part(text="no role")]),
    types.Content(role="model", parts=[]),
    types.Content(role="model", parts=[
        Part(executable_code=types.ExecutableCode(code="1", language=types.Language.PYTHON)),
        Part(code_execution_result=types.CodeExecutionResult(outcome=types.Outcome.OUTCOME_OK, output="1")),
    ]),
    types.Content(role="user", parts=[Part(
        file_data=types.FileData(file_uri="gs://b/c"), video_metadata=types.VideoMetadata(fps=2.0, start_offset="1s"),
    )]),
    types.Content(role="user", parts=[Part.from_function_response(name="look", response={})]),
    types.Content(role="user", parts=[Part.from_function_response(name="look", response={"parsed": True})]),
]  # fmt: skip


def growing(client: genai.Client) -> None:
    for upto in range(1, len(HISTORY) + 1):
        history: list[Any] = [*HISTORY[:upto]]
        client.models.generate_content(model=MODEL, contents=history)


def edited_history(client: genai.Client) -> None:
    for history in (HISTORY, [*HISTORY[:1], *HISTORY[2:]], [*HISTORY[3:], *HISTORY]):
        given: list[Any] = [*history]
        client.models.generate_content(model=MODEL, contents=given)


def settings(client: genai.Client) -> None:
    def ask(contents: Any = "hi", **config: Any) -> None:
        client.models.generate_content(model=MODEL, contents=contents, config=types.GenerateContentConfig(**config))

    ask(system_instruction="Be brief.", temperature=1, top_p=1.0, stop_sequences=["a"], candidate_count=2)
    ask(system_instruction=["Be brief.", "Be kind."], thinking_config=THINK, response_modalities=["TEXT"])
    ask(system_instruction=types.Content(parts=[Part(text="No role.")]), cached_content="cachedContents/1")
    ask(response_schema=Answer, response_mime_type="application/json", safety_settings=[
        {"category": "HARM_CATEGORY_HATE_SPEECH", "threshold": "BLOCK_NONE"}])  # fmt: skip
    ask(["one", "two", Part.from_bytes(data=IMAGE, mime_type="image/png")], response_json_schema={"default": None})
    ask(tools=[look, {"google_search": {}}], tool_config={"function_calling_config": {"mode": "AUTO"}})
    ask(http_options={"extra_body": {"generationConfig": {"x": None}, "labels": {"a": "b"}}}, temperature=0.5)
    client.models.generate_content(model=MODEL, contents="hi")


def more_body(client: genai.Client) -> None:
    base = client._api_client._http_options.base_url
    options = types.HttpOptions(base_url=base, extra_body={"cachedContent": "cachedContents/2"})
    with genai.Client(api_key="none", http_options=options) as other:
        other.models.generate_content(model=MODEL, contents="hi")
        other.models.generate_content(model=MODEL, contents="hi", config={"temperature": 0.5})


def chats(client: genai.Client) -> None:
    chat = client.chats.create(model=MODEL, config={"thinking_config": THINK, "system_instruction": "Be kind."})  # type: ignore[typeddict-item]
    for message in ("first", "second", "third"):
        chat.send_message(message)
        for _ in chat.send_message_stream([message, "and more"]):
            pass


def functions(client: genai.Client) -> None:
    config = types.GenerateContentConfig(tools=[look], thinking_config=THINK)
    chat = client.chats.create(model=MODEL, config=config)
    assert chat.send_message("weather?").text
    for _ in chat.send_message_stream("weather again?"):
        pass
    client.models.generate_content(model=MODEL, contents="weather?", config=config)
    for _ in client.models.generate_content_stream(model=MODEL, contents="weather?", config=config):
        pass


def later(client: genai.Client) -> None:
    async def ask() -> None:
        async with client.aio as aio:

            async def stream(history: Any) -> None:
                async for _ in await aio.models.generate_content_stream(model=MODEL, contents=history):
                    pass

            histories = [[*HISTORY[:upto]] for upto in range(1, len(HISTORY) + 1)]
            await asyncio.gather(*(stream(history) for history in histories))
            chat = aio.chats.create(model=MODEL, config=types.GenerateContentConfig(tools=[look]))
            await chat.send_message("weather?")

    asyncio.run(ask())


def vertex(client: genai.Client) -> None:
    options = types.HttpOptions(base_url=client._api_client._http_options.base_url)
    other = genai.Client(vertexai=True, project="p", location="l", credentials=Credentials("t"), http_options=options)
    with other:
        history: list[Any] = [*HISTORY]
        config = types.GenerateContentConfig(labels={"a": "b"}, system_instruction="Be brief.", tools=[look])
        other.models.generate_content(model=MODEL, contents=history, config=config)
        other.models.generate_content(model=MODEL, contents="weather?", config=config)


@pytest.mark.covers("google-genai", "messages")
@pytest.mark.parametrize(
    "ask",
    [growing, edited_history, settings, more_body, chats, functions, later, vertex],
    ids=lambda ask: ask.__name__,
)
def test_the_request_is_given_back_as_it_was_sent(
    client: Client, server: MockModelServer, gemini: genai.Client, ask: Callable[[genai.Client], None]
):
    asked = tool_calls(tool_call("look", {"place": "Bern", "days": 2}), tool_call("look", {"days": 1, "place": "Thun"}))
    weather = contains("weather", role="user", last=True) & ~tool_result_received("look")
    server.when(weather, thinking("One must look at the weather.") + asked)
    server.otherwise(thinking("One must think about it.") + text('{"n": 1, "of": ["a text that is long enough"]}'))
    with playhead.run("agent") as run:
        ask(gemini)
    assert playhead.flush(60)
    assert run.id is not None
    calls = list(client.llm_calls(run.id))
    told = [client.context(run.id, at=call["seq"], exact=True).get("request") for call in calls]
    received = [request.body for request in server.requests]
    for rebuilt, sent in zip(sorted(map(as_text, told)), sorted(map(as_text, received)), strict=True):
        assert rebuilt == sent
    assert len(told) >= 2

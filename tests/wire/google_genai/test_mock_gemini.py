"""The mock model server's Gemini APIs, asked by the real `google-genai` client over loopback."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from google import genai
from google.genai import errors, types
from google.oauth2.credentials import Credentials
from pydantic import BaseModel

from playhead.testing import (
    MockModelServer,
    contains,
    malformed_tool_call,
    pytest_plugin,
    rate_limit,
    server_error,
    text,
    thinking,
    tool_call,
    tool_calls,
    tool_result_received,
)

server = pytest_plugin.mock_model_server
MODEL = "gemini-2.5-flash"
THINK = types.GenerateContentConfig(thinking_config=types.ThinkingConfig(include_thoughts=True))


class Answer(BaseModel):
    n: int


@pytest.fixture
def client(server: MockModelServer) -> Iterator[genai.Client]:
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.url))
    yield client
    client.close()


@pytest.fixture
def vertex(server: MockModelServer) -> Iterator[genai.Client]:
    client = genai.Client(
        vertexai=True, project="p", location="l", credentials=Credentials("token"),
        http_options=types.HttpOptions(base_url=server.url),
    )  # fmt: skip
    yield client
    client.close()


def parts_of(response: types.GenerateContentResponse) -> list[Any]:
    assert response.candidates
    content = response.candidates[0].content
    return [part.model_dump(exclude_none=True) for part in (content and content.parts) or ()]


def test_a_text_answer_says_what_it_cost(server: MockModelServer, client: genai.Client):
    server.otherwise(text("done"))
    asked = types.GenerateContentConfig(system_instruction="Be brief.")
    answer = client.models.generate_content(model=MODEL, contents="hello", config=asked)
    assert answer.text == "done"
    assert answer.candidates
    assert answer.candidates[0].finish_reason == types.FinishReason.STOP
    assert answer.model_version == MODEL
    assert answer.response_id
    usage = answer.usage_metadata
    assert usage is not None
    assert usage.total_token_count == (usage.prompt_token_count or 0) + (usage.candidates_token_count or 0)
    assert server.requests[0].messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "hello"},
    ]


def test_thoughts_come_on_request_only_and_sign_what_follows(server: MockModelServer, client: genai.Client):
    server.otherwise(thinking("Hm.") + text("It is.") + tool_call("look", {"a": 1}, call_id="c1"))
    plain = parts_of(client.models.generate_content(model=MODEL, contents="Is it?"))
    call = {"id": "c1", "name": "look", "args": {"a": 1}}
    assert plain == [{"text": "It is."}, {"function_call": call}]
    thought, said, called = parts_of(client.models.generate_content(model=MODEL, contents="Is it?", config=THINK))
    assert thought == {"text": "Hm.", "thought": True}
    assert said["text"] == "It is."
    assert len(said["thought_signature"]) == 48
    assert called == {"function_call": call}


def test_a_stream_has_the_answer_in_pieces(server: MockModelServer, client: genai.Client):
    server.otherwise(thinking("One must look.") + text("It is sunny in Bern today.") + tool_call("look"))
    chunks = list(client.models.generate_content_stream(model=MODEL, contents="weather?", config=THINK))
    parts = [part for chunk in chunks for part in parts_of(chunk)]
    assert "".join(part["text"] for part in parts if part.get("thought")) == "One must look."
    assert "".join(part.get("text", "") for part in parts if not part.get("thought")) == "It is sunny in Bern today."
    assert parts[-1]["function_call"]["name"] == "look"
    assert [bool(chunk.candidates and chunk.candidates[0].finish_reason) for chunk in chunks][-2:] == [False, True]
    assert all(chunk.usage_metadata and chunk.usage_metadata.thoughts_token_count for chunk in chunks)


def test_a_stream_without_events_is_one_array(server: MockModelServer):
    server.otherwise(text("It is sunny in Bern today."))
    body = {"contents": [{"parts": [{"text": "weather?"}]}]}
    given = httpx.post(f"{server.url}/v1beta/models/{MODEL}:streamGenerateContent", json=body, timeout=60).json()
    assert [chunk["candidates"][0]["content"]["parts"][0]["text"] for chunk in given] == [
        "It is sunny in B",
        "ern today.",
    ]


def test_rules_see_tools_and_their_results(server: MockModelServer, client: genai.Client):
    def look(place: str) -> str:
        return f"sunny in {place}"

    server.when(
        ~tool_result_received("look"),
        tool_calls(tool_call("look", {"place": "Bern"}), tool_call("look", {"place": "Thun"})),
    )
    server.when(contains("sunny in Thun", role="tool"), text("Sunny."))
    chat = client.chats.create(model=MODEL, config=types.GenerateContentConfig(tools=[look]))
    assert chat.send_message("weather?").text == "Sunny."
    assert len(server.requests) == 2
    assert server.requests[0].tools[0]["function"]["name"] == "look"
    assert [message["role"] for message in server.requests[1].messages] == ["user", "assistant", "tool", "tool"]


def test_a_call_that_is_no_json_is_malformed(server: MockModelServer, client: genai.Client):
    server.otherwise(malformed_tool_call("look"))
    answer = client.models.generate_content(model=MODEL, contents="hi")
    assert answer.candidates
    assert answer.candidates[0].finish_reason == types.FinishReason.MALFORMED_FUNCTION_CALL
    assert not parts_of(answer)


@pytest.mark.parametrize(
    ("said", "reason"), [("length", "MAX_TOKENS"), ("content_filter", "SAFETY"), ("recitation", "RECITATION")]
)
def test_finish_reasons(server: MockModelServer, client: genai.Client, said: str, reason: str):
    server.otherwise(text("x", finish_reason=said))
    answer = client.models.generate_content(model=MODEL, contents="hi", config={"candidate_count": 2})
    assert [candidate.finish_reason for candidate in answer.candidates or ()] == [types.FinishReason(reason)] * 2


def test_a_schema_is_answered_with_what_was_said(server: MockModelServer, client: genai.Client):
    server.otherwise(text('{"n": 3}'))
    config = types.GenerateContentConfig(response_schema=Answer, response_mime_type="application/json")
    assert client.models.generate_content(model=MODEL, contents="n?", config=config).parsed == Answer(n=3)


def test_errors_have_googles_form(server: MockModelServer, client: genai.Client):
    server.when(contains("limit"), rate_limit(0.5))
    server.when(contains("busy"), server_error(503))
    with pytest.raises(errors.ClientError) as limited:
        client.models.generate_content(model=MODEL, contents="limit")
    assert (limited.value.code, limited.value.status) == (429, "RESOURCE_EXHAUSTED")
    details: Any = limited.value.details
    assert {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "0.5s"} in details["error"]["details"]
    with pytest.raises(errors.ServerError, match="UNAVAILABLE"):
        list(client.models.generate_content_stream(model=MODEL, contents="busy"))
    with pytest.raises(errors.ClientError, match="no rule matches|No rule matches"):
        client.models.generate_content(model=MODEL, contents="hi")


def test_the_key_of_the_server_is_asked_for():
    with MockModelServer(api_key="secret") as server:
        server.otherwise(text("in"))
        options = types.HttpOptions(base_url=server.url)
        for key, refused in (("none", True), ("secret", False)):
            with genai.Client(api_key=key, http_options=options) as client:
                if refused:
                    with pytest.raises(errors.ClientError, match="UNAUTHENTICATED"):
                        client.models.generate_content(model=MODEL, contents="hi")
                else:
                    assert client.models.generate_content(model=MODEL, contents="hi").text == "in"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"contents": []},
        {"contents": ["hi"]},
        {"contents": [{"role": "assistant", "parts": []}]},
        {"contents": [{"parts": "hi"}]},
        {"contents": [{"parts": ["hi"]}]},
        {"contents": [{"parts": []}], "tools": {}},
        {"contents": [{"parts": []}], "generationConfig": []},
        {"contents": [{"parts": []}], "generationConfig": {"candidateCount": 99}},
        {"contents": [{"parts": []}], "systemInstruction": "Be brief."},
    ],
    ids=str,
)
def test_what_the_api_would_refuse_is_refused(server: MockModelServer, body: Any):
    server.otherwise(text("done"))
    given = httpx.post(f"{server.url}/v1beta/models/{MODEL}:generateContent", json=body, timeout=60)
    assert given.status_code == 400
    assert given.json()["error"]["status"] == "INVALID_ARGUMENT"
    assert not server.requests


def test_vertex_and_asynchronous_clients(server: MockModelServer, vertex: genai.Client):
    server.otherwise(text("It is sunny in Bern today."))
    assert vertex.models.generate_content(model=MODEL, contents="hi").text == "It is sunny in Bern today."
    assert server.requests[0].model == MODEL

    async def ask() -> str:
        async with vertex.aio as client:
            stream = await client.models.generate_content_stream(model=MODEL, contents="hi")
            return "".join([chunk.text or "" async for chunk in stream])

    assert asyncio.run(ask()) == "It is sunny in Bern today."


def test_embeddings_of_equal_texts_are_equal(server: MockModelServer, client: genai.Client, vertex: genai.Client):
    config = types.EmbedContentConfig(output_dimensionality=4)
    embed = client.models.embed_content
    found = embed(model="gemini-embedding-001", contents=["a", "b", "a"], config=config).embeddings or []
    assert [len(each.values or ()) for each in found] == [4, 4, 4]
    assert found[0].values == found[2].values != found[1].values
    for model in ("text-embedding-005", "gemini-embedding-2"):
        also = vertex.models.embed_content(model=model, contents="a", config=config).embeddings or []
        assert also[0].values == found[0].values
    assert [list(request.texts()) for request in server.requests] == [["a", "b", "a"], ["a"], ["a"]]
    with pytest.raises(errors.ClientError, match="INVALID_ARGUMENT"):
        embed(model="gemini-embedding-001", contents=["a"], config={"output_dimensionality": 100_000})


def test_tokens_are_counted_without_a_rule(client: genai.Client):
    assert client.models.count_tokens(model=MODEL, contents="hello").total_tokens == 2

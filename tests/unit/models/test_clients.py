"""The protocol of models over each client, at the mock model server's endpoints: tools, thinking, streams, stop
reasons, errors; synchronous and asynchronous."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from playhead import models
from playhead.model.message import text_message
from playhead.models import (
    ContextTooLong,
    Model,
    ModelChunk,
    ModelRequest,
    ModelTool,
    Overloaded,
    RateLimited,
    failure_of,
)
from playhead.models.api_requests import (
    anthropic_arguments,
    chat_arguments,
    claude_thinking,
    closed_schema,
    gemini_arguments,
)
from playhead.testing import (
    MockModelServer,
    context_too_long,
    malformed_tool_call,
    rate_limit,
    server_error,
    thinking,
    tool_call,
)
from playhead.testing import text as says

T = TypeVar("T")
LOOK_UP = ModelTool("look_up", "Looks up.", {"type": "object", "properties": {"q": {"type": "string"}}})
REQUEST = ModelRequest([text_message("user", "Hello")], system="Be brief.", tools=[LOOK_UP], thinking=True)


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        yield server
        while opened_here:
            opened_here.pop().close()


opened: list[Any] = []
opened_here: list[Any] = []


def closed_later(client: Any) -> Any:
    """A synchronous client, to be closed after the test."""
    opened_here.append(client)
    return client


def kept(client: Any) -> Any:
    """An asynchronous client, to be closed in the event loop that used it."""
    opened.append(client)
    return client


async def closing(made: Coroutine[Any, Any, T]) -> T:
    try:
        return await made
    finally:
        while opened:
            client = opened.pop()
            await (client.aclose() if hasattr(client, "aclose") else client.close())


def openai_model(server: MockModelServer, *, is_async: bool) -> Model:
    import openai

    options: dict[str, Any] = {"base_url": server.base_url, "api_key": "k", "max_retries": 0}
    client = kept(openai.AsyncOpenAI(**options)) if is_async else closed_later(openai.OpenAI(**options))
    return models.OpenAIModel("mock-model", client=client)


def anthropic_model(server: MockModelServer, *, is_async: bool) -> Model:
    import anthropic

    options: dict[str, Any] = {"base_url": server.url, "api_key": "k", "max_retries": 0}
    client = kept(anthropic.AsyncAnthropic(**options)) if is_async else closed_later(anthropic.Anthropic(**options))
    return models.AnthropicModel("claude-opus-4-6", client=client)


def gemini_model(server: MockModelServer, *, is_async: bool) -> Model:
    from google import genai

    client = closed_later(genai.Client(api_key="k", http_options={"base_url": server.url}))
    return models.GeminiModel("gemini-2.5-flash", client=kept(client.aio) if is_async else client)


def pydantic_ai_model(server: MockModelServer, *, is_async: bool) -> Model:
    import openai
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = kept(openai.AsyncOpenAI(base_url=server.base_url, api_key="k"))
    provider = OpenAIProvider(openai_client=client)
    return models.PydanticAIModel(OpenAIChatModel("mock-model", provider=provider))


Make = Callable[..., Model]
EACH = pytest.mark.parametrize("make", [openai_model, anthropic_model, gemini_model, pydantic_ai_model])
BOTH = pytest.mark.parametrize("is_async", [False, True])


def complete(model: Model, request: ModelRequest, *, is_async: bool) -> models.ModelResponse:
    if is_async or isinstance(model, models.PydanticAIModel):
        return asyncio.run(closing(model.complete_async(request)))
    return model.complete(request)


def stream(model: Model, request: ModelRequest, *, is_async: bool) -> list[ModelChunk]:
    async def chunks() -> list[ModelChunk]:
        return [chunk async for chunk in model.stream_async(request)]

    if is_async or isinstance(model, models.PydanticAIModel):
        return asyncio.run(closing(chunks()))
    return list(model.stream(request))


@EACH
@BOTH
def test_tools_are_offered_asked_for_and_answered(make: Make, is_async: bool, server: MockModelServer):
    server.otherwise(thinking("Let me see.") + says("I look.") + tool_call("look_up", {"q": "x"}))
    model = make(server, is_async=is_async)
    response = complete(model, REQUEST, is_async=is_async)
    [call] = response.tool_calls
    assert (call.name, call.arguments) == ("look_up", {"q": "x"})
    assert call.id
    assert (response.text, response.done, response.stop_reason) == ("I look.", False, "tool_use")
    assert response.reasoning == "Let me see."
    assert response.usage.total
    result: Any = {"role": "tool", "parts": [{"type": "tool_call_response", "id": call.id, "response": "found"}]}
    server.otherwise(says("It is x."))
    again = replace(REQUEST, messages=[*REQUEST.messages, response.message, result])
    last = complete(make(server, is_async=is_async), again, is_async=is_async)
    assert (last.text, last.done, last.stop_reason) == ("It is x.", True, "end_turn")
    assert "found" in str(server.requests[-1].body)
    assert "look_up" in str(server.requests[-1].body)


@EACH
@BOTH
def test_answers_are_streamed(make: Make, is_async: bool, server: MockModelServer):
    server.otherwise(thinking("Hm, hm.") + says("One two three.") + tool_call("look_up", {"q": "x"}))
    chunks = stream(make(server, is_async=is_async), REQUEST, is_async=is_async)
    response = chunks[-1].response
    assert response is not None
    assert "".join(chunk.text for chunk in chunks) == response.text == "One two three."
    assert "".join(chunk.reasoning for chunk in chunks) == response.reasoning == "Hm, hm."
    assert response.tool_calls[0].arguments == {"q": "x"}
    assert response.stop_reason == "tool_use"
    assert response.usage.total


@pytest.mark.parametrize(
    ("make", "word"), [(openai_model, "stop"), (anthropic_model, "end_turn"), (gemini_model, "STOP")]
)
def test_the_providers_own_word_is_kept(make: Make, word: str, server: MockModelServer):
    server.otherwise(says("Hello."))
    assert make(server, is_async=False).complete(REQUEST).provider_stop_reason == word
    streamed = stream(make(server, is_async=False), REQUEST, is_async=False)[-1].response
    assert streamed is not None
    assert (streamed.provider_stop_reason, streamed.stop_reason) == (word, "end_turn")


@pytest.mark.parametrize("make", [openai_model, anthropic_model, gemini_model])
@pytest.mark.parametrize(
    ("answer", "failure", "wait_s"),
    [
        (rate_limit(retry_after=7), RateLimited, 7.0),
        (server_error(503), Overloaded, None),
        (context_too_long(), ContextTooLong, None),
    ],
)
def test_errors_of_all_clients_are_told_apart(
    make: Make, answer: Any, failure: type, wait_s: float | None, server: MockModelServer
):
    server.otherwise(answer)
    with pytest.raises(Exception) as raised:
        make(server, is_async=False).complete(REQUEST)
    found = failure_of(raised.value)
    assert type(found) is failure
    assert found is not None
    if make is not gemini_model:  # its errors do not have the headers
        assert found.retry_after_s == wait_s


def test_other_errors_are_no_known_failure():
    assert failure_of(ValueError("a wrong key")) is None
    assert isinstance(failure_of(TimeoutError()), Overloaded)
    assert isinstance(failure_of(RuntimeError("openai.RateLimitError: rate limit reached")), RateLimited)
    throttled = "An error occurred (ThrottlingException): Too many tokens, please wait before trying again."
    assert isinstance(failure_of(RuntimeError(throttled)), RateLimited)  # of Bedrock: not the window


def test_arguments_that_are_no_object_stay_what_they_are(server: MockModelServer):
    server.otherwise(malformed_tool_call("look_up", '{"q": '))
    [call] = openai_model(server, is_async=False).complete(REQUEST).tool_calls
    assert call.arguments == '{"q": '


def test_an_asynchronous_client_is_not_asked_without_await(server: MockModelServer):
    with pytest.raises(models.ModelUnavailable, match="asynchronous client"):
        openai_model(server, is_async=True).complete(REQUEST)
    opened.clear()


# --- what each API takes --------------------------------------------------------------------------------------------

SCHEMA: Any = {"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}
ASKED = ModelRequest([text_message("user", "?")], system="Be brief.", output=SCHEMA, thinking=True)


@pytest.mark.parametrize(
    ("model", "thinks"),
    [
        ("claude-3-5-sonnet-20241022", None),
        ("claude-3-7-sonnet-20250219", "budget"),
        ("claude-sonnet-4-20250514", "budget"),
        ("claude-haiku-4-5-20251001", "budget"),
        ("claude-opus-4-6", "adaptive"),
        ("claude-sonnet-5-5", "adaptive"),
        ("anthropic.claude-opus-4.8-v1:0", "adaptive"),
        ("claude-instant", None),
    ],
)
def test_a_claudes_version_says_how_it_thinks(model: str, thinks: str | None):
    assert claude_thinking(model) == thinks


def test_a_claude_thinks_with_room_for_it():
    adaptive = anthropic_arguments(ASKED, "claude-opus-4-6")
    assert adaptive["thinking"] == {"type": "adaptive", "display": "summarized"}
    budget = anthropic_arguments(ASKED, "claude-sonnet-4-5")
    assert budget["thinking"] == {"type": "enabled", "budget_tokens": 8_192}
    assert budget["max_tokens"] == 16_384
    assert "thinking" not in anthropic_arguments(replace(ASKED, max_tokens=1_000), "claude-sonnet-4-5")
    assert "thinking" not in anthropic_arguments(replace(ASKED, temperature=0.0), "claude-sonnet-4-5")
    assert "thinking" not in anthropic_arguments(ASKED, "claude-3-5-sonnet")


def test_a_claude_does_not_think_after_a_call_of_another_model():
    call: Any = {"role": "assistant", "parts": [{"type": "tool_call", "id": "1", "name": "f", "arguments": {}}]}
    result: Any = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "1", "response": "x"}]}
    request = replace(ASKED, messages=[*ASKED.messages, call, result])
    assert "thinking" not in anthropic_arguments(request, "claude-opus-4-6")
    thought: Any = {"type": "reasoning", "content": "hm", "extra": {"signature": "s"}}
    call["parts"].insert(0, thought)
    arguments = anthropic_arguments(request, "claude-opus-4-6")
    assert "thinking" in arguments
    assert arguments["messages"][1]["content"][0] == {"type": "thinking", "thinking": "hm", "signature": "s"}
    del thought["extra"]
    arguments = anthropic_arguments(request, "claude-opus-4-6")
    assert "thinking" not in arguments
    assert [block["type"] for block in arguments["messages"][1]["content"]] == ["tool_use"]


def test_schemas_of_answers_are_sent_as_each_api_takes_them():
    closed = anthropic_arguments(ASKED, "claude-sonnet-4-5")["output_config"]["format"]["schema"]
    assert closed["additionalProperties"] is False
    assert closed["properties"]["a"]["additionalProperties"] is False
    assert "additionalProperties" not in SCHEMA
    assert "JSON schema" in str(anthropic_arguments(ASKED, "claude-3-5-haiku")["system"])
    assert chat_arguments(ASKED, "gpt-4o", max_tokens="max_tokens")["response_format"]["type"] == "json_schema"
    config = gemini_arguments(ASKED, "gemini-2.5-flash")["config"]
    assert config["response_mime_type"] == "application/json"
    with_tools = gemini_arguments(replace(ASKED, tools=[LOOK_UP]), "gemini-2.5-flash")["config"]
    assert "response_mime_type" not in with_tools
    assert "JSON schema" in str(with_tools["system_instruction"])


def test_a_field_called_properties_is_closed_as_any_other():
    inner = {"type": "object", "properties": {"x": {"type": "integer"}}}
    schema = {
        "type": "object",
        "properties": {"properties": inner, "$defs": {"type": "string", "enum": ["a"]}},
        "$defs": {"properties": inner},
    }
    closed = closed_schema(schema)
    assert closed == {
        "type": "object",
        "properties": {
            "properties": {**inner, "additionalProperties": False},
            "$defs": {"type": "string", "enum": ["a"]},
        },
        "$defs": {"properties": {**inner, "additionalProperties": False}},
        "additionalProperties": False,
    }


def test_ids_that_gemini_s_calls_are_given_are_not_given_twice():
    """A compressed context may be as long as it was before."""
    from google.genai import types

    part = {"function_call": {"name": "look_up", "args": {"q": "x"}}}  # as the API answers: without an id
    answer = types.GenerateContentResponse.model_validate({"candidates": [{"content": {"parts": [part]}}]})
    client = SimpleNamespace(aio=None, models=SimpleNamespace(generate_content=lambda **_: answer))
    asked = models.GeminiModel("gemini-2.5-flash", client=client)
    first = asked.complete(ModelRequest([text_message("user", "Hello")], tools=[LOOK_UP]))
    second = asked.complete(ModelRequest([first.message], tools=[LOOK_UP]))
    assert [call.id for call in (*first.tool_calls, *second.tool_calls)] == ["call_1_0", "call_2_0"]


PICTURE = "iVBORw0KGgo="


def test_pictures_and_files_reach_models_of_pydantic_ai(server: MockModelServer):
    blob = {"type": "blob", "mime_type": "image/png", "modality": "image", "content": PICTURE}
    uri = {"type": "uri", "modality": "image", "uri": "https://pictures.example/1.png"}
    parts: list[Any] = [{"type": "text", "content": "What is this?"}, blob, uri]
    server.otherwise(says("A picture."))
    asked = ModelRequest([{"role": "user", "parts": parts}])
    complete(pydantic_ai_model(server, is_async=False), asked, is_async=False)
    [message] = server.requests[-1].messages
    said: Any = message["content"]
    assert [element["type"] for element in said] == ["text", "image_url", "image_url"]
    assert [element["image_url"]["url"] for element in said[1:]] == [f"data:image/png;base64,{PICTURE}", uri["uri"]]


def test_what_models_of_pydantic_ai_cannot_be_sent_is_an_error_and_not_left_out(server: MockModelServer):
    parts: list[Any] = [{"type": "text", "content": "Read it."}, {"type": "file", "modality": "file", "file_id": "f-1"}]
    server.otherwise(says("Read."))
    asked = ModelRequest([{"role": "user", "parts": parts}])
    with pytest.raises(ValueError, match="file"):
        complete(pydantic_ai_model(server, is_async=False), asked, is_async=False)

"""The oldest supported clients with OpenAI's Chat Completions: `groq`, `together` and `huggingface_hub`."""

import json
from collections.abc import Callable
from typing import Any

import groq
import pytest
import together
from huggingface_hub import AsyncInferenceClient, InferenceClient
from huggingface_hub.errors import HfHubHTTPError

import playhead
from playhead.testing import MockModelServer
from tests.oldest.program import assert_calls_are_recorded, look_up, run_resume_and_fork
from tests.support.journal_reader import Recording

PARAMETERS = {"type": "object", "properties": {"city": {"type": "string"}}}
TOOLS: Any = [{"type": "function", "function": {"name": "look_up", "parameters": PARAMETERS}}]
STREAMED: dict[str, Any] = {"stream": True, "extra_body": {"stream_options": {"include_usage": True}}}


def messages(said: str) -> Any:
    return [{"role": "system", "content": "be kind"}, {"role": "user", "content": said}]


def program(create: Callable[..., Any], refused: type[Exception]) -> list[Any]:
    """`create` makes a chat completion; `refused` is the client's error for a rate limit."""
    said: list[Any] = [create(model="m", messages=messages("hello")).choices[0].message.content]
    said.append(list(create(model="m", messages=messages("streamed"), **STREAMED)))
    asked = messages("weather?")
    answer = create(model="m", messages=asked, tools=TOOLS).choices[0].message
    [call] = answer.tool_calls
    result = look_up(**json.loads(call.function.arguments))
    asked += [answer, {"role": "tool", "tool_call_id": call.id, "content": result}]
    said.append(create(model="m", messages=asked, tools=TOOLS))
    try:
        create(model="m", messages=messages("fail"))
    except refused as error:
        said.append((type(error), str(error)))
    return said


async def assert_asynchronous(create: Callable[..., Any], server: MockModelServer) -> None:
    """A whole answer and a stream are recorded, and given back without a request."""

    async def ask() -> list[Any]:
        whole = await create(model="m", messages=messages("hello"))
        return [whole, *[chunk async for chunk in await create(model="m", messages=messages("streamed"), stream=True)]]

    asked = len(server.requests)
    with playhead.run("r") as run:
        live = await ask()
    with playhead.resume(run.id or "", completed="rerun"), playhead.run("r"):
        assert await ask() == live
    assert (len(server.requests) - asked, len(live) > 3) == (2, True)


@pytest.mark.covers("groq", "oldest")
async def test_groq(server: MockModelServer, recording: Recording):
    with groq.Groq(base_url=server.url, api_key="none", max_retries=0) as client:

        def ask() -> list[Any]:
            said = program(client.chat.completions.create, groq.RateLimitError)
            return [*said, client.embeddings.create(model="e", input=["a", "b"])]

        done = run_resume_and_fork(ask, recording, server)
    assert_calls_are_recorded(done, provider="groq", failed=1)
    assert (len(done.calls()), len(done.calls("embedding"))) == (5, 1)
    async with groq.AsyncGroq(base_url=server.url, api_key="none", max_retries=0) as asynchronous:
        await assert_asynchronous(asynchronous.chat.completions.create, server)


@pytest.mark.covers("together", "oldest")
async def test_together(server: MockModelServer, recording: Recording):
    with together.Together(base_url=server.base_url, api_key="none", max_retries=0) as client:

        def ask() -> list[Any]:
            said = program(client.chat.completions.create, together.RateLimitError)
            said.append(client.completions.create(model="m", prompt="hello"))
            return [*said, client.embeddings.create(model="e", input=["a", "b"])]

        done = run_resume_and_fork(ask, recording, server)
    assert_calls_are_recorded(done, provider="together_ai", failed=1)
    assert (len(done.calls()), len(done.calls("embedding"))) == (6, 1)
    async with together.AsyncTogether(base_url=server.base_url, api_key="none", max_retries=0) as asynchronous:
        await assert_asynchronous(asynchronous.chat.completions.create, server)


@pytest.mark.covers("huggingface_hub", "oldest")
async def test_huggingface_hub(server: MockModelServer, recording: Recording):
    with InferenceClient(base_url=server.url, api_key="none") as client:
        done = run_resume_and_fork(lambda: program(client.chat.completions.create, HfHubHTTPError), recording, server)
        assert_calls_are_recorded(done, provider="huggingface", failed=1)
        assert len(done.calls()) == 5

        def generate() -> list[Any]:
            model = f"{server.url}/models/gpt"
            said: list[Any] = [client.text_generation("hello", model=model)]
            return [*said, *client.text_generation("hello", model=model, stream=True, details=True)]

        with playhead.run("r") as run:
            live = generate()
        with playhead.resume(run.id or "", completed="rerun") as resumed, playhead.run("r"):
            assert generate() == live
        assert resumed.report.live == 0
    async with AsyncInferenceClient(base_url=server.url, api_key="none") as asynchronous:
        await assert_asynchronous(asynchronous.chat_completion, server)

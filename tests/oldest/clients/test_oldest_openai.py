"""The oldest supported `openai`: `parse` and the stream helper are below `beta` there, and there are no Responses."""

import json
from typing import Any

import openai
import pytest
from pydantic import BaseModel

from playhead.testing import MockModelServer
from tests.oldest.program import assert_calls_are_recorded, look_up, run_resume_and_fork
from tests.support.journal_reader import Recording

TOOLS: Any = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]


class Number(BaseModel):
    n: int


def messages(said: str) -> Any:
    return [{"role": "system", "content": "be kind"}, {"role": "user", "content": said}]


def program(client: Any) -> list[Any]:
    chat = client.chat.completions
    said: list[Any] = [chat.create(model="m", messages=messages("hello")).choices[0].message.content]
    options = {"include_usage": True}
    stream = chat.create(model="m", messages=messages("streamed"), stream=True, stream_options=options)
    said.append([chunk.model_dump() for chunk in stream])
    asked = messages("weather?")
    answer = chat.create(model="m", messages=asked, tools=TOOLS).choices[0].message
    [call] = answer.tool_calls
    result = look_up(**json.loads(call.function.arguments))
    asked += [answer, {"role": "tool", "tool_call_id": call.id, "content": result}]
    said.append(chat.create(model="m", messages=asked, tools=TOOLS).model_dump())
    said.append(client.beta.chat.completions.parse(model="m", messages=messages("number"), response_format=Number))
    with client.beta.chat.completions.stream(model="m", messages=messages("helper"), stream_options=options) as stream:
        said.append(stream.get_final_completion().choices[0].message.content)
    try:
        chat.create(model="m", messages=messages("fail"))
    except openai.RateLimitError as error:
        said.append((type(error), error.status_code))
    said.append(client.embeddings.create(model="e", input=["a", "b"]).model_dump())
    return said


@pytest.mark.covers("openai", "oldest")
def test_it_is_recorded_resumed_and_forked(server: MockModelServer, recording: Recording):
    with openai.OpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:
        done = run_resume_and_fork(lambda: program(client), recording, server)
    assert_calls_are_recorded(done, provider="openai", failed=1)
    assert len(done.calls()) == 7
    assert len(done.calls("embedding")) == 1
    assert done.live[3].choices[0].message.parsed == Number(n=7)


@pytest.mark.covers("openai", "oldest")
async def test_so_is_the_asynchronous_client(server: MockModelServer, recording: Recording):
    import playhead

    async with openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:

        async def ask() -> list[Any]:
            whole = await client.chat.completions.create(model="m", messages=messages("hello"))
            stream = await client.chat.completions.create(model="m", messages=messages("streamed"), stream=True)
            return [whole.model_dump(), *[chunk.model_dump() async for chunk in stream]]

        with playhead.run("r") as run:
            live = await ask()
        with playhead.resume(run.id or "", completed="rerun"), playhead.run("r"):
            assert await ask() == live
    assert len(server.requests) == 2

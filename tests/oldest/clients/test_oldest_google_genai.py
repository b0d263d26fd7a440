"""The oldest supported `google-genai`."""

from typing import Any

import pytest
from google import genai
from google.genai import errors, types

from playhead.testing import MockModelServer
from tests.oldest.program import assert_calls_are_recorded, look_up, run_resume_and_fork
from tests.support.journal_reader import Recording

MODEL = "gemini-2.5-flash"
CONFIG = types.GenerateContentConfig(system_instruction="be kind")


def program(client: Any) -> list[Any]:
    models = client.models
    said: list[Any] = [models.generate_content(model=MODEL, contents="hello", config=CONFIG).text]
    said.append([chunk.model_dump() for chunk in models.generate_content_stream(model=MODEL, contents="streamed")])
    with_tool = types.GenerateContentConfig(tools=[look_up])
    said.append(models.generate_content(model=MODEL, contents="weather?", config=with_tool).text)
    chat = client.chats.create(model=MODEL)
    said.append([chat.send_message("one").text, chat.send_message("two").text])
    try:
        models.generate_content(model=MODEL, contents="fail")
    except errors.ClientError as error:
        said.append((type(error), error.code))
    said.append(models.embed_content(model="gemini-embedding-001", contents=["a", "b"]).model_dump())
    return said


@pytest.mark.covers("google-genai", "oldest")
def test_it_is_recorded_resumed_and_forked(server: MockModelServer, recording: Recording):
    client = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.url))
    done = run_resume_and_fork(lambda: program(client), recording, server)
    assert_calls_are_recorded(done, provider="gcp.gemini", failed=1)
    assert len(done.calls()) == 7
    assert len(done.calls("embedding")) == 1


@pytest.mark.covers("google-genai", "oldest")
async def test_so_is_the_asynchronous_client(server: MockModelServer, recording: Recording):
    import playhead

    models = genai.Client(api_key="none", http_options=types.HttpOptions(base_url=server.url)).aio.models

    async def ask() -> list[Any]:
        whole = await models.generate_content(model=MODEL, contents="hello")
        stream = await models.generate_content_stream(model=MODEL, contents="streamed")
        return [whole.text, *[chunk.text async for chunk in stream]]

    with playhead.run("r") as run:
        live = await ask()
    with playhead.resume(run.id or "", completed="rerun"), playhead.run("r"):
        assert await ask() == live
    assert len(server.requests) == 2

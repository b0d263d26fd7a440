"""Streams around which another instrumentation has put a proxy, inside ours: the program gets the kind it asked for."""

from collections.abc import Iterator
from typing import Any

import openai
import pytest
import wrapt
from openai.resources import chat

import playhead
from playhead.testing import MockModelServer, text
from playhead.testing.recorder import RunRecorder

QUESTION: Any = [{"role": "user", "content": "hi"}]


class OthersStream(wrapt.ObjectProxy[Any]):
    """As OpenInference and OpenLLMetry make it, for both kinds of streams."""

    def __iter__(self) -> Any:
        return self

    def __next__(self) -> Any:
        return next(self.__wrapped__)

    def __aiter__(self) -> Any:
        return self

    async def __anext__(self) -> Any:
        return await self.__wrapped__.__anext__()


@pytest.fixture
def proxied(monkeypatch: pytest.MonkeyPatch, mock_model: MockModelServer) -> Iterator[None]:
    mock_model.otherwise(text("hello there"))
    completions: Any = chat.completions
    plain, awaited = completions.Completions.create, completions.AsyncCompletions.create

    async def create(*args: Any, **kwargs: Any) -> Any:
        return OthersStream(await awaited(*args, **kwargs))

    monkeypatch.setattr(completions.Completions, "create", lambda *args, **kwargs: OthersStream(plain(*args, **kwargs)))
    monkeypatch.setattr(completions.AsyncCompletions, "create", create)
    playhead.instrument("openai")
    yield
    playhead.uninstrument("openai")


def test_a_plain_stream(proxied: None, playhead_recorder: RunRecorder):
    stream: Any = openai.OpenAI().chat.completions.create(model="m", messages=QUESTION, stream=True)
    assert "".join(chunk.choices[0].delta.content or "" for chunk in stream if chunk.choices) == "hello there"
    assert playhead_recorder.last.answer == "hello there"


async def test_an_asynchronous_stream(proxied: None, playhead_recorder: RunRecorder):
    async with openai.AsyncOpenAI() as client:
        stream: Any = await client.chat.completions.create(model="m", messages=QUESTION, stream=True)
        pieces = [chunk.choices[0].delta.content or "" async for chunk in stream if chunk.choices]
    assert "".join(pieces) == "hello there"
    assert playhead_recorder.last.answer == "hello there"


def test_a_list_is_extended_by_a_stream(mock_model: MockModelServer, playhead_recorder: RunRecorder):
    """A proxy of wrapt passes number methods on, too: Python would then ask the stream before the list."""
    mock_model.otherwise(text("hello there"))
    playhead.instrument("openai")
    chunks: list[object] = []
    chunks += openai.OpenAI().chat.completions.create(model="m", messages=QUESTION, stream=True)
    playhead.uninstrument("openai")
    assert len(chunks) > 1
    assert playhead_recorder.last.answer == "hello there"

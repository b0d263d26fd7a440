"""What a value is shown as is said by the record that names it, whoever stored equal bytes first and as what."""

from typing import Any

import httpx
import pytest

from playhead.client import AsyncClient
from playhead.model.canonical import BYTES, JSON, TEXT, Content, content_of
from playhead.model.message import text_message
from playhead.wire.pack import PACK, Pack, encode_pack
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.read.recorded import Recorder, tool_call

# Text and JSON, bytes and text: the same bytes each.
ALIKE: list[Any] = ['{"price":5}', {"price": 5}, "5", 5, "null", None, '"a"', "a", b"a", "[1]", [1], b"\xff"]


@pytest.fixture
async def store(database_url: str):
    store = await connect(database_url, pool_size=2)
    yield store
    await store.close()


@pytest.fixture
async def http(store: PostgresStore):
    async with httpx.ASGITransport(create_app(CollectorSettings(), store)) as transport:
        yield transport


def said(run: str) -> Recorder:
    """A run that tells each of the values, as a tool's result and as state."""
    recorder = Recorder(run)
    for number, value in enumerate(ALIKE):
        recorder.tool("look", {"n": number}, value)
        recorder.change(f"k{number}", value)
    return recorder


def shown(value: Any) -> Any:
    return {"$bytes": {b"a": "YQ==", b"\xff": "/w=="}[value]} if isinstance(value, bytes) else value


@pytest.mark.parametrize("first", ["", "application/json", "text/html", "image/png", "text/plain", "x" * 9_000])
async def test_values_are_of_the_type_that_the_run_says(http: httpx.ASGITransport, store: PostgresStore, first: str):
    run, other = "0a" * 16, "0b" * 16
    if first:  # somebody was here before
        poison = [Content(content_of(value).data, first) for value in ALIKE]
        await store.contents.put(PROJECT, poison)
    await store.spans.ingest(PROJECT, said(run).batch())
    await store.spans.ingest(PROJECT, said(other).batch())
    expected = [shown(value) for value in ALIKE]
    async with AsyncClient("http://localhost", transport=http) as client:
        for each in (run, other):
            state = await client.state(each, hydrate=True)
            assert list(state["values"]["user_state"].values()) == expected  # pyright: ignore[reportTypedDictNotRequiredAccess]
            calls = [call async for call in client.tool_calls(each, hydrate=True)]
            assert [call["values"]["result"] for call in calls] == expected  # pyright: ignore[reportTypedDictNotRequiredAccess]
        refs = [content_of(value).ref for value in ALIKE]
        contents = await client.contents(refs)
        kinds = [TEXT if isinstance(v, str) else BYTES if isinstance(v, bytes) else JSON for v in ALIKE]
        read = [contents[ref].get("value", b"") for ref in refs]
        assert read == [b"" if isinstance(value, bytes) else value for value in ALIKE]
        for ref, kind in zip(refs, kinds, strict=True):
            served = (await client.content(ref)).media_type
            assert served == (first if served == first else kind)
            assert served.startswith("text/") == (kind == TEXT)
            assert served.endswith("json") == (kind == JSON)


@pytest.mark.parametrize("first", ["text/plain", "image/png", "application/x-anything"])
async def test_messages_and_questions_are_the_same_whoever_stored_them_first(
    http: httpx.ASGITransport, store: PostgresStore, first: str
):
    run = "0c" * 16

    def recorded(name: str) -> Recorder:
        recorder = Recorder(name)
        asked = [text_message("system", "Be kind."), text_message("user", "Price?")]
        recorder.model(asked, tool_call("c1", "look", n=1))
        recorder.tool("look", {"n": 1}, '{"price":5}')
        answered = {"role": "tool", "parts": [{"type": "tool_call_response", "id": "c1", "response": '{"price":5}'}]}
        recorder.model([*asked, tool_call("c1", "look", n=1), answered], tool_call("c2", "buy", price=5))  # pyright: ignore[reportArgumentType]
        recorder.tool("buy", {"price": 5}, {"price": 5})
        return recorder

    async def answers(client: AsyncClient, name: str) -> Any:
        tools = [event async for event in client.events(name, kinds=["tool_called"])]
        added = [event["data"] async for event in client.events(name, kinds=["message_added"])]
        context = await client.context(name, at=tools[1]["seq"])
        why = await client.why(name, at=tools[1]["seq"])
        return added, context["messages"], why["arguments"], [value["source"] for value in why["values"]]

    batch = recorded(run).batch()
    await store.contents.put(PROJECT, [Content(content.data, first) for content in batch.contents])
    await store.spans.ingest(PROJECT, batch)
    async with AsyncClient("http://localhost", transport=http) as client:
        poisoned = await answers(client, run)
    assert [entry["role"] for entry in poisoned[0]] == ["system", "user", "assistant", "tool", "assistant"]
    assert all(isinstance(message, dict) for message in poisoned[1])
    assert poisoned[2] == {"price": 5}
    assert poisoned[3] == ["tool_result"]


async def test_content_of_no_media_type_is_refused_and_the_rest_of_the_pack_is_stored(
    http: httpx.ASGITransport, store: PostgresStore
):
    recorder = Recorder("0e" * 16)
    recorder.tool("look", {}, "fine")
    batch: Batch = recorder.batch()
    bad = [Content(b"one", ""), Content(b"two", "no type"), Content(b"three", "a/" + "b" * 9_000)]
    async with httpx.AsyncClient(transport=http, base_url="http://localhost") as client:
        pack = encode_pack(Pack((*bad, *batch.contents), ()))
        answer = await client.post("/v1/content", content=pack, headers={"content-type": PACK})
        assert answer.status_code == 200
        assert answer.json()["stored"] == len(batch.contents)
        assert [each["content"] for each in answer.json()["refused"]] == [0, 1, 2]
        assert "send one such as application/json" in answer.json()["refused"][0]["message"]
    assert await store.contents.missing(PROJECT, [content.ref.plain for content in bad]) == [c.ref.plain for c in bad]
    assert await store.contents.missing(PROJECT, [content.ref.plain for content in batch.contents]) == []

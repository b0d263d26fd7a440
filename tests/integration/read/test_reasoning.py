"""Tokens, conversation replay, reasoning and explanations of runs on Postgres."""

from collections.abc import AsyncIterator, Iterator

import httpx
import pytest

from playhead.client import AsyncClient
from playhead.errors import ClientError
from playhead.model import names
from playhead.model.canonical import canonical_json, value_of
from playhead.model.message import Message, text_message
from playhead.model.ref import ContentRef
from playhead.testing import MockModelServer, text
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.read.recorded import Recorder, conversation

RUN, CUT, SILENT, AGAIN = "0a" * 16, "0b" * 16, "0c" * 16, "0d" * 16


@pytest.fixture
async def store(module_database_url: str) -> AsyncIterator[PostgresStore]:
    store = await connect(module_database_url, pool_size=2)
    await store.spans.ingest(PROJECT, conversation(RUN, 3).batch())
    yield store
    await store.close()


@pytest.fixture
def server() -> Iterator[MockModelServer]:
    with MockModelServer() as server:
        server.otherwise(text('{"goal": "to find it", "key_decisions": [], "mistakes": [], "alternatives": []}'))
        yield server


def asking(store: PostgresStore, settings: CollectorSettings) -> AsyncClient:
    return AsyncClient("http://localhost", transport=httpx.ASGITransport(create_app(settings, store)))


@pytest.fixture
async def client(store: PostgresStore) -> AsyncIterator[AsyncClient]:
    async with asking(store, CollectorSettings()) as client:
        yield client


async def test_the_timeline_ends_where_the_last_call_reported(client: AsyncClient):
    timeline = await client.tokens(RUN)
    calls = [call async for call in client.llm_calls(RUN)]
    called = [point for point in timeline["items"] if point["kind"] == "llm_called"]
    assert [point["context"] for point in called] == [20, 40, 60] == [call["usage"]["input_tokens"] for call in calls]
    totals, (model,) = timeline["totals"], timeline["models"]
    assert (totals["calls"], totals["input_tokens"], totals["output_tokens"], totals["unpriced_calls"]) == (
        3,
        120,
        15,
        0,
    )
    assert totals["cost"] == pytest.approx((120 * 2.5 + 15 * 10) / 1e6)
    assert (model["limit"], (model["calibration"] or {}).get("calls")) == (128_000, 1)
    assert timeline["items"] == [
        point
        for cursor in (None, str(timeline["items"][5]["seq"]))
        for point in (await client.tokens(RUN, limit=6 if cursor is None else 1_000, cursor=cursor))["items"]
    ]


async def test_a_run_without_usage_is_estimated_by_what_others_of_the_project_reported(
    client: AsyncClient, store: PostgresStore
):
    silent = Recorder(SILENT)
    span = silent.model([text_message("user", "Where is my order?")], text_message("assistant", "On its way."))
    for name in (names.INPUT_TOKENS, names.OUTPUT_TOKENS):
        del span.attributes[name]
    await store.spans.ingest(PROJECT, silent.batch())
    await client.tokens(RUN)  # whose events are there from now on
    timeline = await client.tokens(SILENT)
    assert (timeline["models"][0]["calibration"] or {}).get("scope") == "project"
    called = next(point for point in timeline["items"] if point["kind"] == "llm_called")
    assert called["context_basis"] == "calibrated"
    assert called["context"]
    assert (timeline["totals"]["cost"], timeline["totals"]["unpriced_calls"]) == (None, 1)


async def test_a_message_that_was_cut_is_in_the_replay_and_marked(client: AsyncClient, store: PostgresStore):
    recorder = Recorder(CUT)
    system = text_message("system", "Be kind.")
    talk: list[Message] = [text_message("user" if n % 2 == 0 else "assistant", f"words {n}") for n in range(8)]
    recorder.model([system, *talk[:5]], talk[5])
    recorder.model([system, *talk[2:7]], talk[7])
    await store.spans.ingest(PROJECT, recorder.batch())
    entries = [entry async for entry in client.messages(CUT)]
    assert [entry["in_context"] for entry in entries] == [True, False, False, *[True] * 6]
    assert entries[1]["removed"] == entries[2]["removed"]
    removal = entries[1]["removed"]
    assert removal is not None
    assert removal["how"] == "dropped"
    before = [entry async for entry in client.messages(CUT, at=removal["seq"] - 1)]
    assert all(entry["in_context"] for entry in before)


async def test_tool_results_name_the_tool_call_that_made_them(client: AsyncClient):
    entries = [entry async for entry in client.messages(RUN)]
    assert [entry["maker"] is not None for entry in entries if entry["source"] == "output"] == [True] * 3
    assert all((entry["tokens"] or 0) > 0 for entry in entries)


async def test_reasoning_is_inferred_from_what_was_new(client: AsyncClient):
    patterns = [
        (await client.reasoning(RUN, call["seq"]))["inferred"]["pattern"] async for call in client.llm_calls(RUN)
    ]
    again = "tool_result -> same_tool_other_arguments"
    assert patterns == ["user_message -> tool_call", again, again]


async def test_an_explanation_survives_the_collector(store: PostgresStore, server: MockModelServer):
    settings = CollectorSettings(explain_url=server.base_url, explain_model="mock-model")
    async with asking(store, settings) as client:
        made = await client.explain(RUN, 4)
        assert (made["goal"], made["cached"]) == ("to find it", False)
    async with asking(store, settings) as client:
        assert await client.explain(RUN, 4) == {**made, "cached": True}
        assert (await client.reasoning(RUN, 4))["explanation"] == {**made, "cached": True}
        assert (await client.explain(RUN))["seq"] is None
    assert len(server.requests) == 2
    assert (await store.contents.get(PROJECT, ContentRef(made["ref"]))).media_type == "application/json"


async def test_a_call_asked_again_stays_out_of_the_run_and_goes_with_it(store: PostgresStore, server: MockModelServer):
    await store.spans.ingest(PROJECT, conversation(AGAIN, 3).batch())
    settings = CollectorSettings(explain_url=server.base_url, explain_model="mock-model")
    async with asking(store, settings) as client:
        before = [event async for event in client.events(AGAIN)]
        answer = await client.ask_again(AGAIN, "turn:1", system="Be brief.")
        assert server.requests[-1].messages[0] == {"role": "system", "content": "Be brief."}
        assert answer["recorded"] is not None
        assert answer["recorded"]["tools"] == [{"name": "search", "arguments": {"order": 0}}]
        assert [event async for event in client.events(AGAIN)] == before
        kept = value_of(await client.content(answer["ref"]))
        assert (kept["answer"], kept["changed"]) == (answer["answer"], ["system"])
        await client.delete_run(AGAIN)
    assert await store.contents.explanation(PROJECT, ContentRef.of(b"asked again: " + canonical_json(kept))) is None


async def test_without_a_model_nobody_is_asked(client: AsyncClient):
    with pytest.raises(ClientError, match="PLAYHEAD_EXPLAIN_URL"):
        await client.explain(RUN)
    assert (await client.reasoning(RUN, 4))["run"] == RUN

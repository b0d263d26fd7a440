"""Why, asked over HTTP of a collector's application on Postgres: about runs made here, and recorded ones."""

import os
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import httpx
import orjson
import pytest

from playhead.client import AsyncClient
from playhead.errors import NotFound
from playhead.model import names
from playhead.model.message import Message, text_message
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.read.recorded import MS, START_NS, Recorder, conversation
from tests.support.suspects.airline import recorded_chat

SOURCES = {"user", "tool_result", "assistant", "system", "definition", "derived", "not_found", "invented"}
KINDS = {"user_request", "follow_up", "error_recovery", "plan_step", "agent_message", "agent_initiative", "unknown"}
DATA = Path(os.environ.get("PLAYHEAD_TRAJECTORIES", Path(__file__).parents[3] / ".." / "shared" / "data"))
RECORDED = DATA / "tau-airline-gpt-4o.json"
RUNS = 12  # of the recorded ones: enough to meet every rule, few enough to be quick


@pytest.fixture
async def store(module_database_url: str) -> AsyncIterator[PostgresStore]:
    store = await connect(module_database_url, pool_size=2)
    yield store
    await store.close()


@pytest.fixture
async def client(store: PostgresStore) -> AsyncIterator[AsyncClient]:
    async with (
        httpx.ASGITransport(create_app(CollectorSettings(), store)) as transport,
        AsyncClient("http://localhost", transport=transport) as client,
    ):
        yield client


def choosing(run: str, order: str, question: str = "Cancel AB12CD or XY34ZW, whichever is open") -> Recorder:
    """One run of several that begin alike: the model chose this order."""
    recorder = Recorder(run, start_ns=START_NS + int(run[:4], 16) * 1_000 * MS)
    asked: list[Message] = [text_message("user", question)]
    part = {"type": "tool_call", "id": "c1", "name": "cancel", "arguments": {"order": order}}
    answer: Message = {"role": "assistant", "parts": [part]}
    recorder.model(asked, answer, **{names.TOOL_DEFINITIONS_REF: recorder.keep([{"name": "cancel"}, {"name": "wait"}])})
    recorder.tool("cancel", {"order": order}, "cancelled")
    return recorder


async def test_runs_that_begin_alike_tell_of_each_other_s_choices(client: AsyncClient, store: PostgresStore):
    runs = {f"{number:04x}" * 8: order for number, order in enumerate(("AB12CD", "AB12CD", "XY34ZW"), 1)}
    for run, order in runs.items():
        await store.spans.ingest(PROJECT, choosing(run, order).batch())
        await client.run(run)
        await client.run(run)  # projecting twice changes nothing
    (here, *others) = runs
    first = await anext(client.decisions(here))
    detail = await client.decision(here, first["seq"])
    assert [(option["name"], option["chosen"]) for option in detail["options"]] == [("cancel", True), ("wait", False)]
    told = {choice["chosen"]["tools"][0]["arguments"]["order"]: choice for choice in detail["elsewhere"]}
    assert {order: choice["same"] for order, choice in told.items()} == {"AB12CD": True, "XY34ZW": False}
    assert {call["run"] for choice in told.values() for call in choice["calls"]} == set(others)
    for choice in told.values():
        for call in choice["calls"]:
            assert (await client.context(call["run"], at=call["seq"]))["thread"] == detail["context"]["thread"]


async def test_a_call_is_explained_with_places_that_can_be_looked_up(client: AsyncClient, store: PostgresStore):
    await store.spans.ingest(PROJECT, choosing("00aa" * 8, "XY34ZW", "Cancel XY34ZW or EF56GH").batch())
    (why,) = [each async for each in client.attributions("00aa" * 8)]
    assert why == await client.why("00aa" * 8, why["seq"])
    (value,) = why["values"]
    assert (why["kind"], value["source"], value["how"], why["suspects"]) == ("user_request", "user", "exact", [])
    place = value["first"]
    assert place is not None
    assert place["content"] is not None
    message = (await client.contents([place["content"]]))[place["content"]].get("value", {})
    text = message["parts"][place["part"]]["content"]
    assert text[place["offset"] : place["offset"] + place["length"]] == "XY34ZW"
    graph = await client.causes("00aa" * 8, why["seq"], direction="back")
    assert place["seq"] in graph["roots"]


async def test_every_answer_is_there_for_every_event_of_a_run(client: AsyncClient, store: PostgresStore):
    run = "00bb" * 8
    await store.spans.ingest(PROJECT, conversation(run, 4).batch())
    last = (await client.run(run))["events"]
    for seq in range(1, last + 1):
        assert (await client.causes(run, seq))["seq"] == seq
        for ask in (client.decision, client.why):
            with suppress(NotFound):  # not every event is part of one
                assert (await ask(run, seq))["run"] == run


async def test_what_json_allows_and_utf_8_does_not_is_answered(client: AsyncClient, store: PostgresStore):
    run = "00cc" * 8
    recorder = Recorder(run)
    arguments = {"lone": "\ud800", "large": 2**80, "deep": [[[[{"a": None}]]]], "": ""}
    part = {"type": "tool_call", "id": "c", "name": "odd", "arguments": arguments}
    recorder.model([text_message("user", "\ud800 do it")], {"role": "assistant", "parts": [part]})
    recorder.tool("odd", arguments, None)
    await store.spans.ingest(PROJECT, recorder.batch())
    (why,) = [each async for each in client.attributions(run)]
    assert why["arguments"] == arguments
    assert len(why["values"]) == 4
    await client.causes(run, why["seq"])
    await client.decision(run, why["seq"])


# --- recorded runs ----------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not RECORDED.exists(), reason="there are no recorded runs: set PLAYHEAD_TRAJECTORIES")
async def test_every_argument_of_recorded_runs_is_traced_and_every_question_answered(
    client: AsyncClient, store: PostgresStore
):
    tools = orjson.loads((DATA / "tau-airline-tools.json").read_bytes())
    for number, record in enumerate(orjson.loads(RECORDED.read_bytes())[:RUNS]):
        run = f"{0xD00 + number:08x}" * 4
        await store.spans.ingest(PROJECT, recorded_chat(run, record["traj"], tools).batch())
        calls = [call async for call in client.tool_calls(run, hydrate=True)]
        found = [each async for each in client.attributions(run)]
        assert [each["seq"] for each in found] == [call["seq"] for call in calls]
        for each in found:
            assert each["kind"] in KINDS
            assert each["decided_at"] is not None
            assert all(value["source"] in SOURCES for value in each["values"])
            assert all(value["evidence"] for value in each["values"] if value["source"] in ("user", "tool_result"))
        decisions = [each async for each in client.decisions(run)]
        assert {"tool_selection", "tool_arguments", "answer"} >= {each["kind"] for each in decisions} - {"stop"}
        await client.decision(run, decisions[-1]["seq"])
        await client.causes(run, decisions[-1]["seq"])

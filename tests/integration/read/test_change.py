"""Compressions and differences, asked over HTTP about labelled runs that were ingested into Postgres."""

from collections.abc import AsyncIterator
from itertools import pairwise

import httpx
import pytest

from playhead.client import AsyncClient
from playhead.model.message import message_contents
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.support.compressed_runs import RUNS, LabelledRun
from tests.support.recorded_runs import Recorded

IDS = {labelled.name: f"{number + 1:02x}" * 16 for number, labelled in enumerate(RUNS)}
each_run = pytest.mark.parametrize("labelled", RUNS, ids=lambda labelled: labelled.name)


@pytest.fixture
async def store(module_database_url: str) -> AsyncIterator[PostgresStore]:
    store = await connect(module_database_url, pool_size=2)
    yield store
    await store.close()


@pytest.fixture
async def http(store: PostgresStore) -> AsyncIterator[httpx.AsyncBaseTransport]:
    async with httpx.ASGITransport(create_app(CollectorSettings(), store)) as transport:
        yield transport


@pytest.fixture
async def client(http: httpx.AsyncBaseTransport) -> AsyncIterator[AsyncClient]:
    async with AsyncClient("http://localhost", transport=http) as client:
        yield client


async def ingested(store: PostgresStore, labelled: LabelledRun) -> str:
    run = IDS[labelled.name]
    await store.spans.ingest(PROJECT, Recorded(run, labelled).batch())
    return run


def refs(messages) -> list[str]:
    return [message_contents(message)[0].ref for message in messages]


@each_run
async def test_each_kind_of_compression_is_found_and_audited(
    store: PostgresStore, client: AsyncClient, labelled: LabelledRun
):
    run = await ingested(store, labelled)
    items = [item async for item in client.compressions(run)]
    assert [item["strategy"] for item in items] == [expected.strategy for expected in labelled.expected]
    assert (await client.run(run))["compressions"] == len(items)
    for item, expected in zip(items, labelled.expected, strict=True):
        audit = await client.compression(run, item["seq"])
        assert [place["message"] for place in audit["summarised"]] == refs(expected.summarised)
        assert [place["message"] for place in audit["dropped"]] == refs(expected.dropped)
        assert {*expected.lost} <= {fact["text"] for fact in audit["lost"]}
        needed = {(fact["text"], need["how"]) for fact in audit["lost"] for need in fact["needed"]}
        assert {*expected.needed} <= needed
        assert audit["summary"] == expected.summary
        assert (await client.compression(run, item["event"])) == audit


@each_run
async def test_the_difference_of_neighbouring_calls_is_what_came_and_went(
    store: PostgresStore, client: AsyncClient, labelled: LabelledRun
):
    run = await ingested(store, labelled)
    calls = [call async for call in client.llm_calls(run)]
    for one, other in pairwise(calls):
        diff = await client.diff(run, one["seq"], other["seq"])
        contexts = [(await client.context(run, at=call["seq"]))["messages"] for call in (one, other)]
        rebuilt = [
            contexts[0][entry["from"] or 0] if entry["op"] == "kept" else entry.get("value")
            for entry in diff["context"]["entries"]
            if entry["op"] != "dropped"
        ]
        assert rebuilt == contexts[1]
        back = await client.diff(run, other["seq"], one["seq"], hydrate=False)
        assert (back["context"]["kept"], back["context"]["added"]) == (
            diff["context"]["kept"],
            diff["context"]["dropped"],
        )


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("compressions/1", 404, "no_such_compression"),
        ("compressions/nobody.knows", 404, "no_such_event"),
        ("compressions/99999", 404, "no_such_seq"),
        ("compressions?cursor=x", 400, "bad_cursor"),
        ("diff?from=0", 404, "no_such_seq"),
        ("diff?to=nobody.knows", 404, "no_such_event"),
        ("diff?from=a%00b", 422, "invalid"),
    ],
)
async def test_what_cannot_be_answered_says_why(
    store: PostgresStore, http: httpx.AsyncBaseTransport, path: str, status: int, code: str
):
    run = await ingested(store, RUNS[0])
    async with httpx.AsyncClient(transport=http, base_url=f"http://localhost/api/v1/runs/{run}/") as plain:
        response = await plain.get(path)
    assert (response.status_code, response.json()["error"]["code"]) == (status, code)

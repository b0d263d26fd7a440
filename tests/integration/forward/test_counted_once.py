"""What real senders sent, in Langfuse and Phoenix: each call is one call there, with the tokens and the cost that we
say, however many spans and log records describe it."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from playhead_collector.app import create_app
from playhead_collector.destination_settings import LangfuseSettings, PhoenixSettings
from playhead_collector.forward.destination import ForwardLimits, destination
from playhead_collector.forward.forwarder import Forwarder
from playhead_collector.read.prices import shipped
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.store.making import Clock
from tests.senders.catalogue import SENDERS
from tests.senders.sent import GOLDEN, sent
from tests.support.backends.langfuse import PUBLIC, SECRET, Langfuse
from tests.support.backends.phoenix import Phoenix

SECOND = 1_000_000_000
# Frameworks and clients that were instrumented both, and agents whose calls stand in log records.
SEVERAL = ("nested_langgraph", "openllmetry_crewai", "otel_openai_v2_events", "gemini_cli_traces", "codex")


class Destinations:
    """Both, and the workers that send to them."""

    def __init__(self) -> None:
        self.langfuse, self.phoenix = Langfuse(), Phoenix()
        self.clock = Clock()

    def of(self) -> list[Any]:
        langfuse = LangfuseSettings(name="langfuse", url=self.langfuse.url, public_key=PUBLIC, secret_key=SECRET)
        both = (langfuse, PhoenixSettings(name="phoenix", url=self.phoenix.url))
        return [destination(each.checked()) for each in both]

    async def forward(self, forwarder: Forwarder, seconds: float) -> None:
        self.clock.now_ns += int(seconds * SECOND)
        for worker in forwarder.workers:
            await worker.run_once()
            assert worker.state.last_error is None


@pytest.fixture
def to() -> Iterator[Destinations]:
    destinations = Destinations()
    with destinations.langfuse, destinations.phoenix:
        yield destinations


@pytest.fixture
async def store(database_url: str, to: Destinations) -> AsyncIterator[PostgresStore]:
    recipients = [each.recipient for each in to.of()]
    store = await connect(database_url, pool_size=4, clock=to.clock, recipients=recipients)
    yield store
    await store.close()


@pytest.fixture
async def forwarder(store: PostgresStore, to: Destinations) -> AsyncIterator[Forwarder]:
    forwarder = Forwarder(store, to.of(), ForwardLimits(), shipped(), "http://playhead.example", to.clock)
    yield forwarder
    await forwarder.stop()


@pytest.fixture
async def client(store: PostgresStore) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(create_app(CollectorSettings(), store))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def test_what_each_sender_sent_adds_up(
    client: httpx.AsyncClient, forwarder: Forwarder, store: PostgresStore, to: Destinations
):
    for name in SENDERS:
        await send(client, captured(name))
    for _ in range(4):  # of a bounded number of entries each
        await to.forward(forwarder, 12)
    assert await store.outbox.status() == []
    for name in SENDERS:
        for run in sent(name).traces():
            await compare(client, run, to, name)


async def test_calls_are_counted_once_when_their_spans_come_one_by_one(
    client: httpx.AsyncClient, forwarder: Forwarder, store: PostgresStore, to: Destinations
):
    for name in SEVERAL:
        for part in one_by_one(captured(name)):
            await send(client, part)
            await to.forward(forwarder, 2)
    await to.forward(forwarder, 12)
    assert await store.outbox.status() == []
    for name in SEVERAL:
        for run in sent(name).traces():
            await compare(client, run, to, name)


def captured(name: str) -> dict[str, Any]:
    return json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))


async def send(client: httpx.AsyncClient, requests: dict[str, Any]) -> None:
    for signal in ("traces", "logs"):
        if requests.get(signal):
            answer = await client.post(f"/v1/{signal}", json=requests[signal])
            assert answer.status_code == 200, answer.text


def one_by_one(requests: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each span and log record as a request, in the order in which they ended."""
    parts: list[tuple[int, dict[str, Any]]] = []
    for of_resource in requests["traces"].get("resourceSpans", ()):
        for of_scope in of_resource["scopeSpans"]:
            for span in of_scope["spans"]:
                scoped = {**of_resource, "scopeSpans": [{**of_scope, "spans": [span]}]}
                parts.append((int(span["endTimeUnixNano"]), {"traces": {"resourceSpans": [scoped]}}))
    for of_resource in requests["logs"].get("resourceLogs", ()):
        for of_scope in of_resource["scopeLogs"]:
            for log in of_scope["logRecords"]:
                scoped = {**of_resource, "scopeLogs": [{**of_scope, "logRecords": [log]}]}
                time = log.get("timeUnixNano") or log["observedTimeUnixNano"]
                parts.append((int(time), {"logs": {"resourceLogs": [scoped]}}))
    return (part for _, part in sorted(parts, key=lambda each: each[0]))


async def compare(client: httpx.AsyncClient, run: str, to: Destinations, name: str) -> None:
    row = (await client.get(f"/api/v1/runs/{run}")).json()
    cost = (await client.get(f"/api/v1/runs/{run}/tokens")).json()["totals"]["cost"]
    calls = [each["attributes"] for each in to.phoenix.spans() if each["trace"] == run and each["kind"] == "LLM"]
    generations = [
        each for each in to.langfuse.observations.values() if each["traceId"] == run and each["type"] == "GENERATION"
    ]
    assert len(calls) == len(generations) == row["llm_calls"], name
    for kind, theirs in (("input", "prompt"), ("output", "completion")):
        ours = row[f"{kind}_tokens"] or 0
        assert sum(call.get(f"llm.token_count.{theirs}", 0) for call in calls) == ours, name
        details = [each["usageDetails"] for each in generations]
        assert sum(sum(n for key, n in one.items() if key.startswith(kind)) for one in details) == ours, name
    if cost is not None:
        assert sum(call.get("llm.cost.total", 0) for call in calls) == pytest.approx(cost), name
        assert sum(each["costDetails"].get("total", 0) for each in generations) == pytest.approx(cost), name
    spans = [each for each in to.phoenix.spans() if each["trace"] == run]
    tools = [each for each in spans if each["kind"] == "TOOL"]
    assert len(tools) == row["tool_calls"], name
    known = {each["id"] for each in spans}
    assert [each["name"] for each in spans if each["parent"] not in known | {None}] == [], name

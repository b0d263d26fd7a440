"""Another Playhead as the backend: what it is sent, with all content inline, lets it give equal answers."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest

from playhead_collector.app import PROJECT, create_app
from playhead_collector.destination_settings import OtlpSettings
from playhead_collector.forward.destination import ForwardLimits, destination
from playhead_collector.forward.forwarder import Forwarder
from playhead_collector.read.prices import shipped
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports import Batch
from playhead_collector.store.ports.forwarding import Recipient
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.read.recorded import conversation
from tests.integration.read.test_sweep import DECLARED, SUMMED_UP, branching
from tests.support.recorded_runs import Recorded

PREFIX = "/api/v1"
TALK, BRANCHING, COMPRESSED, SUMMED = (f"{number:02x}" * 16 for number in range(1, 5))
ACROSS = (
    "/runs",
    "/search/decisions",
    f"/runs/{TALK}/compare/{BRANCHING}",
    *(
        f"/analytics/{name}"
        for name in ("statistics", "transitions", "patterns", "compression", "failures", "contents")
    ),
)
# Asked above, about two runs; and the spans as they are stored, of which the first one has fewer attributes.
NOT_ASKED = {"/runs/{a}/compare/{b}", "/runs/{run}/otlp"}
_EVENTS = 3  # of each run, at which questions are asked
# What the first one adds on the way: where the span came from, and what its run says once.
_ADDED = {"playhead.run.url", "playhead.run.id", "playhead.content_inline", "gen_ai.conversation.id", "user.id"}


def runs() -> Iterator[tuple[str, Batch]]:
    yield TALK, conversation(TALK, 3).batch()
    yield BRANCHING, branching(BRANCHING).batch()
    yield COMPRESSED, Recorded(COMPRESSED, DECLARED).batch()
    yield SUMMED, Recorded(SUMMED, SUMMED_UP).batch()


@pytest.fixture
async def stores(database_url: str, module_database_url: str) -> AsyncIterator[tuple[PostgresStore, PostgresStore]]:
    first = await connect(database_url, pool_size=4, recipients=[Recipient("otlp", logs=True)])
    second = await connect(module_database_url, pool_size=4)
    yield first, second
    await first.close()
    await second.close()


def asking(store: PostgresStore) -> httpx.AsyncClient:
    # No run is sealed while the test runs, which one of the two would be first.
    app = create_app(CollectorSettings(seal_after_seconds=3_600), store)
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


async def test_it_gives_equal_answers_to_every_question(stores: tuple[PostgresStore, PostgresStore]):
    first, second = stores
    for _, batch in runs():
        await first.ingest(PROJECT, batch)
    to = destination(OtlpSettings(name="otlp", url="http://localhost"))
    transport = httpx.ASGITransport(create_app(CollectorSettings(), second))
    forwarder = Forwarder(first, [to], ForwardLimits(), shipped(), "http://first", time.time_ns, transport)
    await forwarder.workers[0].run_once()
    await forwarder.stop()
    assert await first.outbox_status() == []
    asked, routes = Counter[int](), set[str]()
    async with asking(first) as here, asking(second) as there:
        for run, _ in runs():
            for question in await questions(here, run):
                own, other = await asyncio.gather(answer(here, question), answer(there, question))
                assert other == own, question
                asked[own[0]] += 1
                routes.add(_route(question, run))
        for question in ACROSS:
            own, other = await asyncio.gather(answer(here, question), answer(there, question))
            assert (other, other[0]) == (own, 200), question
    assert _routes() - routes == NOT_ASKED
    assert asked[200] > 50
    assert asked.keys() <= {200, 404}  # an event has no decision, no call, no compression


async def questions(client: httpx.AsyncClient, run: str) -> list[str]:
    """All questions about a run, at each event that they can be asked of."""
    events = (await client.get(f"{PREFIX}/runs/{run}/events", params={"limit": 1000})).json()["items"]
    assert len(events) > 10
    lists = ("", "/events", "/messages", "/llm-calls", "/tool-calls", "/spans", "/logs", "/decisions")
    lists += ("/attributions", "/compressions", "/tokens", "/tree", "/suspects", "/scores", "/checkpoints")
    found = [f"/runs/{run}{each}" + ("?hydrate=true" if each == "/messages" else "") for each in lists]
    for event in events[:: max(1, len(events) // _EVENTS)]:
        seq = event["seq"]
        found += [f"/runs/{run}/state?at={seq}&hydrate=true", f"/runs/{run}/causes/{seq}"]
        found += [f"/runs/{run}/context?at={seq}", f"/runs/{run}/reasoning/{seq}"]
        found += [f"/runs/{run}/attributions/{seq}", f"/runs/{run}/decisions/{seq}", f"/runs/{run}/compressions/{seq}"]
    found += [f"/runs/{run}/diff?from=1&to={events[-1]['seq']}"]
    return found


def _routes() -> set[str]:
    """All questions about a run."""
    found: dict[str, Any] = create_app(CollectorSettings(), None).openapi()["paths"]  # pyright: ignore[reportArgumentType]
    paths = {path.removeprefix(PREFIX) for path, methods in found.items() if "get" in methods}
    return {path for path in paths if path.startswith("/runs/{")}


def _route(question: str, run: str) -> str:
    """`/runs/RUN/causes/5?x=1` as `/runs/{run}/causes/{seq}`."""
    path = question.partition("?")[0].replace(run, "{run}")
    return "/".join("{seq}" if part.isdigit() else part for part in path.split("/"))


async def answer(client: httpx.AsyncClient, question: str) -> Any:
    response = await client.get(f"{PREFIX}{question}")
    return response.status_code, _comparable(response.json())


def _comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _comparable(inner) for key, inner in value.items() if key not in _ADDED}
    return [_comparable(inner) for inner in value] if isinstance(value, list) else value

"""Another Playhead as the backend: what it is sent, with all content inline, lets it give equal answers."""

import asyncio
import re
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from typing import Any
from unittest.mock import MagicMock

import httpx
import pytest

from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.destination_settings import OtlpSettings
from playhead_collector.forward.destination import ForwardLimits, destination
from playhead_collector.forward.forwarder import Forwarder
from playhead_collector.read.prices import shipped
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.recipients import Recipient
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.read.recorded import conversation
from tests.integration.read.test_sweep import DECLARED, SUMMED_UP, branching
from tests.support.readers.questions import PREFIX, across, answer, questions
from tests.support.recorded_runs import Recorded

TALK, BRANCHING, COMPRESSED, SUMMED = (f"{number:02x}" * 16 for number in range(1, 5))
# Asked above, about two runs; the spans as they are stored, of which the first one has fewer attributes; what people
# noted there.
NOT_ASKED = {"/runs/{a}/compare/{b}", "/runs/{run}/otlp", "/runs/{run}/bundle", "/runs/{run}/notes"}
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
        await first.spans.ingest(PROJECT, batch)
    to = destination(OtlpSettings(name="otlp", url="http://localhost"))
    transport = httpx.ASGITransport(create_app(CollectorSettings(), second))
    forwarder = Forwarder(first, [to], ForwardLimits(), shipped(), "http://first", time.time_ns, transport)
    await forwarder.workers[0].run_once()
    await forwarder.stop()
    assert await first.outbox.status() == []
    asked, routes = Counter[int](), set[str]()
    async with asking(first) as here, asking(second) as there:
        for run, _ in runs():
            for question in await questions(here, run):
                own, other = await asyncio.gather(answer(here, question, _ADDED), answer(there, question, _ADDED))
                assert other == own, question
                asked[own[0]] += 1
                routes.add(_route(question, run))
        for question in (*across(), "/search/decisions", f"/runs/{TALK}/compare/{BRANCHING}"):
            own, other = await asyncio.gather(answer(here, question, _ADDED), answer(there, question, _ADDED))
            assert (other, other[0]) == (own, 200), question
    assert _routes() - routes == NOT_ASKED
    assert asked[200] > 50
    assert asked.keys() <= {200, 404}  # an event has no decision, no call, no compression


def _routes() -> set[str]:
    """All questions about a run."""
    found: dict[str, Any] = create_app(CollectorSettings(), MagicMock()).openapi()["paths"]
    paths = {path.removeprefix(PREFIX) for path, methods in found.items() if "get" in methods}
    return {path for path in paths if path.startswith("/runs/{")}


def _route(question: str, run: str) -> str:
    """`/runs/RUN/causes/5?x=1` as `/runs/{run}/causes/{seq}`."""
    path = re.sub(r"/spans/[0-9a-f]{16}$", "/spans/{span}", question.partition("?")[0].replace(run, "{run}"))
    path = re.sub(r"/turns/[0-9]+$", "/turns/{turn}", path)
    return "/".join("{seq}" if part.isdigit() else part for part in path.split("/"))

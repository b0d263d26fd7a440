"""One contract for the stores: Postgres and records in memory give equal answers about the same recorded runs."""

import asyncio
from collections.abc import Iterator

import httpx
from fastapi import FastAPI

from playhead_collector.app import PROJECT, create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports import Batch
from playhead_collector.store.postgres.store import PostgresStore
from playhead_collector.store.records.memory import MemoryRecords
from playhead_collector.store.records.store import RecordStore
from tests.integration.read.recorded import START_NS, conversation
from tests.integration.read.test_forks import forked
from tests.integration.read.test_sweep import DECLARED, SUMMED_UP, branching
from tests.support.readers.questions import across, answer, questions
from tests.support.readers.served import app_on
from tests.support.recorded_runs import Recorded

TALK, BRANCHING, COMPRESSED, SUMMED, FORK, SCORED = (f"{number:02x}" * 16 for number in range(1, 7))


def _batches() -> Iterator[tuple[str, Batch]]:
    talk = conversation(TALK, 3)
    yield TALK, talk.batch()
    yield BRANCHING, branching(BRANCHING).batch()
    yield COMPRESSED, Recorded(COMPRESSED, DECLARED).batch()
    yield SUMMED, Recorded(SUMMED, SUMMED_UP).batch()
    yield FORK, forked(talk, 1, FORK).batch()


def client_of(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")


def in_memory(*batches: Batch) -> FastAPI:
    """The query API over these records. The clock stands still, so that no run is sealed while the test goes on."""
    source = MemoryRecords()
    for batch in batches:
        source.add(batch.spans, batch.logs, batch.contents, batch.threads)
    return app_on(RecordStore(source, clock=lambda: START_NS))


async def test_records_in_memory_give_the_answers_of_postgres(store: PostgresStore):
    runs = dict(_batches())
    for batch in runs.values():
        await store.ingest(PROJECT, batch)
    app = create_app(CollectorSettings(seal_after_seconds=3_600), store)
    asked = 0
    async with client_of(app) as postgres, client_of(in_memory(*runs.values())) as memory:
        every = [question for run in runs for question in await questions(postgres, run)]
        for question in [*every, *across(), f"/runs/{TALK}/compare/{FORK}"]:
            own, other = await asyncio.gather(answer(postgres, question), answer(memory, question))
            assert other == own, question
            asked += own[0] == 200
    assert asked > 50

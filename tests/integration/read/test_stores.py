"""One contract for the stores: Postgres, records in memory and the journal answer equally about the same runs."""

from collections.abc import Iterator
from pathlib import Path

import httpx
from fastapi import FastAPI

from playhead.local.journal_records import JournalRecords
from playhead.model import names
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from playhead_collector.store.records.memory import MemoryRecords
from playhead_collector.store.records.ports import RecordSource
from tests.integration.read.recorded import START_NS, conversation
from tests.integration.read.test_forks import forked
from tests.integration.read.test_sweep import DECLARED, SUMMED_UP, branching
from tests.support.local_app import local_app
from tests.support.readers.journaled import write_journal
from tests.support.readers.questions import across, answer, questions
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


def local(source: RecordSource) -> httpx.AsyncClient:
    """The query API over these records. The clock stands still, so that no run is sealed while the test goes on."""
    return client_of(local_app(source, clock=lambda: START_NS))


async def test_memory_and_journal_give_the_answers_of_postgres(store: PostgresStore, tmp_path: Path):
    runs = dict(_batches())
    in_memory = MemoryRecords()
    for batch in runs.values():
        await store.spans.ingest(PROJECT, batch)
        in_memory.add(batch.spans, batch.logs, batch.contents, batch.threads)
    write_journal(tmp_path, runs.values())
    app = create_app(CollectorSettings(seal_after_seconds=3_600), store)
    asked = 0
    async with client_of(app) as postgres, local(in_memory) as memory, local(JournalRecords(tmp_path)) as journal:
        every = [question for run in runs for question in await questions(postgres, run)]
        for question in [*every, *across(), f"/runs/{TALK}/compare/{FORK}"]:
            expected, *others = [await answer(each, question) for each in (postgres, memory, journal)]
            for name, other in zip(("memory", "journal"), others, strict=True):
                assert other == expected, (name, question)
            asked += expected[0] == 200
    assert asked > 50


async def test_every_store_names_the_runs_that_continue_one_however_much_that_recorded_afterwards(
    store: PostgresStore, tmp_path: Path
):
    first, again = "c1" * 16, "c2" * 16
    talk = conversation(TALK, 1)
    for next_run in (first, again, first):
        talk.say(names.CONTINUED, **{names.CONTINUES: next_run})
    for n in range(300):
        talk.change("later", n)
    batch, in_memory = talk.batch(ended=False), MemoryRecords()
    await store.spans.ingest(PROJECT, batch)
    in_memory.add(batch.spans, batch.logs, batch.contents, batch.threads)
    write_journal(tmp_path, [batch])
    app = create_app(CollectorSettings(seal_after_seconds=3_600), store)
    async with client_of(app) as postgres, local(in_memory) as memory, local(JournalRecords(tmp_path)) as journal:
        for each in (postgres, memory, journal):
            _, detail = await answer(each, f"/runs/{TALK}")
            assert detail["continued_by"] == [first, again]
        talk.say(names.CONTINUED, **{names.CONTINUES: FORK})  # projected from where the run was
        await store.spans.ingest(PROJECT, Batch([], talk.logs[-1:], [], []))
        _, detail = await answer(postgres, f"/runs/{TALK}")
        assert detail["continued_by"] == [first, again, FORK]

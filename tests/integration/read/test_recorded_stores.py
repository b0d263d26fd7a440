"""The contract of the stores over recorded runs: Postgres, memory and the journal give the same answers.

A few runs by default; `make test-stores` compares all of them.
"""

import os
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from playhead.local.journal_records import JournalRecords
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore
from playhead_collector.store.records.memory import MemoryRecords
from tests.integration.read.test_stores import client_of, local
from tests.integration.read.test_why import DATA, RECORDED
from tests.support.readers.journaled import write_journal
from tests.support.readers.questions import answer, questions
from tests.support.suspects.airline import recorded_chat

RUNS = int(os.environ.get("PLAYHEAD_STORE_RUNS", "2"))


def _batches() -> Iterator[tuple[str, Batch]]:
    tools = orjson.loads((DATA / "tau-airline-tools.json").read_bytes())
    for number, record in enumerate(orjson.loads(RECORDED.read_bytes())[:RUNS]):
        run = f"{0xE00 + number:08x}" * 4
        yield run, recorded_chat(run, record["traj"], tools).batch()


@pytest.mark.skipif(not RECORDED.exists(), reason="there are no recorded runs: set PLAYHEAD_TRAJECTORIES")
async def test_recorded_runs_have_the_same_answers_in_all_stores(store: PostgresStore, tmp_path: Path):
    app = create_app(CollectorSettings(seal_after_seconds=3_600), store)
    asked, differing = 0, list[tuple[str, str]]()
    in_memory = MemoryRecords()
    for run, batch in _batches():
        in_memory.add(batch.spans, batch.logs, batch.contents, batch.threads)
        await store.spans.ingest(PROJECT, batch)
        write_journal(tmp_path, [batch])
        async with client_of(app) as postgres, local(in_memory) as memory, local(JournalRecords(tmp_path)) as journal:
            for question in await questions(postgres, run):
                expected = await answer(postgres, question)
                others = {"memory": await answer(memory, question), "journal": await answer(journal, question)}
                differing += [(name, question) for name, other in others.items() if other != expected]
                asked += expected[0] == 200
    assert differing == []
    assert asked > 20 * RUNS

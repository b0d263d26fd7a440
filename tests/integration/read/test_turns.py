"""A run turn by turn, asked over HTTP of a collector's application on Postgres: written ones, and recorded ones."""

from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest

from playhead.client import AsyncClient
from playhead.model.message import Message, text_message
from playhead.testing import Trajectories
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.scores import ScoreToAdd
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.integration.read.recorded import Recorder
from tests.integration.read.test_why import DATA, RECORDED
from tests.support.suspects.airline import trial

RUN = "0d" * 16


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


async def test_a_run_that_waits_says_for_what_and_goes_on_when_it_is_answered(
    client: AsyncClient, store: PostgresStore
):
    recorder = Recorder(RUN)
    part = {"type": "tool_call", "id": "c1", "name": "drop", "arguments": {"table": "orders"}}
    asked: Message = {"role": "assistant", "parts": [part]}
    recorder.model([text_message("user", "Drop the old table")], asked)
    batch = recorder.batch()
    recorder.root.end_ns = None  # it goes on
    await store.spans.ingest(PROJECT, batch)
    promise = "1a" * 16
    await client.open_promise(promise, "approval", "drop", run=RUN, name="drop", action="Drop orders?")
    verdict = await client.verdict(RUN)
    assert verdict["outcome"]["word"] == "waiting"
    assert [(each["id"], each["action"]) for each in verdict["waits_for"]] == [(promise, "Drop orders?")]
    # A request that it stops is nothing that it waits for.
    await client.open_promise("1b" * 16, "interrupt", "stop", run=RUN)
    assert len((await client.verdict(RUN))["waits_for"]) == 1
    await client.answer_promise(promise, "approved", by="Ada")
    answered = await client.verdict(RUN)
    assert (answered["outcome"]["word"], answered["waits_for"]) == ("running", [])
    (agent,) = answered["agents"]
    assert agent["status"] == "open"


async def test_a_failed_trial_names_its_score_its_task_and_each_turn(client: AsyncClient, store: PostgresStore):
    if not RECORDED.exists():
        pytest.skip("there are no recorded runs: set PLAYHEAD_TRAJECTORIES")
    trials = [run for run in Trajectories.load(DATA) if run.record["task_id"] == 6]
    runs: list[tuple[str, Any]] = []
    for number, trajectory in enumerate(trials):
        recorder = trial(trajectory, number)
        await store.spans.ingest(PROJECT, recorder.batch())
        score = ScoreToAdd(f"s{number}", "reward", float(trajectory.record["reward"]))
        await client.run(recorder.run)
        await store.scores.add(PROJECT, recorder.run, score)
        runs.append((recorder.run, trajectory))
    succeeded = sum(trajectory.record["reward"] >= 1 for _, trajectory in runs)
    for run, trajectory in runs:
        verdict = await client.verdict(run)
        won = trajectory.record["reward"] >= 1
        assert verdict["outcome"] == {
            "word": "succeeded" if won else "failed", "because": "reward>=0.5", "value": trajectory.record["reward"],
        }  # fmt: skip
        assert verdict["task"] == {
            "task": "tag:task:6", "runs": len(trials), "scored": len(trials), "succeeded": succeeded,
        }  # fmt: skip
        rows = [row async for row in client.turns(run)]
        # What the user said last was sent to no model.
        sent = trajectory.messages[: trajectory.turns[-1]]
        said = [message for message in sent if message["role"] == "user"]
        assert sum(row["kind"] == "user" for row in rows) == len(said)
        turns = [row for row in rows if row["kind"] == "turn"]
        assert len(turns) == len(trajectory.turns) == verdict["turns"]
        asked = sum(len(message.get("tool_calls") or ()) for message in trajectory.messages)
        assert sum(len(row["calls"]) for row in turns) == asked
        last = await client.turn(run, len(turns))
        assert sum(part["tokens"] for part in last["saw"]["parts"]) == last["saw"]["tokens"]
        assert await client.turn(run, 1, why=True)
        calls = [call for row in turns for call in row["calls"]]
        if calls:
            hits = [hit async for hit in client.search_run(run, calls[0]["name"], limit=5)]
            assert {"name"} <= {hit["where"] for hit in hits}

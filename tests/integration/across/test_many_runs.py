"""10,000 runs with 100,000 tool calls: questions across them take less than 2 s, and look nothing up by reading all."""

import time
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.analysis.across.cohort import read_cohort
from playhead_collector.analysis.across.differences import answer_differences
from playhead_collector.analysis.across.failures import answer_failures
from playhead_collector.analysis.across.statistics import answer_statistics
from playhead_collector.read.prices import shipped
from playhead_collector.store.ports.runs import RunFilter
from playhead_collector.store.ports.scores import ScoreCondition
from playhead_collector.store.postgres import statements
from playhead_collector.store.postgres.runs import LAST_RUN, id_of
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.support.many_runs.inserted import CALLS, FILL, RUNS, TOOLS


@pytest.fixture
async def store(database_url: str) -> AsyncIterator[PostgresStore]:
    connection = await asyncpg.connect(database_url)
    await connection.execute(FILL)
    await connection.close()
    store = await connect(database_url, pool_size=2)
    yield store
    await store.close()


async def test_statistics_of_10_000_runs_take_less_than_2_s(store: PostgresStore):
    """Of this process: what else the machine does is not counted.  Postgres' part is a tenth of it."""
    taken: list[float] = []
    for _ in range(3):
        began = time.process_time()
        cohort = await read_cohort(store, PROJECT, RunFilter(agent="support"), ScoreCondition("resolved"), RUNS)
        statistics = await answer_statistics(store, PROJECT, cohort, prices=shipped())
        taken.append(time.process_time() - began)
        if taken[-1] < 2:  # processors are slower, too, while others use the machine
            break
    assert (statistics["population"]["runs"], statistics["population"]["succeeded"]) == (RUNS, RUNS // 3)
    assert sum(each["calls"] for each in statistics["tools"]) == RUNS * CALLS
    assert {each["tool"] for each in statistics["tools"]} == {f"tool{n}" for n in range(TOOLS)}
    differences = await answer_differences(store, PROJECT, cohort, limit=50)
    assert differences["tried"] > TOOLS
    assert min(taken) < 2, taken


async def test_runs_whose_events_are_gone_are_still_in_clusters(store: PostgresStore):
    cohort = await read_cohort(store, PROJECT, RunFilter(agent="support"), ScoreCondition("resolved"), 20)
    clusters = (await answer_failures(store, PROJECT, cohort, limit=3))["clusters"]
    assert [each["attributions"] for each in clusters] == [{}, {}, {}]
    assert all(each["runs"] and each["evidence"] for each in clusters)


async def test_no_question_reads_a_big_table_whole(store: PostgresStore, database_url: str):
    runs = [each.row.run for each in await store.runs.facts(PROJECT, RunFilter(), None, limit=100)]
    of = {"project_id": PROJECT, "runs": [id_of(run) for run in runs]}
    page = {"since": -(2**62), "until": 2**62, "before_ns": 2**62, "before_run": LAST_RUN, "before_id": ""}
    scores = {"project_id": PROJECT, "source": None, "latest": True, "how_many": 50, **page}
    asked: list[tuple[str, dict[str, Any]]] = [
        ("tool_steps", of),
        ("last_errors", of),
        ("scores", scores | {"run": None, "name": None}),
        ("scores", scores | {"run": None, "name": "resolved"}),
        ("scores", scores | {"run": id_of(runs[0]), "name": None}),
    ]
    connection = await asyncpg.connect(database_url, server_settings={"plan_cache_mode": "force_custom_plan"})
    try:
        for name, parameters in asked:
            text, arguments = await statements._prepared(connection, name, parameters)
            plan = "\n".join(row[0] for row in await connection.fetch(f"explain {text}", *arguments))
            assert "Seq Scan on run" not in plan, plan
            assert "Seq Scan on tool_call" not in plan, plan
            assert "Seq Scan on score" not in plan, plan
    finally:
        await connection.close()

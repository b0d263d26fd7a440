"""Everything that can be asked about runs in the lower tiers is answered or refused: nothing fails for what is gone."""

import asyncio
import time
from typing import Any

import httpx
import pytest

from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.process import CollectorProcess
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import connect
from tests.integration.read.recorded import conversation
from tests.integration.read.test_sweep import DECLARED, SUMMED_UP, branching
from tests.support.recorded_runs import Recorded
from tests.support.sweep import PREFIX, RULES, Question, Swept

RUNS = [f"{number:02x}" * 16 for number in range(1, 5)]
ENV = {"PLAYHEAD_SEAL_AFTER_SECONDS": "0.05", "PLAYHEAD_ADMIN_KEY": "", "PLAYHEAD_STREAM_SECONDS": "0.05"}


async def ingest(dsn: str) -> None:
    store = await connect(dsn, pool_size=1)
    batches: list[Batch] = [conversation(RUNS[0], 3).batch(), branching(RUNS[1]).batch()]
    batches += [Recorded(run, labelled).batch() for run, labelled in zip(RUNS[2:], (DECLARED, SUMMED_UP), strict=True)]
    for batch in batches:
        await store.spans.ingest(PROJECT, batch)
    await store.close()


def items(http: httpx.Client, path: str) -> list[dict[str, Any]]:
    return http.get(path, params={"limit": 1000}).raise_for_status().json()["items"]


def thin(http: httpx.Client, tier: str) -> None:
    """These runs ended more than a day ago."""
    policy = {"default": {"hot": "1d", tier: "forever", "contents": False, "last_context": False}}
    http.put(f"{PREFIX}/project/retention", json={"policy": policy}).raise_for_status()
    deadline = time.monotonic() + 180
    while True:
        http.post(f"{PREFIX}/retention").raise_for_status()
        runs = items(http, f"{PREFIX}/runs")
        if len(runs) == len(RUNS) and all(run["completeness"]["retained"] == tier for run in runs):
            return
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.parametrize("tier", ["cold", "archive"])
def test_every_question_of_the_sweep(database_url: str, tier: str):
    asked, failed = 0, list[str]()
    with CollectorProcess(database_url=database_url, env=ENV) as collector:
        asyncio.run(ingest(database_url))
        with httpx.Client(base_url=collector.url, timeout=60, trust_env=False) as http:
            while not all(run["completeness"]["sealed"] for run in items(http, f"{PREFIX}/runs")):
                time.sleep(0.1)
            # What can be asked follows from what the runs were: also of decisions and messages that are gone now.
            known = {run: [items(http, f"{PREFIX}/runs/{run}/{of}") for of in ("events", "decisions")] for run in RUNS}
            thin(http, tier)
            for number, run in enumerate(RUNS):
                swept = Swept(run, [RUNS[number - 1]], *known[run], one_in=6)
                questions = [(operation, question) for operation, rule in RULES.items() for question in rule(swept)]
                for operation, question in questions:
                    answer = ask(http, operation, question)
                    asked += 1
                    if answer.status_code >= 500:
                        failed.append(f"{operation} {question.path} {question.params}: {answer.text[:300]}")
            assert {run["completeness"]["retained"] for run in items(http, f"{PREFIX}/runs")} == {tier}
        log = collector.log()
    assert failed == []
    assert asked > 500
    assert "Traceback" not in log


def ask(http: httpx.Client, operation: str, question: Question) -> httpx.Response:
    method = operation.partition(" ")[0].upper()
    return http.request(method, question.path, params=question.params, json=question.body)

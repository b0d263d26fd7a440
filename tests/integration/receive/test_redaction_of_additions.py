"""What the collector itself adds to a record is masked by the rules of its project: what models and functions say about
runs, and copies of what was recorded before there were rules."""

import asyncio
import sys
from collections.abc import Iterator

import asyncpg
import pytest

from playhead.client import Client
from playhead.testing import MockModelServer, text
from playhead_collector.access import FIRST_PROJECT
from playhead_collector.process import CollectorProcess
from playhead_collector.store.postgres.store import connect
from tests.integration.scorers.test_collector import eventually
from tests.integration.scorers.test_scoring import support
from tests.support.stored_texts import stored_in

OPERATOR = "the operator's key"
SECRET = "jo.secret@example.com"
RUN = "0a" * 16
FUNCTIONS = """
def quotes(run):
    raise ValueError(f"cannot score {run.tool_calls[-1].result}")
"""


@pytest.fixture(scope="module")
def judge() -> Iterator[MockModelServer]:
    with MockModelServer(models=("gpt-4o",)) as server:
        server.otherwise(text(f'{{"reason": "it is for {SECRET}", "value": false}}'))
        yield server


@pytest.fixture(scope="module")
def collector(
    module_database_url: str, judge: MockModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CollectorProcess]:
    folder = tmp_path_factory.mktemp("functions")
    (folder / "quoting_scorers.py").write_text(FUNCTIONS)
    settings = {
        "PLAYHEAD_ADMIN_KEY": OPERATOR,
        "PLAYHEAD_SEAL_AFTER_SECONDS": "1",
        "PLAYHEAD_SCORERS": "quoting_scorers:quotes",
        "PLAYHEAD_EXPLAIN_URL": judge.base_url,
        "PLAYHEAD_EXPLAIN_MODEL": "gpt-4o",
        "PYTHONPATH": ":".join([str(folder), *filter(None, sys.path)]),
    }
    with CollectorProcess(env=settings, database_url=module_database_url) as process:
        yield process


def counted(dsn: str) -> dict[str, int]:
    """How often each column has the secret."""
    stored = asyncio.run(stored_in(dsn))
    return {name: count for name, data in stored.items() if (count := data.count(SECRET.encode()))}


async def is_indexed(dsn: str) -> bool:
    """Whether all that is derived of the run in the background is stored."""
    connection = await asyncpg.connect(dsn)
    try:
        left = "select count(*) from run join run_outcome using (run_id) where undescribed or not (sealed and searched)"
        return await connection.fetchval(f"select (select count(*) from run) = 1 and ({left}) = 0")
    finally:
        await connection.close()


def test_nothing_is_added_that_the_rules_mask(collector: CollectorProcess, module_database_url: str):
    async def record() -> None:
        store = await connect(module_database_url, pool_size=1)
        await store.spans.ingest(FIRST_PROJECT, support(RUN, {"sent": f"to {SECRET}"}).batch())
        await store.close()

    asyncio.run(record())
    with Client(collector.url, OPERATOR) as client:
        eventually(lambda: asyncio.run(is_indexed(module_database_url)))
        client.set_redaction(presets=["email"])
        before = counted(module_database_url)
        assert sum(before.values()) >= 1
        assert "[masked:email]" in client.explain(RUN)["text"]
        call = next(iter(client.llm_calls(RUN)))
        again = client.ask_again(RUN, at=call["seq"], system=f"You serve {SECRET}.")
        assert "[masked:email]" in str(again["answer"])
        client.pin_run(RUN, f"{SECRET} has complained")
        client.set_scorer("judged", "judge", prompt=f"Is {SECRET} content? {{transcript}}")
        client.set_scorer("quoting", "function", function="quoting_scorers:quotes")
        for name in ("judged", "quoting"):
            client.backfill_scorer(name)
        [score] = eventually(lambda: list(client.run_scores(RUN, source="scorer")))
        assert score["comment"].startswith("it is for [masked:email] (judged in run ")
        eventually(lambda: client.scorer("quoting")["today"]["begun"])
        eventually(lambda: b"cannot score" in asyncio.run(stored_in(module_database_url)).get("scoring_due.error", b""))
        after = counted(module_database_url)
        assert after.pop("scorer.definition") == 1  # the operator's own words
        assert after == before

"""What is found out in the background about runs, for lists of them."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import asyncpg
import httpx
import pytest

from playhead.client import AsyncClient
from playhead.model.message import text_message
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.read.prices import Prices, shipped
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.scores import ScoreToAdd
from playhead_collector.store.postgres.store import PostgresStore
from playhead_collector.workers.outcome_finder import OutcomeFinder
from playhead_collector.workers.ports import InProcessAnalysis
from playhead_collector.workers.protocol import AnalysisFailed, queue_is_full
from playhead_collector.workers.questions import AnalysisQuestion
from tests.integration.read.recorded import Recorder, tool_call

RUN = "07" * 16
NOW_NS = 1_800_000_000_000_000_000


@pytest.fixture
async def sql(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


class Analysis:
    """The real analysis; counts what it is asked, and fails if it is told to."""

    def __init__(self, store: PostgresStore) -> None:
        self.inner = InProcessAnalysis(store, AnalysisSettings())
        self.asked: list[str] = []
        self.error: Exception | None = None

    async def ask(self, question: AnalysisQuestion) -> bytes:
        self.asked.append(question.name)
        if self.error is not None:
            raise self.error
        return await self.inner.ask(question)


@pytest.fixture
def analysis(store: PostgresStore) -> Analysis:
    return Analysis(store)


def finder_of(store: PostgresStore, analysis: Analysis, prices: Prices | None = None, **more: Any) -> OutcomeFinder:
    return OutcomeFinder(store.outcomes, analysis, prices or shipped(), wall_ns=lambda: NOW_NS, **more)


async def found(finder: OutcomeFinder) -> None:
    """Until nothing is left to do; the poll takes a second."""
    while await finder.run_once() != 1.0:
        pass


def invented() -> Recorder:
    """A run whose model makes up the number of an order, and then answers."""
    recorder = Recorder(RUN)
    messages = [text_message("user", "Where is my lamp? My order is R-1001.")]
    asked = tool_call("c0", "refund_order", order="R-77123")
    recorder.model(messages, asked)
    recorder.tool("refund_order", {"order": "R-77123"}, {"status": "lost", "order": "R-77123"})
    result = {"type": "tool_call_response", "id": "c0", "response": {"status": "lost", "order": "R-77123"}}
    recorder.model([*messages, asked, {"role": "tool", "parts": [result]}], text_message("assistant", "It is lost."))
    return recorder


async def listed(store: PostgresStore, **where: Any) -> dict[str, Any] | None:
    transport = httpx.ASGITransport(create_app(CollectorSettings(), store))
    async with AsyncClient("http://localhost", transport=transport) as client:
        return next(iter([dict(run) async for run in client.runs(**where)]), None)


async def happened(store: PostgresStore) -> tuple[str, str]:
    run = await listed(store)
    assert run is not None
    return run["happened"]["kind"], run["happened"]["text"]


async def test_a_failed_run_says_its_first_suspect_as_soon_as_it_was_looked_for(store, analysis, sql):
    await store.spans.ingest(PROJECT, invented().batch())
    await store.scores.add(PROJECT, RUN, ScoreToAdd("a", "reward", 0.0))
    assert await happened(store) == ("answer", "It is lost.")
    assert await listed(store, suspect="weak") is None
    finder = finder_of(store, analysis)
    await found(finder)
    run = await listed(store, suspect="weak")
    assert run is not None
    assert run["happened"]["kind"] == "suspect"
    assert "R-77123" in run["happened"]["text"]
    assert (run["happened"]["turn"], run["happened"]["strength"]) == (1, "likely")
    stored = (await store.runs.get(PROJECT, RUN)).facts.suspect
    assert stored.found_ns == NOW_NS
    asked = len(analysis.asked)
    await found(finder)
    assert len(analysis.asked) == asked, "once"

    await store.scores.add(PROJECT, RUN, ScoreToAdd("b", "reward", 1.0))
    assert await happened(store) == ("answer", "It is lost.")
    assert await listed(store, suspect="weak") is None
    await found(finder)
    assert len(analysis.asked) == asked, "it has not failed any more"
    await store.scores.add(PROJECT, RUN, ScoreToAdd("c", "helpful", False))
    assert (await happened(store))[0] == "suspect"
    await found(finder)
    assert len(analysis.asked) == asked + 1, "its score has changed"


async def test_suspects_are_not_looked_for_before_the_end_nor_when_that_is_off(store, analysis):
    await store.spans.ingest(PROJECT, invented().batch(ended=False))
    await store.scores.add(PROJECT, RUN, ScoreToAdd("a", "reward", 0.0))
    assert await listed(store) is not None
    await found(finder_of(store, analysis))
    assert analysis.asked == []
    await store.spans.ingest(PROJECT, invented().batch())
    assert await listed(store) is not None
    await found(finder_of(store, analysis, find_suspects=False))
    assert analysis.asked == []


async def test_a_run_that_cannot_be_looked_through_is_not_tried_again_and_again(store, analysis):
    await store.spans.ingest(PROJECT, invented().batch())
    await store.scores.add(PROJECT, RUN, ScoreToAdd("a", "reward", 0.0))
    assert await listed(store) is not None
    finder = finder_of(store, analysis)
    analysis.error = queue_is_full(1)
    with pytest.raises(Exception, match="other questions"):
        await found(finder)
    analysis.error = AnalysisFailed("a bug")
    await found(finder)
    assert (len(analysis.asked), finder.counts["failed"]) == (2, 1)
    await found(finder)
    assert len(analysis.asked) == 2


async def test_it_waits_while_there_is_more_important_work(store, analysis):
    await store.spans.ingest(PROJECT, invented().batch())
    assert await listed(store) is not None
    finder = finder_of(store, analysis, is_busy=lambda: True, poll_seconds=7)
    assert await finder.run_once() == 7
    assert (analysis.asked, finder.counts) == ([], {})


async def test_the_text_of_an_answer_stands_with_the_contents_alone(store, analysis, sql):
    await store.spans.ingest(PROJECT, invented().batch())
    await found(finder_of(store, analysis))
    assert await happened(store) == ("answer", "It is lost.")
    for table in ("run", "run_outcome"):
        assert await sql.fetchval(f"select count(*) from {table} as r where r::text like '%It is lost%'") == 0


async def test_runs_that_an_older_version_projected_are_described(store, analysis, sql):
    await store.spans.ingest(PROJECT, invented().batch())
    assert await listed(store) is not None
    await sql.execute("update run set happened = null; update run_outcome set undescribed = true, priced = null")
    run = await listed(store)
    assert run is not None
    assert run["happened"] is None
    await found(finder_of(store, analysis))
    assert await happened(store) == ("answer", "It is lost.")
    assert analysis.asked == ["happened"]


async def test_what_was_found_about_an_earlier_projection_is_dropped(store, analysis, sql):
    await store.spans.ingest(PROJECT, invented().batch())
    await store.scores.add(PROJECT, RUN, ScoreToAdd("a", "reward", 0.0))
    assert await listed(store) is not None
    (due,) = await store.outcomes.failed_runs(9)
    later = due._replace(projection=due.projection - 1)
    await store.outcomes.write_suspect(later, None, NOW_NS)
    assert await store.outcomes.failed_runs(9) == [due]
    await store.outcomes.write_suspect(due, None, NOW_NS)
    assert await store.outcomes.failed_runs(9) == []


async def test_costs_are_those_of_the_prices_in_force(store, analysis, sql):
    await store.spans.ingest(PROJECT, invented().batch())
    before = await listed(store, sort="cost")
    assert before is not None
    cost = await sql.fetchval("select cost from run_outcome")
    assert cost == pytest.approx(before["cost"])
    dearer = {name: replace(model, input=1e6, output=1e6) for name, model in shipped().models.items()}
    prices = replace(shipped(), models=dearer)
    assert prices.number != shipped().number
    await found(finder_of(store, analysis, prices))
    assert await sql.fetchval("select cost from run_outcome") == pytest.approx(
        before["input_tokens"] + before["output_tokens"]
    )
    finder = finder_of(store, analysis, prices)
    await found(finder)
    assert finder.counts["priced"] == 0

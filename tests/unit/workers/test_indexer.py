"""When runs are indexed, and what is done with runs that cannot be."""

import json
from collections.abc import Sequence
from typing import Any, cast

import pytest

from playhead_collector.analysis.search.settings import SearchSettings
from playhead_collector.errors import StoreUnavailable
from playhead_collector.store.ports.search import SearchIndex, UnindexedRun
from playhead_collector.workers import protocol
from playhead_collector.workers.indexer import SearchIndexer
from playhead_collector.workers.questions import AnalysisQuestion


class Runs:
    """The part of a store that the indexer uses, and the worker processes' other side."""

    def __init__(self, names: Sequence[str]) -> None:
        self.due = list(names)
        self.left: list[str] = []
        self.asked: list[tuple[tuple[str, ...], bool]] = []
        self.slow: set[str] = set()
        self.broken: set[str] = set()
        self.error: Exception | None = None

    async def unindexed_runs(self, limit: int) -> Sequence[UnindexedRun]:
        return [UnindexedRun(1, run) for run in self.due[:limit]]

    async def leave_unindexed(self, project_id: int, run: str) -> None:
        self.due.remove(run)
        self.left.append(run)

    async def ask(self, question: AnalysisQuestion) -> bytes:
        self.asked.append((question.runs, question.options["attribute"]))
        if self.error is not None:
            raise self.error
        if self.broken & {*question.runs}:
            raise protocol.AnalysisFailed("a bug")
        if question.options["attribute"] and self.slow & {*question.runs}:
            raise protocol.took_too_long(30)
        self.due = [run for run in self.due if run not in question.runs]
        return json.dumps({"indexed": list(question.runs)}).encode()


def indexer(runs: Runs, **more: Any) -> SearchIndexer:
    return SearchIndexer(cast(SearchIndex, runs), runs, SearchSettings(), clock=iter(range(99)).__next__, **more)


async def test_runs_are_indexed_some_at_a_time_with_a_rest_as_long_as_the_work():
    runs = Runs([f"run {n}" for n in range(10)])
    indexing = indexer(runs)
    assert await indexing.run_once() == 1  # of this clock
    assert await indexing.run_once() == 1
    assert [len(each) for each, _ in runs.asked] == [8, 2]
    assert await indexing.run_once() == 1.0
    assert indexing.counts == {"indexed": 10}


async def test_nothing_is_indexed_while_there_is_more_important_work():
    runs = Runs(["run"])
    assert await indexer(runs, is_busy=lambda: True, poll_seconds=7).run_once() == 7
    assert runs.asked == []


async def test_a_run_that_takes_too_long_is_indexed_without_sources_and_holds_up_no_other():
    runs = Runs(["one", "slow", "other"])
    runs.slow = {"slow"}
    indexing = indexer(runs)
    await indexing.run_once()
    assert runs.due == runs.left == []
    assert runs.asked[1:] == [(("one",), True), (("slow",), True), (("slow",), False), (("other",), True)]
    assert indexing.counts == {"indexed": 3, "without_sources": 1}


async def test_a_run_that_cannot_be_read_is_left_out(caplog: pytest.LogCaptureFixture):
    runs = Runs(["one", "broken"])
    runs.broken = {"broken"}
    indexing = indexer(runs)
    await indexing.run_once()
    assert (runs.due, runs.left) == ([], ["broken"])
    assert indexing.counts == {"indexed": 1, "failed": 1}
    assert "run broken cannot be indexed" in caplog.text


@pytest.mark.parametrize(
    "error", [protocol.queue_is_full(1), protocol.not_started("no memory"), StoreUnavailable("down")]
)
async def test_what_says_nothing_about_the_runs_is_tried_again_later(error: Exception):
    runs = Runs(["one", "other"])
    runs.error = error
    indexing = indexer(runs)
    with pytest.raises(StoreUnavailable):
        await indexing.run_once()
    assert (len(runs.asked), runs.left) == (1, [])
    runs.error = None
    await indexing.run_once()
    assert runs.due == []


async def test_a_deleted_run_is_no_failure():
    runs = Runs(["gone"])
    runs.error = protocol.Refused(404, "no_such_run", "there is no run 'gone'")
    indexing = indexer(runs)
    await indexing.run_once()
    assert indexing.counts["failed"] == 0

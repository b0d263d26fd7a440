"""Scorers over a real store: which runs they score, how often, and what comes of failures."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from typing import Any

import asyncpg
import pytest

from playhead.model.message import text_message
from playhead.model.scored_run import GivenScore
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.errors import Refused, StoreUnavailable
from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.projection import ProjectionRunner
from playhead_collector.read.prices import shipped
from playhead_collector.store.ports.runs import RunFilter
from playhead_collector.store.ports.scorers import (
    BackfillProgress,
    ScorerDefinition,
    ScorerRow,
    ScorerSelection,
    ScorerStatus,
    is_sampled,
)
from playhead_collector.store.ports.scores import ScoreFilter, ScoreToAdd, StoredScore
from playhead_collector.store.postgres.store import PostgresStore
from playhead_collector.workers.ports import InProcessAnalysis
from playhead_collector.workers.run_scorer import JudgeFailed, RunScorer, RunScores
from playhead_collector.workers.scorer_functions import ScorerFunctions
from playhead_collector.workers.scoring import ScoringWorker
from tests.integration.read.recorded import Recorder, tool_call

NS = 1_000_000_000
# Behind all recorded times, so that ended runs are quiet at once.
NOW_NS = 1_900_000_000 * NS
LAST_TOOL = {"fails_if": [{"tool_error": "last"}]}


class Clock:
    def __init__(self) -> None:
        self.ns = NOW_NS

    def __call__(self) -> int:
        return self.ns


@pytest.fixture
def wall() -> Clock:
    return Clock()


@pytest.fixture
async def sql(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


class Asking:
    """Gives the values that a test sets, in place of rules, functions and models; counts what it is asked."""

    def __init__(self, store: PostgresStore) -> None:
        self.store = store
        self.asked: list[tuple[str, str]] = []
        self.answer: GivenScore | Exception = GivenScore(True)
        self.spent = (0, None)

    async def scores(self, scorer: ScorerRow, run: str) -> RunScores:
        self.asked.append((scorer.name, run))
        if isinstance(self.answer, Exception):
            raise self.answer
        row = await self.store.runs.get(scorer.project_id, run)
        if row is None:
            raise Refused(404, "no_such_run", "gone")
        return RunScores([self.answer], row.events, *self.spent)


@pytest.fixture
def asking(store: PostgresStore) -> Asking:
    return Asking(store)


def rules(store: PostgresStore, wall: Clock) -> RunScorer:
    """The real scorers, of which only rules can be asked."""

    async def close() -> None:
        return None

    analysis = InProcessAnalysis(store, AnalysisSettings())
    functions = ScorerFunctions({}, analysis, close)
    return RunScorer(analysis, functions, None, shipped(), store.spans.ingest, wall)


def worker_of(store: PostgresStore, asking: Any, wall: Clock, **more: Any) -> ScoringWorker:
    return ScoringWorker(store.scorers, store.scores.add, asking, wall_ns=wall, **more)


async def done(worker: ScoringWorker) -> None:
    """Until nothing is left to do; the poll takes a second."""
    while await worker.run_once() != 1.0:
        pass


async def projected(store: PostgresStore, wall: Clock) -> None:
    runner = ProjectionRunner(store.projections, clock=wall, seal_after_s=30.0)
    await runner.run_once()
    await runner.stop()


async def make(
    store: PostgresStore, name: str = "good", *, project: int = PROJECT, enabled: bool = True, **selection: Any
) -> ScorerRow:
    where = RunFilter(**selection.get("where", {}))
    definition = ScorerDefinition(
        kind="rule", score=selection.pop("score", name), rule=selection.pop("rule", LAST_TOOL)
    )
    return await store.scorers.set(
        project, name, definition, ScorerSelection(**selection), where, enabled=enabled, now_ns=NOW_NS
    )


def run_id(number: int) -> str:
    return f"{number:032x}"


def support(run: str, result: Any = "it is on its way", **more: Any) -> Recorder:
    """A run that asks a tool and ends without an error."""
    recorder = Recorder(run, **more)
    messages = [text_message("user", "Where is my lamp?")]
    asked = tool_call("c0", "find_order", order="R-1")
    recorder.model(messages, asked)
    recorder.tool("find_order", {"order": "R-1"}, result)
    answer = {"type": "tool_call_response", "id": "c0", "response": result}
    recorder.model([*messages, asked, {"role": "tool", "parts": [answer]}], text_message("assistant", "All is done."))
    return recorder


async def record(store: PostgresStore, wall: Clock, *runs: Recorder, project: int = PROJECT) -> None:
    for run in runs:
        await store.spans.ingest(project, run.batch())
    await projected(store, wall)
    wall.ns += 60 * NS
    await projected(store, wall)


async def scores_of(store: PostgresStore, run: str, project: int = PROJECT) -> Sequence[StoredScore]:
    return await store.scores.page(project, ScoreFilter(run), limit=100)


async def status_of(store: PostgresStore, scorer: ScorerRow, wall: Clock) -> ScorerStatus:
    return await store.scorers.status(scorer, wall(), 20)


# --- what ordinary scores they are -----------------------------------------------------------------------------------


async def test_a_run_that_completed_and_has_failed_is_told_by_a_rule(store, wall):
    failed, good = run_id(1), run_id(2)
    scorer = await make(store, "resolved")
    await record(store, wall, support(failed, {"error": "no such order"}), support(good))
    assert (await store.runs.get(PROJECT, failed)).status == "completed"
    await done(worker_of(store, rules(store, wall), wall))
    [score] = await scores_of(store, failed)
    assert (score.name, score.value, score.source, score.author) == ("resolved", False, "scorer", "resolved v1")
    assert score.comment == 'tool_error "last" holds'
    assert [score.value for score in await scores_of(store, good)] == [True]
    failures = await store.runs.page(PROJECT, RunFilter(outcomes=("failed",)), limit=9)
    assert [row.run for row in failures] == [failed]
    successes = await store.runs.page(PROJECT, RunFilter(outcomes=("succeeded",)), limit=9)
    assert [row.run for row in successes] == [good]
    status = await status_of(store, scorer, wall)
    assert (status.today.begun, status.today.scored, status.due) == (2, 2, 0)


async def test_what_a_person_or_the_program_says_counts_more_than_what_a_scorer_says(store, client, wall, asking):
    run = run_id(1)
    await make(store)
    await record(store, wall, support(run))
    await store.scores.add(PROJECT, run, ScoreToAdd("a", "checked", False, scored_ns=1))
    await done(worker_of(store, asking, wall))
    assert {score.name: score.value for score in await scores_of(store, run)} == {"checked": False, "good": True}
    row = await store.runs.get(PROJECT, run)
    assert (row.facts.score_name, row.facts.score) == ("checked", False)
    assert (await client.verdict(run))["outcome"] == {"word": "failed", "because": "checked>=0.5", "value": False}


async def test_only_runs_that_have_ended_and_are_quiet_are_scored(store, wall, asking):
    await make(store)
    await store.spans.ingest(PROJECT, support(run_id(1)).batch(ended=False))
    wall.ns = time.time_ns()  # the clock of the store: nothing is quiet yet
    await store.spans.ingest(PROJECT, support(run_id(2)).batch())
    await projected(store, wall)
    worker = worker_of(store, asking, wall)
    await done(worker)
    assert asking.asked == []


async def test_a_run_that_gets_late_spans_is_scored_again_and_without_them_it_is_not(store, wall, asking):
    run = run_id(1)
    await make(store)
    recorder = support(run)
    await record(store, wall, recorder)
    worker = worker_of(store, asking, wall)
    await done(worker)
    assert len(asking.asked) == 1
    await store.spans.ingest(PROJECT, recorder.batch())  # the same again
    await record(store, wall)
    await done(worker)
    assert len(asking.asked) == 1
    recorder.tool("late_tool", {}, "late")
    asking.answer = GivenScore(False)
    await record(store, wall, recorder)
    await done(worker)
    assert len(asking.asked) == 2
    assert [(score.value, score.is_latest) for score in await scores_of(store, run)] == [(False, True), (True, False)]


async def test_a_run_that_grows_while_it_is_scored_is_scored_again(store, wall):
    run = run_id(1)
    await make(store)
    recorder = support(run)
    await record(store, wall, recorder)

    class Slow(Asking):
        async def scores(self, scorer: ScorerRow, run: str) -> RunScores:
            scores = await super().scores(scorer, run)
            if len(self.asked) == 1:
                recorder.tool("late_tool", {}, "late")
                await record(store, wall, recorder)
            return scores

    asking = Slow(store)
    await done(worker_of(store, asking, wall))
    assert len(asking.asked) == 2
    assert len(await scores_of(store, run)) == 2


async def test_runs_that_judge_are_not_scored(store, wall, asking):
    await make(store)
    await record(store, wall, support(run_id(1), name="playhead.judge"), support(run_id(2)))
    await done(worker_of(store, asking, wall))
    assert asking.asked == [("good", run_id(2))]


# --- which runs ------------------------------------------------------------------------------------------------------


async def test_conditions_choose_runs_and_a_scorer_that_is_off_scores_none(store, wall, asking):
    await make(store, "of_blue", where={"agent": "blue"})
    await make(store, "of_beta", where={"tag": "beta", "status": "completed"})
    await make(store, "of_text", where={"text": "BLU"})
    await make(store, "never", enabled=False)
    await record(store, wall, support(run_id(1), name="blue"), support(run_id(2), name="red"))
    await done(worker_of(store, asking, wall))
    assert sorted(asking.asked) == [
        ("of_beta", run_id(1)), ("of_beta", run_id(2)), ("of_blue", run_id(1)), ("of_text", run_id(1)),
    ]  # fmt: skip


async def test_a_sample_takes_the_same_runs_again_and_counts_the_others(store, wall, asking):
    scorer = await make(store, sample=0.5)
    runs = [run_id(number) for number in range(1, 21)]
    chosen = [run for run in runs if is_sampled(run, "good", 0.5)]
    assert 0 < len(chosen) < len(runs)
    await record(store, wall, *map(support, runs))
    await done(worker_of(store, asking, wall))
    assert sorted(run for _, run in asking.asked) == chosen
    status = await status_of(store, scorer, wall)
    assert status.today.not_sampled == len(runs) - len(chosen)


async def test_a_budget_of_runs_is_kept_by_day(store, wall, asking):
    scorer = await make(store, runs_per_day=2)
    worker = worker_of(store, asking, wall)
    await record(store, wall, *(support(run_id(number)) for number in range(1, 6)))
    await done(worker)
    status = await status_of(store, scorer, wall)
    assert (status.today.scored, status.today.over_budget, status.due) == (2, 3, 0)
    wall.ns += 86_400 * NS
    await record(store, wall, support(run_id(9)))
    await done(worker)
    assert (await status_of(store, scorer, wall)).today.scored == 1


async def test_budgets_of_tokens_and_money_stop_a_judge(store, wall, asking):
    of_tokens = await make(store, "tokens", tokens_per_day=150)
    of_money = await make(store, "money", cost_per_day=0.5)
    asking.spent = (100, 0.3)
    await record(store, wall, *(support(run_id(number)) for number in range(1, 21)))
    await done(worker_of(store, asking, wall))
    for scorer in (of_tokens, of_money):
        status = await status_of(store, scorer, wall)
        # Those that are under way when the budget is used up end.
        assert 2 <= status.today.scored <= 5
        assert status.today.tokens == 100 * status.today.scored
        assert status.today.cost == pytest.approx(0.3 * status.today.scored)
        assert status.today.scored + status.today.over_budget == 20


async def test_projects_take_turns_and_see_nothing_of_each_other(store, wall, asking):
    other = (await store.projects.create("other")).number
    await make(store)
    await make(store, project=other)
    await record(store, wall, *(support(run_id(number)) for number in range(1, 31)))
    await record(store, wall, support(run_id(99)), project=other)
    worker = worker_of(store, asking, wall)
    for _ in range(3):
        await worker.run_once()
    assert ("good", run_id(99)) in asking.asked
    assert len(asking.asked) < 30
    await done(worker)
    assert len(asking.asked) == 31
    assert [row.name for row in await store.scorers.of_project(other)] == ["good"]
    assert await scores_of(store, run_id(99)) == []
    assert len(await scores_of(store, run_id(99), other)) == 1


# --- stored runs -----------------------------------------------------------------------------------------------------


async def begin(store: PostgresStore, scorer: ScorerRow, **times: Any) -> None:
    progress = BackfillProgress(
        **{"state": "running", "started_ns": NOW_NS, "since_ns": None, "until_ns": None} | times
    )
    await store.scorers.begin_backfill(scorer, progress)


async def test_stored_runs_are_scored_when_they_are_asked_for_and_those_of_the_same_version_are_not(
    store, wall, asking
):
    await record(store, wall, *(support(run_id(number), start_ns=number * NS) for number in range(1, 11)))
    scorer = await make(store)
    worker = worker_of(store, asking, wall)
    await done(worker)
    assert asking.asked == []
    await begin(store, scorer, since_ns=3 * NS, until_ns=9 * NS)
    await done(worker)
    assert sorted(run for _, run in asking.asked) == [run_id(number) for number in range(3, 9)]
    [row] = await store.scorers.of_project(PROJECT)
    assert (row.backfill.state, row.backfill.looked, row.backfill.queued) == ("done", 6, 6)
    await begin(store, scorer)
    await done(worker)
    assert len(asking.asked) == 10, "those that have a score of this version are left out"
    changed = await make(store, rule={"fails_if": [{"tool_error": "any"}]})
    assert changed.version == 2
    await begin(store, changed)
    await done(worker)
    assert len(asking.asked) == 20
    assert {score.author for score in await scores_of(store, run_id(3))} == {"good v1", "good v2"}


async def test_a_pass_over_stored_runs_comes_after_new_ones_and_goes_on_where_it_stopped(store, wall, asking):
    await record(store, wall, *(support(run_id(number)) for number in range(1, 13)))
    scorer = await make(store)
    await begin(store, scorer)
    assert await store.scorers.backfill_some(5, 8, wall())
    [row] = await store.scorers.of_project(PROJECT)
    assert (row.backfill.state, row.backfill.looked) == ("running", 5)
    assert await store.scorers.backfill_some(5, 8, wall())
    assert not await store.scorers.backfill_some(5, 8, wall()), "so many wait already"
    await record(store, wall, support(run_id(99)))
    await store.scorers.note_arrived(9, wall())
    [first] = await store.scorers.take(PROJECT, 1, wall(), wall() + NS)
    assert (first.run, first.backfill) == (run_id(99), False)
    await done(worker_of(store, asking, wall))
    assert len({run for _, run in asking.asked}) == 12
    await store.scorers.stop_backfill(scorer)


async def test_stored_runs_over_the_budget_wait_for_the_next_day(store, wall, asking):
    await record(store, wall, *(support(run_id(number)) for number in range(1, 6)))
    scorer = await make(store, runs_per_day=2)
    await begin(store, scorer)
    worker = worker_of(store, asking, wall)
    await done(worker)
    assert len(asking.asked) == 2
    status = await status_of(store, scorer, wall)
    assert (status.due, status.today.over_budget) == (3, 0)
    for scored in (4, 5):
        wall.ns += 86_400 * NS
        await done(worker)
        assert len(asking.asked) == scored


async def test_stopping_a_pass_drops_what_it_queued(store, wall, asking):
    await record(store, wall, *(support(run_id(number)) for number in range(1, 6)))
    scorer = await make(store)
    await begin(store, scorer)
    await store.scorers.backfill_some(2, 100, wall())
    await store.scorers.stop_backfill(scorer)
    await done(worker_of(store, asking, wall))
    assert asking.asked == []
    [row] = await store.scorers.of_project(PROJECT)
    assert row.backfill.state == "stopped"


# --- failures --------------------------------------------------------------------------------------------------------


async def test_a_failure_is_tried_again_later_and_given_up_after_some_attempts(store, wall, asking):
    scorer = await make(store)
    asking.answer = Refused(422, "scorer_failed", "ZeroDivisionError: division by zero")
    await record(store, wall, support(run_id(1)))
    worker = worker_of(store, asking, wall)
    await done(worker)
    assert len(asking.asked) == 1
    for minutes, asked in ((1, 2), (4, 3), (16, 4), (64, 4)):
        wall.ns += minutes * 60 * NS
        await done(worker)
        assert len(asking.asked) == asked
    status = await status_of(store, scorer, wall)
    assert (status.today.failed, status.today.begun, status.due) == (1, 4, 0)
    assert list(status.failures) == [(run_id(1), "ZeroDivisionError: division by zero")]
    asking.answer = GivenScore(0.75)
    await begin(store, scorer)
    await done(worker)
    assert [score.value for score in await scores_of(store, run_id(1))] == [0.75]
    assert list((await status_of(store, scorer, wall)).failures) == []


async def test_what_a_judge_took_counts_when_it_gave_no_verdict(store, wall, asking):
    scorer = await make(store)
    asking.answer = JudgeFailed("nonsense", 120, 0.25)
    await record(store, wall, support(run_id(1)))
    await done(worker_of(store, asking, wall))
    status = await status_of(store, scorer, wall)
    assert (status.today.tokens, status.today.cost, status.today.scored, status.due) == (120, 0.25, 0, 1)


async def test_without_a_free_process_a_run_is_given_back(store, wall, asking, sql):
    await make(store)
    asking.answer = StoreUnavailable("no process is free")
    await record(store, wall, support(run_id(1)))
    worker = worker_of(store, asking, wall)
    await done(worker)
    assert await sql.fetchval("select attempts from scoring_due") == 0
    asking.answer = GivenScore(True)
    wall.ns += 31 * NS
    await done(worker)
    assert len(await scores_of(store, run_id(1))) == 1


async def test_a_collector_goes_on_with_what_a_killed_one_has_taken_and_the_score_is_stored_once(store, wall, asking):
    scorer = await make(store)
    await record(store, wall, support(run_id(1)))
    await store.scorers.note_arrived(9, wall())
    [taken] = await store.scorers.take(PROJECT, 9, wall(), wall() + 360 * NS)
    worker = worker_of(store, asking, wall)
    await done(worker)
    assert asking.asked == [], "it is leased"
    wall.ns += 361 * NS
    await done(worker)
    assert len(asking.asked) == 1
    # The killed one was only slow.
    await worker_of(store, asking, wall)._score(scorer, taken)  # as if it had been asked before
    assert len(await scores_of(store, run_id(1))) == 1


async def test_two_collectors_share_the_work(store, wall, asking):
    await make(store)
    await record(store, wall, *(support(run_id(number)) for number in range(1, 21)))
    await asyncio.gather(done(worker_of(store, asking, wall)), done(worker_of(store, asking, wall)))
    assert sorted(run for _, run in asking.asked) == [run_id(number) for number in range(1, 21)]


async def test_a_run_that_was_deleted_and_a_scorer_that_was_deleted_leave_nothing_due(store, wall, asking, sql):
    await make(store)
    await make(store, "other")
    await record(store, wall, support(run_id(1)), support(run_id(2)))
    await store.scorers.note_arrived(9, wall())
    await store.garbage.delete_run(PROJECT, run_id(1), forks=False)
    assert await sql.fetchval("select count(*) from scoring_due") == 2
    assert await store.scorers.delete(PROJECT, "other")
    assert not await store.scorers.delete(PROJECT, "other")
    await done(worker_of(store, asking, wall))
    assert asking.asked == [("good", run_id(2))]
    assert await sql.fetchval("select count(*) from scoring_due") == 0


async def test_while_the_projector_is_behind_nothing_is_scored(store, wall, asking):
    await make(store)
    await record(store, wall, support(run_id(1)))
    await done(worker_of(store, asking, wall, is_busy=lambda: True))
    assert asking.asked == []


async def test_a_project_without_scorers_notes_nothing(store, wall, sql):
    await record(store, wall, support(run_id(1)))
    assert not await sql.fetchval("select bool_or(scorers_due) from run")
    await make(store)
    await record(store, wall, support(run_id(2)))
    assert await sql.fetchval("select count(*) from run where scorers_due and sealed") == 1

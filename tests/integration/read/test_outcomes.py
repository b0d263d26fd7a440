"""What came of runs: over Postgres and over records, by filters, in every order, and added up."""

import asyncio
import random
from collections.abc import AsyncIterator, Sequence
from typing import Any, get_args

import asyncpg
import httpx
import pytest
from fastapi import FastAPI

from playhead.client import AsyncClient
from playhead.model import names
from playhead.model.message import text_message
from playhead.model.span import STATUS_ERROR
from playhead.projection.inputs import ProjectSettings
from playhead.projection.projector import project
from playhead.projection.run_row import FirstSuspect, OutcomeFacts, RunRow
from playhead.wire.operations.runs import SortName
from playhead.wire.operations.verdict import OutcomeWord
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.outcomes import STEPS_S, attention, outcome_word, step_ns
from playhead_collector.store.ports.scores import ScoreToAdd
from playhead_collector.store.postgres.store import PostgresStore
from playhead_collector.store.records.memory import MemoryRecords
from tests.integration.read.recorded import START_NS, Recorder
from tests.support.local_app import local_app

P = PROJECT
SECOND = 10**9
PROMISE = "ab" * 16
# A list waits until so many runs are projected.
RUNS = 20


def recorded(number: int, *, seconds: float = 0, **more: Any) -> Recorder:
    """A run with an answer, that began `seconds` after the others."""
    recorder = Recorder(f"{number:02x}" * 16, start_ns=START_NS + int(seconds * SECOND), **more)
    recorder.model([text_message("user", "Hello?")], text_message("assistant", f"Answer\n {number}."))
    return recorder


def scored(recorder: Recorder, name: str, value: float | bool) -> Recorder:
    """A program that scores itself, as a whole."""
    kind = "boolean" if isinstance(value, bool) else "number"
    fields = {names.EVALUATION_NAME: name, names.EVALUATION_VALUE: float(value), names.SCORE_TYPE: kind}
    recorder.say(names.EVALUATION, **fields)
    recorder.logs[-1].span_id = None
    return recorder


def crashed(recorder: Recorder) -> Recorder:
    span = recorder.begin("tool", "execute_tool search", **{names.TOOL_NAME: "search"})
    for each in (span, recorder.root):
        recorder.end(each, **{names.ERROR_TYPE: "ValueError"})
        each.status, each.status_message = STATUS_ERROR, "no such order"
    return recorder


def client_of(app: Any) -> AsyncClient:
    return AsyncClient("http://localhost", transport=httpx.ASGITransport(app))


@pytest.fixture
async def sql(database_url: str) -> AsyncIterator[asyncpg.Connection]:
    connection = await asyncpg.connect(database_url)
    yield connection
    await connection.close()


async def runs_of(client: AsyncClient, **where: Any) -> list[dict[str, Any]]:
    return [dict(run) async for run in client.runs(**where)]


# --- the rule --------------------------------------------------------------------------------------------------------


async def test_the_column_and_the_code_have_one_rule(sql: asyncpg.Connection):
    cases = [
        (status, score, waiting)
        for status in ("running", "completed", "failed", "cancelled", "lost")
        for score in (None, -1.0, 0.0, 0.49, 0.5, 1.0, 7.0)
        for waiting in (False, True)
    ]
    columns = "project_id, run_id, started_ns, status, score, waiting, suspect"
    insert = f"insert into run_outcome ({columns}) values (1, $1, 0, $2, $3, $4, $5)"
    suspects = (None, "weak", "likely", "strong")
    for number, case in enumerate(cases):
        await sql.execute(insert, f"{number:032x}", *case, number % 4)
    rows = await sql.fetch("select outcome, attention from run_outcome order by run_id")
    words = [row["outcome"] for row in rows]
    for number, ((status, score, waiting), row) in enumerate(zip(cases, rows, strict=True)):
        strength: Any = suspects[number % 4]
        suspect = None if strength is None else FirstSuspect(strength, "rule", "reason", 1, 1, 1)
        facts = OutcomeFacts("good", score, waiting, suspect)
        assert row["attention"] == attention(RunRow("r", None, status, 0, None, facts=facts)), (status, score, waiting)
    assert words == [outcome_word(status, score, waiting=waiting) for status, score, waiting in cases]
    assert set(words) == set(get_args(OutcomeWord))


@pytest.mark.parametrize("most", [1, 2, 7, 60, 500])
def test_steps_are_as_fine_as_they_may_be(most: int):
    for last in (START_NS, START_NS + 1, START_NS + 59 * SECOND, START_NS + 10**17):
        step = step_ns(START_NS, last, most)
        assert last // step - START_NS // step < most or step == STEPS_S[-1] * SECOND
        finer = [each * SECOND for each in STEPS_S if each * SECOND < step]
        assert all(last // each - START_NS // each >= most for each in finer)


# --- outcomes --------------------------------------------------------------------------------------------------------


async def test_each_run_says_what_came_of_it(store: PostgresStore, sql: asyncpg.Connection):
    runs = {
        "succeeded": scored(recorded(1), "reward", 1.0),
        "failed": scored(scored(recorded(2), "reward", 1.0), "helpful", False),
        "crashed": crashed(recorded(3)),
        "unknown": recorded(4),
        "running": recorded(5),
        "waiting": recorded(6),
    }
    for word, recorder in runs.items():
        await store.spans.ingest(P, recorder.batch(ended=word not in ("running", "waiting", "crashed")))
    body = {"key": "k", "name": "refund", "action": "refund 20", "risk": None, "details": None, "schema": None}
    await store.promises.open(P, PROMISE, "approval", runs["waiting"].run, body, None)
    async with client_of(create_app(CollectorSettings(), store)) as client:
        listed = {run["run"]: run for run in await runs_of(client)}
        by_word = {word: listed[recorder.run] for word, recorder in runs.items()}
        for word, run in by_word.items():
            assert run["outcome"]["word"] == word
            assert (await client.run(run["run"]))["outcome"] == run["outcome"]
            found = await runs_of(client, outcomes=[word])
            assert [each["run"] for each in found] == [run["run"]]
        assert by_word["succeeded"]["outcome"] == {"word": "succeeded", "because": "reward>=0.5", "value": 1.0}
        assert by_word["failed"]["outcome"] == {"word": "failed", "because": "helpful>=0.5", "value": False}
        assert by_word["crashed"]["outcome"] == {"word": "crashed", "because": "failed", "value": None}
        assert [score["name"] for score in by_word["failed"]["scored"]] == ["helpful", "reward"]
        assert len(await runs_of(client, outcomes=["failed", "crashed"])) == 2


async def test_each_run_says_what_happened(store: PostgresStore):
    answered, failed, waits, stands = recorded(1), crashed(recorded(2)), recorded(3), Recorder("04" * 16)
    stands.begin("tool", "execute_tool search", **{names.TOOL_NAME: "search"})
    wait = {names.WAIT_ID: PROMISE, names.TOOL_NAME: "refund", names.PROMISE_ACTION: "refund 20"}
    waits.say(names.APPROVAL_REQUESTED, **wait)
    for recorder in (answered, failed):
        await store.spans.ingest(P, recorder.batch())
    for recorder in (waits, stands):
        await store.spans.ingest(P, recorder.batch(ended=False))
    in_memory = MemoryRecords()
    for recorder in (answered, failed, waits, stands):
        batch = recorder.batch(ended=recorder in (answered, failed))
        in_memory.add(batch.spans, batch.logs, batch.contents, batch.threads)
    local = local_app(in_memory, clock=lambda: START_NS)
    for app in (create_app(CollectorSettings(), store), local):
        async with client_of(app) as client:
            runs = {run["run"]: run["happened"] for run in await runs_of(client)}
            assert runs[answered.run] == {
                "kind": "answer", "text": "Answer 1.", "about": "support", "strength": None, "seq": 4, "turn": 1,
                "promise": None,
            }  # fmt: skip
            raised = runs[failed.run]
            assert (raised["kind"], raised["text"], raised["about"], raised["turn"]) == (
                "error", "ValueError: no such order", "search", 1,
            )  # fmt: skip
            assert runs[waits.run] | {"seq": None} == {
                "kind": "question", "text": "refund 20", "about": "refund", "strength": None, "seq": None, "turn": 1,
                "promise": PROMISE,
            }  # fmt: skip
            assert (runs[stands.run]["kind"], runs[stands.run]["text"]) == ("under_way", "search")
    body = {"key": "k", "name": "refund", "action": "refund 20", "risk": None, "details": None, "schema": None}
    await store.promises.open(P, PROMISE, "approval", waits.run, body, None)
    async with client_of(create_app(CollectorSettings(), store)) as client:
        assert (await client.run(waits.run))["outcome"]["word"] == "waiting"
        answer = {"outcome": "approved", "value": None, "by": None, "reason": None}
        assert await store.promises.answer(P, PROMISE, answer, late=False)
        run = await client.run(waits.run)
        assert run["outcome"]["word"] == "running"
        assert run["happened"] is not None
        assert run["happened"]["kind"] == "under_way"


async def test_a_request_to_stop_is_no_question(store: PostgresStore):
    recorder = recorded(1)
    await store.spans.ingest(P, recorder.batch(ended=False))
    body = {"key": "k", "name": "ann", "action": "stop", "risk": None, "details": None, "schema": None}
    await store.promises.open(P, PROMISE, "interrupt", recorder.run, body, None)
    async with client_of(create_app(CollectorSettings(), store)) as client:
        assert (await client.run(recorder.run))["outcome"]["word"] == "running"


async def test_a_score_and_a_question_that_come_while_a_run_is_projected_are_not_overlooked(store: PostgresStore):
    """Both wait for nothing, although the run's row is locked."""
    recorder = recorded(1)
    body = {"key": "k", "name": "refund", "action": "refund 20", "risk": None, "details": None, "schema": None}
    for ended in (False, True):
        await store.spans.ingest(P, recorder.batch(ended=ended))
        async with store.projections.locked_run(P, recorder.run) as work:
            assert work is not None
            work.result = project(work, START_NS, ProjectSettings())
            async with asyncio.timeout(60):
                await store.scores.add(P, recorder.run, ScoreToAdd(f"s{ended}", "reward", float(ended)))
                await store.promises.open(P, PROMISE, "approval", recorder.run, body, None)
        row = await store.runs.get(P, recorder.run)
        assert row is not None
        assert (row.facts.score_name, row.facts.score, row.facts.waiting) == ("reward", float(ended), True)


async def test_a_run_is_scored_before_it_is_projected(store: PostgresStore):
    recorder = recorded(1)
    await store.spans.ingest(P, recorder.batch())
    await store.scores.add(P, recorder.run, ScoreToAdd("a", "good", False))
    async with client_of(create_app(CollectorSettings(), store)) as client:
        assert (await client.run(recorder.run))["outcome"] == {"word": "failed", "because": "good>=0.5", "value": False}


# --- lists -----------------------------------------------------------------------------------------------------------


def varied() -> list[Recorder]:
    """Runs of which several are equal in all that they are sorted by."""
    chance, made = random.Random(7), list[Recorder]()
    for number in range(1, RUNS + 1):
        recorder = recorded(number, seconds=chance.choice([0, 0, 40, 700, 90_000]))
        for n in range(chance.randint(0, 2)):
            recorder.model([text_message("user", "And?")] * (n + 1), text_message("assistant", "So."))
            recorder.tool("search", {"n": n}, "found")
        if chance.random() < 0.6:
            scored(recorder, "reward", chance.choice([0.0, 0.5, 1.0]))
        match chance.randint(0, 4):
            case 0:
                crashed(recorder)
            case 1:
                pass
            case _:
                recorder.batch()
        made.append(recorder)
    return made


@pytest.fixture
async def apps(store: PostgresStore) -> Sequence[FastAPI]:
    """Over Postgres and over records in memory, of the same runs."""
    in_memory = MemoryRecords()
    for recorder in varied():
        batch = recorder.batch(ended=False)
        await store.spans.ingest(P, batch)
        in_memory.add(batch.spans, batch.logs, batch.contents, batch.threads)
    app = create_app(CollectorSettings(seal_after_seconds=3_600), store)
    return app, local_app(in_memory, clock=lambda: START_NS)


@pytest.mark.parametrize("ascending", [False, True])
async def test_pages_hold_for_every_order_and_every_store(apps: Sequence[FastAPI], ascending: bool):
    async with client_of(apps[0]) as postgres, client_of(apps[1]) as memory:
        for sort in get_args(SortName):
            whole = [run["run"] for run in await runs_of(postgres, sort=sort, ascending=ascending)]
            assert len(set(whole)) == RUNS
            assert [run["run"] for run in await runs_of(memory, sort=sort, ascending=ascending)] == whole, sort
            for app in apps:
                assert await paged(app, sort=sort, ascending=ascending) == whole, sort


async def asked(app: FastAPI, path: str, **query: Any) -> httpx.Response:
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as http:
        return await http.get(f"/api/v1{path}", params={name: each for name, each in query.items() if each is not None})


async def paged(app: FastAPI, **query: Any) -> list[str]:
    """The runs, five by five."""
    found, cursor = list[str](), None
    while True:
        page = (await asked(app, "/runs", limit=5, cursor=cursor, **query)).json()
        found += [run["run"] for run in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


async def test_the_first_of_an_order_are_those_that_it_names(apps: Sequence[FastAPI]):
    async with client_of(apps[0]) as client:
        for sort, of in {
            "elapsed": lambda run: run["elapsed_ms"], "turns": lambda run: run["llm_calls"],
            "tool_calls": lambda run: run["tool_calls"], "input_tokens": lambda run: run["input_tokens"],
            "cost": lambda run: run["cost"], "errors": lambda run: run["errors"], "score": score_in,
            "started": lambda run: run["started"],
        }.items():  # fmt: skip
            for ascending in (False, True):
                runs = await runs_of(client, sort=sort, ascending=ascending)
                values = [value for run in runs if (value := of(run)) is not None]
                assert values == sorted(values, reverse=not ascending), sort
                assert all(of(run) is None for run in runs[len(values) :]), "those without come last"
        words = [run["outcome"]["word"] for run in await runs_of(client, sort="attention")]
        order = ["waiting", "crashed", "failed", "running", "succeeded"]
        places = [order.index(word if word != "unknown" else "succeeded") for word in words]
        assert places == sorted(places)


def score_in(run: dict[str, Any]) -> float | None:
    return next((score["value"] for score in run["scored"]), None)


async def test_a_cursor_of_another_order_is_refused(apps: Sequence[FastAPI]):
    cursor = (await asked(apps[0], "/runs", sort="cost", limit=5)).json()["next_cursor"]
    for query in ({"sort": "turns"}, {"sort": "cost", "ascending": "true"}, {"sort": "started"}):
        answer = await asked(apps[0], "/runs", cursor=cursor, **query)
        assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_cursor")


CONDITIONS: tuple[dict[str, Any], ...] = (
    {}, {"outcome": "succeeded"}, {"outcome": ["failed", "crashed"]}, {"outcome": "waiting"}, {"score": "reward>=0.5"},
    {"cost_above": 0.0004}, {"tool": "search", "outcome": "running"}, {"text": "supp", "sort": "attention"},
    {"suspect": "weak"}, {"errors": "true", "sort": "score"}, {"id": "0", "sort": "errors"},
    {"since": "2025-10-09T12:00:00Z", "sort": "turns"}, {"tag": "nowhere", "sort": "cost"},
)  # fmt: skip


@pytest.mark.parametrize("query", CONDITIONS)
async def test_stores_find_the_same_runs_and_add_up_the_same(apps: Sequence[FastAPI], query: dict[str, Any]):
    postgres, memory = [(await asked(app, "/runs", limit=50, **query)).json()["items"] for app in apps]
    assert memory == postgres
    conditions = {name: value for name, value in query.items() if name not in ("sort", "id")}
    totals, others = [(await asked(app, "/runs/overview", steps=10, **conditions)).json() for app in apps]
    assert others == totals
    if "id" in query:
        return
    assert totals["runs"] == len(postgres)
    words = [run["outcome"]["word"] for run in postgres]
    assert {each["word"]: each["runs"] for each in totals["outcomes"]} == {word: words.count(word) for word in words}
    costs = [run["cost"] for run in postgres if run["cost"] is not None]
    assert (totals["priced"], totals["cost"]) == (len(costs), pytest.approx(sum(costs)) if costs else None)
    assert totals["input_tokens"] == sum(run["input_tokens"] for run in postgres)
    starts = [run["started"] for run in postgres]
    assert (totals["first"], totals["last"]) == ((min(starts), max(starts)) if starts else (None, None))
    steps = totals["histogram"]["steps"]
    assert sum(step["runs"] for step in steps) == len(postgres)
    assert len(steps) <= 10
    assert sum(step["failed"] for step in steps) == words.count("failed") + words.count("crashed")
    assert sum(step["succeeded"] for step in steps) == totals["success"]["succeeded"] == words.count("succeeded")
    ended = [run for run in postgres if run["ended"] is not None and score_in(run) is not None]
    assert totals["success"]["succeeded"] + totals["success"]["failed"] == len(ended)


async def test_the_rate_of_success_has_its_interval(apps: Sequence[FastAPI]):
    success = (await asked(apps[0], "/runs/overview")).json()["success"]
    known = success["succeeded"] + success["failed"]
    assert known > 5
    assert success["rate"] == round(success["succeeded"] / known, 6)
    assert 0 < success["low"] < success["rate"] < success["high"] < 1

"""Questions across runs, asked over HTTP of a collector's application on Postgres: each is what a plain scan says."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

import httpx
import pytest
from typer.testing import CliRunner

from playhead.cli import app
from playhead.client import AsyncClient
from playhead.errors import BadRequest
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.analysis.search.indexing import index_runs
from playhead_collector.app import create_app
from playhead_collector.process import CollectorProcess
from playhead_collector.projection import ProjectionRunner
from playhead_collector.read.record import stored_record
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.scores import ScoreToAdd
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.conftest import run
from tests.integration.across import cases as made
from tests.integration.across.cases import Call, Case
from tests.integration.across.searched import check_searches
from tests.integration.store.making import Clock
from tests.test_docs import code_of

SEARCH, BOOK, REFUND = Call("search", {"to": "SEA"}), Call("book", {"flight": 1}), Call("refund", {"amount": 2})
OUTCOME = "reward>=1"
LOST = Call("search", {"to": "SEA"}, failed=True)


def made_up() -> list[Case]:
    """12 runs of each of two tasks: those that refund fail, and so do most that go on after a failed search."""
    plans: list[tuple[float, tuple[Call, ...]]] = [
        *[(1.0, (SEARCH, BOOK))] * 6, *[(0.0, (SEARCH, REFUND))] * 4, (0.0, (LOST, BOOK)), (1.0, ()),
    ]  # fmt: skip
    return [
        Case(number, f"task:{number // len(plans)}", *plans[number % len(plans)]) for number in range(2 * len(plans))
    ]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(database_url: str, clock: Clock) -> AsyncIterator[PostgresStore]:
    store = await connect(database_url, pool_size=4, clock=clock)
    yield store
    await store.close()


@pytest.fixture
async def client(store: PostgresStore) -> AsyncIterator[AsyncClient]:
    transport = httpx.ASGITransport(create_app(CollectorSettings(), store))
    async with AsyncClient("http://localhost", transport=transport, timeout_seconds=60) as client:
        yield client


async def indexed(store: PostgresStore, clock: Clock) -> None:
    """Seals all runs, and indexes them without the sources of values, which takes most of the time."""
    runner = ProjectionRunner(store.projections, clock=clock, seal_after_s=1)
    for _ in range(3):
        await runner.run_once()
        clock.now_ns += 10 * 10**9
    await runner.stop()
    while runs := await store.search.unindexed_runs(100):
        records = [await stored_record(store, PROJECT, run) for _, run in runs]
        done = await index_runs(*records, index=store.search, attribute=False, language="simple", characters=32_768)
        assert len(done["indexed"]) == len(runs)


async def projected(client: AsyncClient, cases: Sequence[Case]) -> None:
    for case in cases:  # what is asked across runs catches up with recent news only
        await client.run(case.run)


async def check(client: AsyncClient, cases: Sequence[Case]) -> None:
    """All questions that a scan answers, too."""
    statistics = await client.statistics(outcome=OUTCOME)
    assert statistics["population"] == {
        "runs": len(cases), "succeeded": sum(case.succeeded for case in cases),
        "failed": sum(not case.succeeded for case in cases), "without_outcome": 0, "unfinished": 0, "unindexed": 0,
        "more": False, "outcome": OUTCOME,
    }  # fmt: skip
    assert statistics["success"] == made.success_of(cases)
    assert statistics["measures"]["tool_calls"]["sum"] == sum(len(case.calls) for case in cases)
    assert {each["tool"]: each["calls"] for each in statistics["tools"]} == {
        tool: sum(call.tool == tool for case in cases for call in case.calls)
        for tool in {call.tool for case in cases for call in case.calls}
    }
    assert {(each["tool"], each["failed"], each["returned_error"]) for each in statistics["tools"]} == {
        (tool, *(sum(call.tool == tool and call.outcome == outcome for case in cases for call in case.calls)
                 for outcome in ("failed", "returned_error")))
        for tool in {call.tool for case in cases for call in case.calls}
    }  # fmt: skip
    graph = await client.transitions(outcome=OUTCOME)
    assert {
        (each["source"], each["to"]): (each["times"], each["share"], each["success"]) for each in graph["transitions"]
    } == made.transitions_in(cases)
    patterns = await client.patterns(limit=1_000, outcome=OUTCOME)
    assert {
        (each["tool"], each["result"], each["choice"]): (each["times"], each["success"], each["otherwise"])
        for each in patterns["patterns"]
    } == made.patterns_in(cases)
    divergences = await client.divergences(task="tag:task:", limit=1_000, outcome=OUTCOME)
    found = {(each["task"], tuple(each["after"])) for each in divergences["divergences"]}
    assert found == made.first_partings(cases)
    for pattern in patterns["patterns"][:10]:
        await check_evidence(client, pattern["choice"], pattern["evidence"])
    for each in divergences["divergences"][:10]:
        for branch in each["branches"]:
            await check_evidence(client, branch["tool"], branch["evidence"])


async def check_evidence(client: AsyncClient, tool: str, evidence: Sequence[Any]) -> None:
    """Evidence of a tool call leads to it."""
    assert evidence
    if tool == "(end)":
        return
    for moment in evidence:
        async for event in client.events(moment["run"], after=moment["seq"] - 1, limit=1):
            assert (event["kind"], event["data"]["name"]) == ("tool_called", tool)


async def test_the_answers_about_made_up_runs_are_those_of_a_plain_scan(
    store: PostgresStore, clock: Clock, client: AsyncClient
):
    cases = made_up()
    await made.store_cases(store, cases)
    await indexed(store, clock)
    await check(client, cases)
    await _check_differences(client)
    await _check_failures(client)
    contents = await client.context_contents()
    assert (contents["read"], contents["contents"][0]["role"]) == (24, "system")
    prompt = contents["contents"][0]
    assert (prompt["sent"], prompt["runs"], prompt["total"]) == (24, 24, 24 * prompt["bytes"])
    assert sum(each["total"] for each in contents["contents"]) == contents["total"]
    compressed = await client.compression_outcomes(outcome=OUTCOME)
    assert compressed["by_compressions"] == {"0": made.success_of(cases)}
    assert compressed["p"] is None


async def _check_differences(client: AsyncClient) -> None:
    differences = await client.differences(outcome=OUTCOME)
    first = {each["feature"]: each for each in differences["differences"]}
    refund = first["calls refund"]
    assert (refund["failed"], refund["succeeded"]) == ({"runs": 8, "of": 10}, {"runs": 0, "of": 14})
    assert refund["significant"]
    assert refund["p"] == pytest.approx(6.118e-05, rel=1e-3)  # C(10, 8) of the C(24, 8) ways
    assert all(each["q"] >= each["p"] for each in differences["differences"])
    assert differences["tried"] == len(differences["differences"])
    few = await client.differences(outcome=OUTCOME, tag="task:0", status="failed")
    assert few["differences"] == []
    assert few["note"] is not None


async def _check_failures(client: AsyncClient) -> None:
    failures = await client.failures(outcome=OUTCOME)
    largest, second = failures["clusters"]
    assert [step["tool"] for step in largest["last"]] == ["search", "refund"]
    assert (largest["runs"], largest["share"], largest["pattern"], largest["error_type"]) == (8, 0.8, True, None)
    assert sum(largest["attributions"].values()) == 5
    assert (second["error_type"], second["about"]) == ("TimeoutError", "search")
    assert second["message"] == "too slow"
    assert second["last"] == [{"tool": "search", "result": "failed"}, {"tool": "book", "result": "completed"}]
    assert (second["runs"], second["pattern"]) == (2, False)


@pytest.mark.skipif(not made.RECORDED.exists(), reason="there are no recorded runs: set PLAYHEAD_TRAJECTORIES")
async def test_the_answers_about_the_recorded_airline_runs_are_those_of_a_plain_scan(
    store: PostgresStore, clock: Clock, client: AsyncClient
):
    cases = made.airline()
    await made.store_cases(store, cases)
    await indexed(store, clock)
    await check(client, cases)
    divergences = await client.divergences(task="tag:task:", limit=1_000, outcome=OUTCOME)
    assert divergences["tasks"] == 26
    assert len({each["task"] for each in divergences["divergences"]}) >= 10
    assert not any(each["pattern"] for each in divergences["divergences"])  # four trials of a task are no pattern
    differences = await client.differences(outcome=OUTCOME)
    # As docs/across.md says.
    assert (differences["tried"], sum(each["significant"] for each in differences["differences"])) == (72, 29)
    tools = (await client.statistics(outcome=OUTCOME))["tools"]
    assert sum(each["returned_error"] for each in tools) == 73
    await check_searches(client)


async def test_an_error_that_a_tool_returned_is_no_completed_call(
    store: PostgresStore, clock: Clock, client: AsyncClient
):
    refused = Call("search", {"to": "SEA"}, result="Error: no such airport")
    plans = [*[(0.0, (refused, REFUND))] * 6, *[(1.0, (SEARCH, BOOK))] * 6]
    cases = [Case(number, "task:0", *plan) for number, plan in enumerate(plans)]
    await made.store_cases(store, cases)
    await projected(client, cases)
    unread = await client.statistics(outcome=OUTCOME)
    assert unread["population"]["unindexed"] == len(cases)
    assert [each["returned_error"] for each in unread["tools"]] == [0, 0, 0]
    await indexed(store, clock)
    await _check_returned_errors(client, cases)


async def _check_returned_errors(client: AsyncClient, cases: Sequence[Case]) -> None:
    await check(client, cases)
    differences = await client.differences(outcome=OUTCOME)
    features = {
        each["feature"]: each["failed"]["runs"] for each in differences["differences"] if each["test"] == "fisher_exact"
    }
    assert features["search returns an error"] == features["refund after search returned_error"] == 6
    (cluster,) = (await client.failures(outcome=OUTCOME))["clusters"]
    assert cluster["last"] == [
        {"tool": "search", "result": "returned_error"}, {"tool": "refund", "result": "completed"}
    ]  # fmt: skip


async def test_outcomes_are_of_scores_or_of_the_status(store: PostgresStore, client: AsyncClient):
    cases = made_up()[:12]
    await made.store_cases(store, cases)
    await store.scores.add(PROJECT, cases[0].run, ScoreToAdd("verdict", "verdict", "kept"))
    await store.scores.add(PROJECT, cases[1].run, ScoreToAdd("verdict", "verdict", "lost"))
    await store.scores.add(PROJECT, cases[1].run, ScoreToAdd("again", "reward", 0.0))
    await projected(client, cases)
    by_status = (await client.statistics())["population"]
    assert (by_status["outcome"], by_status["succeeded"]) == ("status", 12)
    by_label = (await client.statistics(outcome="verdict=kept"))["population"]
    assert (by_label["succeeded"], by_label["failed"], by_label["without_outcome"]) == (1, 1, 10)
    again = (await client.statistics(outcome="reward"))["population"]
    assert (again["outcome"], again["succeeded"]) == ("reward>=0.5", 6)
    newest = (await client.statistics(runs=3))["population"]
    assert (newest["runs"], newest["more"]) == (3, True)
    nothing = await client.statistics(agent="nobody")
    assert (nothing["measures"], nothing["success"]["rate"]) == ({}, None)


@pytest.mark.parametrize(
    "asked", [{"outcome": "x>=much"}, {"runs": 0}, {"task": "colour"}, {"since": "soon"}, {"outcome": " =1"}]
)
async def test_what_cannot_be_asked_is_refused(client: AsyncClient, asked: Any):
    with pytest.raises(BadRequest):
        await client.divergences(**asked)


def test_the_commands_and_the_page_s_code_say_it_too(
    database_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    with CollectorProcess(database_url=database_url) as collector:
        _store_in(database_url)
        _wait_until_projected(collector.url)
        monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", collector.url)
        said = {question: _invoked(question) for question in ("statistics", "transitions", "patterns", "differences")}
        said |= {question: _invoked(question) for question in ("compression", "failures", "contents")}
        said["divergences"] = _invoked("divergences", "--task", "tag:task:")
        exec(compile(code_of("docs/across.md")["python"], "across.md", "exec"), {})
        assert "Traceback" not in collector.log()
    assert "outcome\treward>=1" in said["statistics"]
    assert "tool_calls\t24\t" in said["statistics"]
    assert "search\tcompleted\trefund\t8\t" in said["patterns"]
    assert "calls refund\t8 of 10\t0 of 14\t6.1e-05\t" in said["differences"]
    assert "0\t14/24 (0.39 to 0.76)" in said["compression"]
    assert "8\t0.80\t" in said["failures"]
    assert "task:0: 11 runs" in said["divergences"]
    assert "refund 8 of 10 0 of 14" in capsys.readouterr().out


def _store_in(database_url: str) -> None:
    async def fill() -> None:
        store = await connect(database_url, pool_size=2)
        await made.store_cases(store, made_up())
        await store.close()

    run(fill())


def _wait_until_projected(url: str) -> None:
    async def ask() -> None:
        async with AsyncClient(url, timeout_seconds=60) as client:
            await projected(client, made_up())

    run(ask())


def _invoked(question: str, *more: str) -> str:
    done = CliRunner().invoke(app, ["across", question, "--outcome", OUTCOME, *more])
    assert done.exit_code == 0, done.output
    return done.stdout

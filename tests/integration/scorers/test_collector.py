"""A collector that scores runs: functions of an installed package and of the operator, a judge, rules, over HTTP."""

import asyncio
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest
from typer.testing import CliRunner

from playhead.cli import app
from playhead.client import Client
from playhead.errors import BadRequest, ClientError, Conflict, NotAuthorized, NotFound
from playhead.testing import MockModelServer, text
from playhead_collector.access import FIRST_PROJECT
from playhead_collector.process import CollectorProcess
from playhead_collector.store.postgres.store import connect
from tests.integration.scorers.test_scoring import support
from tests.support.brought_package import write_metadata
from tests.support.stored_texts import stored_in

T = TypeVar("T")
ADMIN_KEY = "the operator's key"
FAILED, GOOD = "0f" * 16, "0a" * 16
FUNCTIONS = """
import os
import sys
import time

from playhead.model.scored_run import GivenScore, ScoredRun


def helpful(run: ScoredRun):
    assert run.tool_calls[0].name == "find_order"
    failed = "error" in str(run.tool_calls[-1].result)
    return GivenScore(0.0 if failed else 1.0, f"{run.output_text} ({len(run.messages)} messages)", label="by hand")


def prints(run):
    print("something that would break the frames")
    sys.stdout.flush()
    os.write(1, b"and more")
    return {"one": True, "two": 0.5, "three": "good"}


async def waits(run):
    return None if run.run.startswith("0a") else "bad"


def hangs(run):
    while True:
        time.sleep(60)


def exits(run):
    sys.exit(3)


def dies(run):
    os._exit(4)


def raises(run):
    raise ZeroDivisionError("a bug of the function")


def grows(run):
    return len(bytearray(4 << 30)) > 0


def says(run):
    address = "made.up" + "@" + "example.com"
    return GivenScore(address, f"is what {address} wrote")


def raises_with_text(run):
    raise ValueError("made.up" + "@" + "example.com")


def nonsense(run):
    return float("nan")


def knows_secrets(run):
    return any(name in os.environ for name in ("PLAYHEAD_ADMIN_KEY", "PLAYHEAD_DATABASE_URL"))
"""
OWN = (
    "prints",
    "waits",
    "hangs",
    "exits",
    "dies",
    "raises",
    "grows",
    "nonsense",
    "knows_secrets",
    "says",
    "raises_with_text",
)


@pytest.fixture(scope="module")
def judge() -> Iterator[MockModelServer]:
    with MockModelServer(models=("gpt-4o", "gpt-4o-mini")) as server:
        yield server


@pytest.fixture(scope="module")
def collector(
    module_database_url: str, judge: MockModelServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CollectorProcess]:
    folder = tmp_path_factory.mktemp("functions")
    (folder / "lamp_scorers.py").write_text(FUNCTIONS)
    write_metadata(folder, "lamp-scorers", {"lamp.helpful": "lamp_scorers:helpful"}, group="playhead.scorers")
    settings = {
        "PLAYHEAD_ADMIN_KEY": ADMIN_KEY,
        "PLAYHEAD_SEAL_AFTER_SECONDS": "1",
        "PLAYHEAD_SCORERS": ",".join(f"lamp_scorers:{name}" for name in OWN),
        "PLAYHEAD_EXPLAIN_URL": judge.base_url,
        "PLAYHEAD_EXPLAIN_MODEL": "gpt-4o",
        "PLAYHEAD_ASK_MODELS": "gpt-4o-mini",
        "PLAYHEAD_ANALYSIS_SECONDS": "8",
        "PYTHONPATH": ":".join([str(folder), *filter(None, sys.path)]),
    }
    with CollectorProcess(env=settings, database_url=module_database_url) as process:
        yield process
        assert "Traceback" not in process.log().split("the scorer lamp_scorers:")[0]


@pytest.fixture
def client(collector: CollectorProcess) -> Iterator[Client]:
    with Client(collector.url, ADMIN_KEY) as client:
        yield client
        for scorer in client.scorers()["items"]:
            client.delete_scorer(scorer["name"])


@pytest.fixture(scope="module")
def recorded(module_database_url: str, collector: CollectorProcess) -> None:
    """Two runs that have ended without an error; the last tool of one of them has failed. They are sealed, so that they
    are due to no scorer that is set from now on."""

    async def record() -> None:
        store = await connect(module_database_url, pool_size=1)
        for run in (support(FAILED, {"error": "no such order"}), support(GOOD)):
            await store.spans.ingest(FIRST_PROJECT, run.batch())
        await store.close()

    asyncio.run(record())
    with Client(collector.url, ADMIN_KEY) as client:
        eventually(lambda: all(client.run(run)["completeness"]["sealed"] for run in (FAILED, GOOD)))


async def send(dsn: str, run: str, **more: Any) -> None:
    store = await connect(dsn, pool_size=1)
    await store.spans.ingest(FIRST_PROJECT, support(run, **more).batch())
    await store.close()


def eventually(holds: Any, seconds: float = 180.0) -> Any:
    """Returns what `holds` returns, once that is true. A function that took too long is called again after a minute."""
    until = time.monotonic() + seconds
    while not (found := holds()):
        assert time.monotonic() < until, "it did not happen in time"
        time.sleep(0.1)
    return found


def scores_of(client: Client, run: str) -> dict[str, Any]:
    return {score["name"]: score for score in client.run_scores(run, source="scorer")}


# --- on arrival ------------------------------------------------------------------------------------------------------


def test_runs_that_arrive_are_scored_by_a_rule_a_function_and_a_judge(
    client: Client, judge: MockModelServer, module_database_url: str
):
    run = "0c" * 16
    judge.otherwise(text('{"reason": "The order was not found.", "value": false}'))
    client.set_scorer("last-tool", "rule", rule={"fails_if": [{"tool_error": "last"}]})
    client.set_scorer("helpful", "function", function="lamp.helpful")
    client.set_scorer("judged", "judge", prompt="Was the lamp found?", where={"agent": "support"})
    asyncio.run(send(module_database_url, run, result={"error": "no such order"}))
    scores = eventually(lambda: len(found := scores_of(client, run)) == 3 and found)
    assert {name: score["value"] for name, score in scores.items()} == {
        "last-tool": False, "helpful": 0.0, "judged": False,
    }  # fmt: skip
    assert scores["helpful"]["comment"] == "All is done. (4 messages)"
    assert (scores["helpful"]["label"], scores["helpful"]["author"]) == ("by hand", "helpful v1")

    # The judge's call is a run of its own, and each of both names the other.
    [judging] = eventually(lambda: list(client.runs(linked=run)))
    assert judging["agents"] == ["playhead.judge"]
    assert judging["run"] in scores["judged"]["comment"]
    assert "The order was not found." in scores["judged"]["comment"]
    assert judging["status"] == "completed"
    [call] = client.llm_calls(judging["run"])
    assert (call["model"], call["usage"]["input_tokens"] > 0) == ("gpt-4o", True)
    asked = judge.requests[-1].body
    assert "no such order" in str(asked["messages"])
    assert asked["response_format"]["type"] == "json_schema"
    judged = client.scorer("judged")["total"]  # not `today`, which may have begun just now
    assert judged["scored"] == 1
    assert judged["tokens"] == sum(call["usage"][name] for name in ("input_tokens", "output_tokens"))
    assert judged["cost"] > 0

    # "Completed" says nothing: with the scores, the run is called failed.
    [row] = [row for row in client.runs() if row["run"] == run]
    assert (row["status"], row["outcome"]["word"]) == ("completed", "failed")
    assert client.verdict(run)["outcome"]["word"] == "failed"
    assert run in {row["run"] for row in client.runs(outcomes=["failed"])}

    # The judge's run is sealed, too, and is scored by nobody.
    eventually(lambda: client.scorer("last-tool")["due"] == 0)
    assert scores_of(client, judging["run"]) == {}


# --- functions -------------------------------------------------------------------------------------------------------


def in_time(ask: Callable[[], T], *, hangs: bool = False) -> T:
    """Returns the answer. Asks again when a busy machine took as long for it as one that hangs takes."""
    late = {"analysis_not_started"} if hangs else {"analysis_not_started", "took_too_long"}
    until = time.monotonic() + 180
    while True:
        try:
            return ask()
        except ClientError as error:
            if error.code not in late or time.monotonic() > until:
                raise


def given(client: Client, name: str, run: str = FAILED, *, hangs: bool = False) -> list[dict[str, Any]]:
    """The scores that a scorer gives."""
    return [dict(score) for score in in_time(lambda: client.try_scorer(name, run), hangs=hangs)["scores"]]


def tried(client: Client, function: str, run: str = FAILED) -> list[dict[str, Any]]:
    client.set_scorer("mine", "function", function=f"lamp_scorers:{function}", enabled=False)
    return given(client, "mine", run, hangs=function == "hangs")


@pytest.mark.usefixtures("recorded")
def test_a_function_may_print_wait_give_several_scores_or_none(client: Client):
    assert {score["name"]: score["value"] for score in tried(client, "prints")} == {
        "one": True, "two": 0.5, "three": "good",
    }  # fmt: skip
    assert [score["value"] for score in tried(client, "waits")] == ["bad"]
    assert tried(client, "waits", GOOD) == []
    assert [score["value"] for score in tried(client, "knows_secrets")] == [False]


@pytest.mark.usefixtures("recorded")
@pytest.mark.parametrize(
    ("function", "why"),
    [
        ("raises", "ZeroDivisionError: a bug of the function"),
        ("exits", "SystemExit"),
        ("dies", "ended with code 4"),
        ("hangs", "too long"),
        ("grows", "MiB"),
        ("nonsense", "finite number"),
    ],
)
def test_a_function_that_misbehaves_fails_alone(client: Client, function: str, why: str):
    with pytest.raises(ClientError, match=why):
        tried(client, function)
    assert [score["value"] for score in tried(client, "waits")] == ["bad"], "the next one is called"


@pytest.mark.usefixtures("recorded")
def test_what_a_function_failed_with_is_said_and_the_scores_of_others_are_stored(client: Client, collector: Any):
    client.set_scorer("broken", "function", function="lamp_scorers:raises")
    client.set_scorer("fine", "function", function="lamp.helpful")
    for name in ("broken", "fine"):
        client.backfill_scorer(name)
    assert eventually(lambda: scores_of(client, GOOD).get("fine"))["value"] == 1.0
    eventually(lambda: "fine" in scores_of(client, FAILED))
    eventually(lambda: (backfill := client.scorer("fine")["backfill"]) is not None and backfill["state"] == "done")
    assert eventually(lambda: client.scorer("broken")["total"]["begun"] >= 2)
    with httpx.Client(base_url=collector.url, headers={"authorization": f"Bearer {ADMIN_KEY}"}, timeout=60) as http:

        def figure(name: str) -> float:
            lines = http.get("/metrics").text.splitlines()
            return next(float(line.split()[1]) for line in lines if line.startswith(f"{name} "))

        eventually(lambda: figure("playhead_scorings_retried") >= 2)  # counted a moment after they failed
        eventually(lambda: figure("playhead_scorings_scored") >= 2)


@pytest.mark.usefixtures("recorded")
def test_a_pattern_that_takes_for_ever_fails_alone(client: Client, collector: CollectorProcess):
    slow = f"(?:{'|'.join(f'{letter}?[A-Za-z. ]' for letter in 'bcdfghijkm')})+(?<!.)"
    client.set_scorer("slow", "rule", rule={"fails_if": [{"output_matches": slow}]}, enabled=False)
    client.set_scorer("quick", "rule", rule={"fails_if": [{"output_matches": "^$"}]}, enabled=False)
    with pytest.raises(ClientError, match="too long|signal"):
        given(client, "slow", hangs=True)
    with httpx.Client(base_url=collector.url, timeout=60) as http:
        assert http.get("/healthz").status_code == 200
    assert [score["value"] for score in given(client, "quick")] == [True]


# --- redaction -------------------------------------------------------------------------------------------------------


def test_what_functions_and_models_say_about_runs_is_masked_before_it_is_stored(
    client: Client, judge: MockModelServer, module_database_url: str, recorded: None
):
    """They may make up what no record has, and say what was recorded before there were rules."""
    secret = "made.up@example.com"
    answer = {"reason": f"write to {secret}", "value": False, "goal": f"to find {secret}"}
    judge.otherwise(text(json.dumps(answer)))
    run = "0e" * 16
    client.set_redaction(presets=["email"])
    try:
        client.set_scorer("judged", "judge", prompt=f"Was {secret} told? {{output}}")
        client.set_scorer("says", "function", function="lamp_scorers:says")
        client.set_scorer("raises", "function", function="lamp_scorers:raises_with_text")
        asyncio.run(send(module_database_url, run))
        scores = eventually(lambda: len(found := scores_of(client, run)) == 2 and found)
        eventually(lambda: list(client.runs(linked=run)))
        assert scores["says"]["value"] == "[masked:email]"
        assert scores["says"]["comment"] == "is what [masked:email] wrote"
        assert "write to [masked:email]" in scores["judged"]["comment"]
        explained = in_time(lambda: client.explain(run))
        assert explained["goal"] == "to find [masked:email]"
        assert in_time(lambda: client.explain(run)) == {**explained, "cached": True}
        again = in_time(lambda: client.ask_again(run, messages=[{"role": "user", "content": f"I am {secret}"}]))
        assert secret not in str(again)
        assert "[masked:email]" in str(again["answer"])
        client.delete_scorer("judged")  # what its prompt says is the operator's text

        def with_the_error() -> dict[str, bytes] | None:
            stored = asyncio.run(stored_in(module_database_url))
            return stored if b"[masked:email]" in stored.get("scoring_due.error", b"") else None

        stored = eventually(with_the_error)
        assert [name for name, data in stored.items() if secret.encode() in data] == []
    finally:
        client.set_redaction()


# --- a judge ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("recorded")
def test_a_judge_that_answers_nonsense_is_asked_once_more_and_then_has_failed(client: Client, judge: MockModelServer):
    client.set_scorer("judged", "judge", prompt="Good? {output}", judge_model="gpt-4o-mini", enabled=False)
    judge.otherwise(text("I would rather not say."))
    before = len(judge.requests)
    with pytest.raises(ClientError, match="gave no value"):
        given(client, "judged")
    assert len(judge.requests) == before + 2
    judging = eventually(lambda: list(client.runs(linked=FAILED)))[0]
    assert len(list(client.llm_calls(judging["run"]))) == 2
    judge.otherwise(text('Here: {"reason": "fine", "value": 0.75}'))
    assert [score["value"] for score in given(client, "judged")] == [0.75]
    assert judge.requests[-1].body["model"] == "gpt-4o-mini"


# --- what a scorer may be --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ({"kind": "rule"}, "a rule is needed"),
        (
            {"kind": "rule", "rule": {"fails_if": [{"tool_eror": "last"}]}},
            r"fails_if\[0\]: there is no check 'tool_eror'",
        ),
        ({"kind": "rule", "rule": {"fails_if": [{"output_empty": True}]}, "prompt": "x"}, "kind judge"),
        ({"kind": "rule", "rule": {"fails_if": [{"tool_called": "a\0"}]}}, "NUL"),
        ({"kind": "function", "function": "os:system"}, "PLAYHEAD_SCORERS"),
        ({"kind": "judge", "judge_model": "other"}, "gpt-4o, gpt-4o-mini"),
        ({"kind": "judge", "where": {"agnet": "a"}}, "there is no condition 'agnet'"),
        ({"kind": "judge", "where": {"status": "good"}}, "status"),
        ({"kind": "judge", "sample": 1.5}, "less than or equal"),
    ],
)
def test_a_scorer_that_cannot_be_is_refused_with_the_place_and_the_reason(client: Client, values: Any, why: str):
    with pytest.raises(BadRequest, match=why):
        client.set_scorer("mine", **values)
    assert client.scorers()["items"] == []


def test_a_misspelt_budget_is_refused(collector: CollectorProcess):
    with httpx.Client(base_url=collector.url, headers={"authorization": f"Bearer {ADMIN_KEY}"}, timeout=60) as http:
        answer = http.put("/api/v1/scorers/mine", json={"kind": "judge", "token_per_day": 5})
    assert answer.status_code == 422


def test_scorers_are_listed_with_what_they_may_name_and_change_their_version(client: Client):
    made = client.set_scorer("mine", "rule", rule={"fails_if": [{"output_empty": True}]})
    assert (made["version"], made["score"], made["due"]) == (1, "mine", 0)
    again = client.set_scorer("mine", "rule", rule={"fails_if": [{"output_empty": True}]}, sample=0.5, score=None)
    assert (again["version"], again["sample"]) == (1, 0.5)
    assert client.set_scorer("mine", "rule", rule={"fails_if": [{"output_empty": True}]}, score="full")["version"] == 2
    listed = client.scorers()
    assert [scorer["name"] for scorer in listed["items"]] == ["mine"]
    assert listed["models"] == ["gpt-4o", "gpt-4o-mini"]
    assert listed["functions"] == sorted(["lamp.helpful", *(f"lamp_scorers:{name}" for name in OWN)])
    assert client.delete_scorer("mine") == {"deleted": True}
    with pytest.raises(NotFound):
        client.scorer("mine")
    assert client.delete_scorer("mine") == {"deleted": False}


def test_a_scorer_that_is_off_has_no_pass_over_stored_runs(client: Client):
    client.set_scorer("mine", "rule", rule={"fails_if": [{"output_empty": True}]}, enabled=False)
    with pytest.raises(Conflict, match="switched off"):
        client.backfill_scorer("mine")


def test_setting_a_scorer_takes_a_key_with_admin_and_another_project_has_none_of_it(
    client: Client, collector: CollectorProcess
):
    client.set_scorer("mine", "rule", rule={"fails_if": [{"output_empty": True}]})
    reader = client.create_key("reader", ["read", "ingest"])["key"]
    with Client(collector.url, reader) as read:
        assert read.scorer("mine")["name"] == "mine"
        with pytest.raises(NotAuthorized):
            read.set_scorer("other", "rule", rule={"fails_if": [{"output_empty": True}]})
        with pytest.raises(NotAuthorized):
            read.try_scorer("mine", FAILED)
    client.create_project("blue")
    with Client(collector.url, ADMIN_KEY, project="blue") as blue:
        assert blue.scorers()["items"] == []
        with pytest.raises(NotFound):
            blue.scorer("mine")
        with pytest.raises(NotFound):
            blue.backfill_scorer("mine")


# --- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("recorded")
def test_the_command_sets_tries_shows_and_deletes_scorers(client: Client, collector: CollectorProcess, tmp_path: Path):
    environ = {"PLAYHEAD_COLLECTOR_URL": collector.url, "PLAYHEAD_API_KEY": ADMIN_KEY}

    def ran(*words: str, code: int = 0) -> str:
        until = time.monotonic() + 180
        while (result := CliRunner(env=environ).invoke(app, ("scorers", *words))).exit_code != code:
            is_late = "for analysis can be started" in result.output or "took too long" in result.output
            assert is_late, result.output
            assert time.monotonic() < until, result.output
        return result.stdout + result.stderr

    rule = tmp_path / "rule.json"
    rule.write_text('{"fails_if": [{"tool_error": "last"}]}')
    assert "rule, version 1" in ran("set", "resolved", "--rule", f"@{rule}", "--where", "agent=support", "--off")
    assert 'resolved = false: tool_error "last" holds' in ran("test", "resolved", FAILED)
    assert "resolved = true" in ran("test", "resolved", GOOD)
    shown = ran("set", "helpful", "--judge", "Is it good?", "--model", "gpt-4o-mini", "--cost-per-day", "2.5", "--off")
    assert "2.5 cost per day" in shown
    assert "lamp.helpful" in ran("list")
    assert "agent=support" in ran("show", "resolved")
    assert "switched off" in ran("backfill", "resolved", code=2)
    ran("set", "resolved", "--rule", rule.read_text(), "--function", "lamp.helpful", code=2)
    ran("set", "resolved", "--rule", "[1]", code=2)
    ran("set", "resolved", "--rule", "{", code=2)
    assert "deleted resolved" in ran("delete", "resolved")
    assert [scorer["name"] for scorer in client.scorers()["items"]] == ["helpful"]

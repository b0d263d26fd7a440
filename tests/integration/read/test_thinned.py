"""Questions about runs that were thinned: all are answered, with what is left; nothing fails for what is gone."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import asyncpg
import httpx
import orjson
import pytest

from playhead.model import names
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.app import create_app
from playhead_collector.errors import Refused
from playhead_collector.handlers.settings import AnalysisSettings
from playhead_collector.retain.sweeper import Sweeper
from playhead_collector.settings import CollectorSettings
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres.store import PostgresStore, connect
from playhead_collector.workers.ports import InProcessAnalysis
from playhead_collector.workers.questions import AnalysisQuestion
from tests.integration.emptied import emptied_afterwards
from tests.integration.read.recorded import conversation
from tests.integration.read.test_forks import forked
from tests.integration.read.test_stores import client_of
from tests.integration.read.test_sweep import DECLARED, SUMMED_UP, branching
from tests.integration.store.making import Clock
from tests.integration.store.test_tiers import retain, set_policy, settle
from tests.support.readers.questions import PREFIX, across, answer, questions
from tests.support.recorded_runs import Recorded

TALK, BRANCHING, COMPRESSED, SUMMED, FORK = RUNS = [f"{number:02x}" * 16 for number in range(1, 6)]
THIN = {"default": {"hot": "7d", "cold": "1y", "archive": "2y", "contents": False, "last_context": False}}
COMPARED = f"/runs/{TALK}/compare/{FORK}"


def batches() -> Iterator[Batch]:
    talk = conversation(TALK, 3)
    yield talk.batch()
    yield branching(BRANCHING).batch()
    yield Recorded(COMPRESSED, DECLARED).batch()
    yield Recorded(SUMMED, SUMMED_UP).batch()
    yield forked(talk, 1, FORK).batch()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
async def store(module_database_url: str, clock: Clock) -> AsyncIterator[PostgresStore]:
    async with emptied_afterwards(module_database_url) as connection:
        store = await connect(module_database_url, pool_size=6, clock=clock)
        yield store
        await connection.execute("update project set retention = null")
        await store.close()


@pytest.fixture
async def client(store: PostgresStore, clock: Clock) -> AsyncIterator[httpx.AsyncClient]:
    for batch in batches():
        await store.spans.ingest(PROJECT, batch)
    await settle(store, clock)
    app = create_app(CollectorSettings(seal_after_seconds=1), store, clock=clock)
    async with client_of(app) as client:
        yield client


async def thin(store: PostgresStore, clock: Clock, days: float) -> None:
    """As a collector does it, with the sweep of contents that nobody names any more."""
    await set_policy(store, THIN)
    clock.days_pass(days)
    await retain(store, clock)
    clock.days_pass(3)
    await Sweeper(store.garbage, grace_s=86_400, tombstone_s=1e9).run_once()


async def asked(client: httpx.AsyncClient, every: list[str]) -> dict[str, tuple[int, Any]]:
    return {question: await answer(client, question) for question in every}


async def every_question(client: httpx.AsyncClient) -> list[str]:
    every = [question for run in RUNS for question in await questions(client, run)]
    return [*every, *across(), COMPARED, "/runs?tag=beta&limit=2", "/runs?sort=cost"]


def run_list(found: dict[str, tuple[int, Any]]) -> list[dict[str, Any]]:
    return found["/runs"][1]["items"]


@pytest.mark.parametrize(("days", "tier"), [(8, "cold"), (400, "archive")])
async def test_every_question_about_a_thinned_run_has_an_answer(
    client: httpx.AsyncClient, store: PostgresStore, clock: Clock, days: float, tier: str
):
    every = await every_question(client)
    before = await asked(client, every)
    await thin(store, clock, days)
    after = await asked(client, every)
    assert {run["run"]: run["completeness"]["retained"] for run in run_list(after)} == dict.fromkeys(RUNS, tier)
    wrong = {question: found for question, found in after.items() if found[0] >= 500}
    assert wrong == {}
    refused = {question: found for question, found in after.items() if found[0] != before[question][0]}
    # A test of a run needs its contents, and where a decision begins follows from them. The archive has no spans.
    asked_for = {question.split("?")[0].split("/")[3] for question in refused}
    assert asked_for == {"test", "decisions"} | ({"spans"} if tier == "archive" else set[str]())
    same = ("run", "name", "status", "events", "llm_calls", "tool_calls", "usage", "input_tokens", "cost", "agents")
    for old, new in zip(run_list(before), run_list(after), strict=True):
        assert {name: old.get(name) for name in same} == {name: new.get(name) for name in same}


async def test_values_that_are_gone_are_null_and_named(client: httpx.AsyncClient, store: PostgresStore, clock: Clock):
    question = f"/runs/{TALK}/messages?hydrate=true"
    _, before = await answer(client, question)
    assert all(item["value"] for item in before["items"])
    await thin(store, clock, 8)
    _, after = await answer(client, question)
    assert [item["message"] for item in after["items"]] == [item["message"] for item in before["items"]]
    assert {item["value"] for item in after["items"]} == {None}
    context = (await client.get(f"{PREFIX}/runs/{TALK}/context", params={"at": after["items"][-1]["seq"]})).json()
    assert context["missing"]


@pytest.mark.parametrize("days", [8, 400], ids=["cold", "archive"])
async def test_a_thinned_run_is_not_scored_by_what_it_has_lost(
    client: httpx.AsyncClient, store: PostgresStore, clock: Clock, days: float
):
    """A pass over stored runs would call all of them failed, since no output matches, or good, since no tool failed."""
    analysis = InProcessAnalysis(store, AnalysisSettings())
    rules: list[dict[str, Any]] = [
        {"passes_if": [{"output_matches": "."}]}, {"fails_if": [{"output_empty": True}]},
        {"fails_if": [{"tool_error": "any"}]},
    ]  # fmt: skip

    async def scored(rule: dict[str, Any]) -> Any:
        question = AnalysisQuestion("scored_run", PROJECT, (TALK,), {"rule": rule})
        return orjson.loads(await analysis.ask(question))["score"]["value"]

    await client.get(f"{PREFIX}/runs/{TALK}")  # it is projected
    assert [await scored(rule) for rule in rules] == [False, False, True]  # its last answer calls a tool
    await thin(store, clock, days)
    for rule in rules:
        with pytest.raises(Refused, match="is not stored"):
            await scored(rule)
    assert await scored({"passes_if": [{"status": "completed"}]}) is True


async def test_events_of_a_cold_run_are_those_that_it_had(
    client: httpx.AsyncClient, store: PostgresStore, clock: Clock
):
    every = [
        f"/runs/{run}/{question}" for run in RUNS for question in ("events?limit=1000", "llm-calls", "spans", "logs")
    ]
    before = await asked(client, every)
    await thin(store, clock, 8)
    assert await asked(client, every) == before


async def test_who_had_a_content_is_not_all_that_is_known_once_a_run_is_cold(
    client: httpx.AsyncClient, store: PostgresStore, clock: Clock
):
    contents = conversation(TALK, 3).batch().contents
    about = [f"/content/{content.ref}/about" for content in contents]
    before = await asked(client, about)
    assert {found["complete"] for _, found in before.values()} == {True}
    await set_policy(store, {"default": {"hot": "7d", "cold": "forever"}})
    clock.days_pass(8)
    await retain(store, clock)
    after = await asked(client, about)
    assert {(status, found["complete"]) for status, found in after.values()} == {(200, False)}


async def test_what_a_person_is_told(client: httpx.AsyncClient, store: PostgresStore, clock: Clock):
    await set_policy(store, THIN)
    hot = (await client.get(f"{PREFIX}/runs/{TALK}")).json()
    assert hot["retention"] | {"next_time": ""} == {
        "tier": "hot", "thinned": None, "rule": None, "next_tier": "cold", "next_time": "", "next_rule": "default",
        "pin": None,
    }  # fmt: skip
    policy = (await client.get(f"{PREFIX}/project/retention")).json()
    assert policy["tiers"] == {"hot": 5, "warm": 0, "cold": 0, "archive": 0}
    assert {"days": 30, "tier": "cold", "runs": 5} in policy["upcoming"]
    assert policy["all_looked_at"] is True
    pinned = await client.put(f"{PREFIX}/runs/{TALK}/pin", json={"reason": "evidence"})
    assert pinned.json()["reason"] == "evidence"
    clock.days_pass(8)
    plan = (await client.get(f"{PREFIX}/retention/plan")).json()
    # The run that the pinned one was forked from has no other reason to stay.
    assert {item["run"]: item["kept"] for item in plan["items"]} == {
        TALK: "it is pinned", BRANCHING: None, COMPRESSED: None, SUMMED: None, FORK: None,
    }  # fmt: skip
    assert (plan["runs"], plan["kept"], plan["all_looked_at"]) == (4, 1, True)
    assert {item["why"] for item in plan["items"]} == {"rule 'default': it ended 8 days ago"}
    done = (await client.post(f"{PREFIX}/retention")).json()
    assert (done["runs"], done["complete"]) == ({"cold": 4}, True)
    log = (await client.get(f"{PREFIX}/retention/log")).json()
    assert {run for each in log["items"] for run in each["runs"]} == set(RUNS) - {TALK}
    assert (await client.get(f"{PREFIX}/runs/{TALK}")).json()["pinned"] is True
    assert (await client.delete(f"{PREFIX}/runs/{TALK}/pin")).json() == {"unpinned": True}
    assert (await client.post(f"{PREFIX}/retention")).json()["runs"] == {"cold": 1}
    figures = (await client.get("/metrics")).text
    assert "\nplayhead_retention_thinned 5.0\n" in figures
    assert "\nplayhead_retention_deleted 0.0\n" in figures
    cold = (await client.get(f"{PREFIX}/runs/{TALK}")).json()
    assert (cold["completeness"]["retained"], cold["retention"]["rule"]) == ("cold", "default")
    assert cold["retention"]["next_tier"] == "archive"


async def test_a_policy_is_refused_with_the_place_that_is_wrong(client: httpx.AsyncClient):
    path = f"{PREFIX}/project/retention"
    wrong = await client.put(path, json={"policy": {"default": {"hot": "7 days"}}})
    assert wrong.status_code == 422
    assert wrong.json()["error"]["message"].startswith("default.hot: '7 days' is no duration: write a number and h, d")
    assert (await client.put(path, json={"policy": THIN})).json()["policy"] == THIN
    assert (await client.put(path, json={"policy": None})).json()["policy"] is None


async def test_a_thinned_run_is_not_resumed(client: httpx.AsyncClient, store: PostgresStore, clock: Clock):
    await thin(store, clock, 8)
    asked = {"holder": "a", "process": "me", "seconds": 60, "attempt": 1}
    refused = await client.post(f"{PREFIX}/runs/{TALK}/lease", json=asked)
    assert refused.status_code == 409
    assert refused.json()["error"]["code"] == "thinned"
    assert "was thinned on" in refused.json()["error"]["message"]


async def test_a_fork_goes_before_its_parent(store: PostgresStore, client: httpx.AsyncClient, clock: Clock):
    """The parent stays as long as the fork does, whatever its own age says."""
    await set_policy(store, {"default": {"hot": "7d", "cold": "forever"}})
    await client.put(f"{PREFIX}/runs/{FORK}/pin", json={})
    before = await answer(client, f"/runs/{FORK}/events?limit=1000")
    clock.days_pass(8)
    plan = (await client.get(f"{PREFIX}/retention/plan")).json()
    kept = {item["run"]: item["kept"] for item in plan["items"]}
    assert (kept[FORK], kept[TALK]) == ("it is pinned", "runs that were forked from it need its record")
    await retain(store, clock)
    tiers = {
        run["run"]: run["completeness"]["retained"] for run in (await client.get(f"{PREFIX}/runs")).json()["items"]
    }
    assert {run for run, tier in tiers.items() if tier == "hot"} == {TALK, FORK}
    await client.delete(f"{PREFIX}/runs/{FORK}/pin")
    await retain(store, clock)
    assert await answer(client, f"/runs/{FORK}/events?limit=1000") == before


async def test_late_spans_of_a_cold_fork_find_the_record_of_its_cold_parent(
    store: PostgresStore, client: httpx.AsyncClient, clock: Clock
):
    await set_policy(store, {"default": {"hot": "7d", "cold": "forever"}})
    before = (await answer(client, f"/runs/{FORK}/events?limit=1000"))[1]["items"]
    clock.days_pass(8)
    await retain(store, clock)
    talk = conversation(TALK, 3)
    again = forked(talk, 1, FORK)
    again.tool("refund", {"order": 99}, "late")
    await store.spans.ingest(PROJECT, again.batch())
    await settle(store, clock)
    after = (await answer(client, f"/runs/{FORK}/events?limit=1000"))[1]["items"]
    assert [item["id"] for item in after[: len(before)]] == [item["id"] for item in before]
    assert any(item["kind"] == "tool_called" and item["late"] for item in after[len(before) :])
    await retain(store, clock)
    assert (await answer(client, f"/runs/{FORK}/events?limit=1000"))[1]["items"] == after


async def test_a_conversation_keeps_its_contents_when_its_runs_are_gone(
    store: PostgresStore, client: httpx.AsyncClient, clock: Clock, module_database_url: str
):
    spans = await store.spans.read(PROJECT, TALK)
    head = [span.attributes[names.INPUT_MESSAGES_REF] for span in spans if names.INPUT_MESSAGES_REF in span.attributes][
        -1
    ]
    saved = await client.put(f"{PREFIX}/conversation", json={"id": "c1", "head": head, "revision": 0})
    assert saved.status_code == 200, saved.text
    await thin(store, clock, 800)
    assert (await client.get(f"{PREFIX}/runs")).json()["items"] == []
    thread = (await client.get(f"{PREFIX}/contents/{head}")).json()
    assert thread
    connection = await asyncpg.connect(module_database_url)
    try:
        assert await connection.fetchval("select count(*) from run") == 0
    finally:
        await connection.close()

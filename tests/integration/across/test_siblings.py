"""A failed run is compared with succeeded runs of the same task, which are found in the store."""

from collections.abc import Sequence

import asyncpg
import pytest
from typer.testing import CliRunner

from playhead.cli import app
from playhead.client import AsyncClient
from playhead.errors import BadRequest
from playhead.model import names
from playhead.model.message import Message, text_message
from playhead.model.span import STATUS_ERROR
from playhead.wire.operations.suspects import ComparedSiblings
from playhead_collector.access import FIRST_PROJECT as PROJECT
from playhead_collector.analysis.across.same_task import read_succeeded_runs
from playhead_collector.process import CollectorProcess
from playhead_collector.read.record import stored_record
from playhead_collector.store.ports.projections import UnpackedRun
from playhead_collector.store.ports.scores import ScoreToAdd
from playhead_collector.store.ports.spans import Batch
from playhead_collector.store.postgres import statements
from playhead_collector.store.postgres.runs import id_of
from playhead_collector.store.postgres.store import PostgresStore, connect
from tests.conftest import run as run_now
from tests.integration.read.recorded import START_NS, Recorder, tool_call
from tests.support.many_runs.inserted import FILL

FAILED, OTHER_TASK = "f0" * 16, "0e" * 16
GOOD = [f"{n:02x}" * 16 for n in range(1, 8)]
DAY_NS = 24 * 3600 * 10**9


def trial(run: str, number: int, *, task: str | None = "task:1", given: str = "", fails: bool = False) -> Batch:
    """A run that books seat 1A; one that fails books seat 9F. `given`: its input."""
    recorder = Recorder(run, start_ns=START_NS + number * 10**9)
    recorder.root.attributes[names.RUN_TAGS] = ["beta", *([task] if task else [])]
    if given:
        recorder.root.attributes[names.INPUT_REF] = recorder.keep({"args": [given]})
    seat = "9F" if fails else "1A"
    asked = tool_call("c1", "book_seat", seat=seat)
    messages: list[Message] = [text_message("user", "A seat at the window, please: 1A or 9F")]
    recorder.model(messages, asked)
    recorder.tool("book_seat", {"seat": seat}, "booked")
    result = {"type": "tool_call_response", "id": "c1", "response": "booked"}
    recorder.model([*messages, asked, {"role": "tool", "parts": [result]}], text_message("assistant", "It is booked."))
    if fails:
        recorder.root.status, recorder.root.attributes[names.ERROR_TYPE] = STATUS_ERROR, "NoWindow"
    return recorder.batch()


async def stored(store: PostgresStore, *batches: Batch, **rewards: float) -> None:
    for batch in batches:
        await store.spans.ingest(PROJECT, batch)
    for run, reward in rewards.items():
        await store.scores.add(PROJECT, run.removeprefix("r"), ScoreToAdd("reward", "reward", reward))


def found(siblings: ComparedSiblings, task: str = "tag:task:", outcome: str = "status") -> Sequence[str]:
    """The runs that were found by this task and outcome."""
    assert (siblings["chosen"], siblings["task"], siblings["outcome"]) == ("found", task, outcome)
    return siblings["runs"]


async def test_siblings_are_found_by_the_score_by_which_the_run_failed(store: PostgresStore, client: AsyncClient):
    """All these runs completed; of another task are as many."""
    good, bad, unscored = GOOD[:2], GOOD[2], GOOD[3]
    await stored(
        store,
        trial(FAILED, 5),
        *(trial(run, n) for n, run in enumerate((*good, bad, unscored))),
        trial(OTHER_TASK, 9, task="task:10"),
        **{f"r{run}": 1.0 for run in (*good, OTHER_TASK)},
        **{f"r{FAILED}": 0.0, f"r{bad}": 0.0},
    )
    assert found((await client.suspects(FAILED))["siblings"], outcome="reward>=0.5") == good[::-1]
    assert found((await client.suspects(FAILED, outcome="reward<1"))["siblings"], outcome="reward<1") == [bad]
    by_tag = (await client.suspects(FAILED, task="tag:beta", outcome="reward"))["siblings"]
    assert found(by_tag, "tag:beta", "reward>=0.5") == [OTHER_TASK, *good[::-1]]


async def test_siblings_are_found_by_status_and_show_where_the_run_differs(store: PostgresStore, client: AsyncClient):
    await stored(store, trial(FAILED, 9, fails=True), *(trial(run, n) for n, run in enumerate(GOOD)))
    await stored(store, trial(OTHER_TASK, 20, task="task:2"))
    answer = await client.suspects(FAILED)
    assert found(answer["siblings"]) == GOOD[:1:-1]  # the newest five of seven
    rules = {finding["rule"] for item in answer["items"] for finding in item["findings"]}
    assert "diverged" in rules
    named = await client.suspects(FAILED, siblings=[OTHER_TASK])
    assert named["siblings"] == {
        "chosen": "named", "runs": [OTHER_TASK], "task": None, "outcome": None, "more": False,
    }  # fmt: skip
    off = await client.suspects(FAILED, find_siblings=False)
    assert (off["siblings"]["chosen"], off["siblings"]["runs"]) == ("off", [])
    assert "diverged" not in {finding["rule"] for item in off["items"] for finding in item["findings"]}


@pytest.mark.parametrize("packed", [False, True])
async def test_without_a_tag_the_input_is_the_task(store: PostgresStore, client: AsyncClient, packed: bool):
    given = "A seat, please"
    runs = [*GOOD[:3], FAILED, OTHER_TASK]
    await stored(
        store,
        trial(FAILED, 9, task=None, given=given, fails=True),
        *(trial(run, n, task=f"task:{n}" if n else None, given=given) for n, run in enumerate(GOOD[:2])),
        trial(GOOD[2], 3, task=None, given=given, fails=True),
        trial(OTHER_TASK, 9, task=None, given="A table, please"),
    )
    for run in runs:
        await client.run(run)
    if packed:
        assert await store.projections.pack([UnpackedRun(PROJECT, run, 1) for run in runs]) > 0
    assert found((await client.suspects(FAILED))["siblings"], "input") == GOOD[1::-1]
    assert found((await client.suspects(OTHER_TASK))["siblings"], "input") == []


async def test_none_are_found_where_there_are_none(store: PostgresStore, client: AsyncClient):
    await stored(
        store,
        trial(FAILED, 9, fails=True),
        trial(GOOD[0], 1, fails=True),
        trial(GOOD[1], 1, task="task:2"),
        trial(GOOD[2], -91 * 24 * 3600),  # a quarter of a year ago
        trial(OTHER_TASK, 3, task=None, fails=True),
    )
    for run in (FAILED, *GOOD[:3], OTHER_TASK):
        await client.run(run)
    assert found((await client.suspects(FAILED))["siblings"]) == []
    nothing = (await client.suspects(OTHER_TASK))["siblings"]
    assert (nothing["chosen"], nothing["task"], nothing["runs"]) == ("found", None, [])
    with pytest.raises(BadRequest):
        await client.suspects(FAILED, task="name")
    with pytest.raises(BadRequest):
        await client.suspects(FAILED, outcome=" =1")


async def test_siblings_are_looked_up_in_indexes_and_among_so_many_runs(store: PostgresStore, database_url: str):
    connection = await asyncpg.connect(database_url, server_settings={"plan_cache_mode": "force_custom_plan"})
    try:
        await connection.execute(FILL)
        await connection.execute(
            "update run set labels = labels || array['tag:task:' || (started_ns / 1000000000 % 50)]; analyze"
        )
        runs = [id_of(each["run_id"].hex) for each in await connection.fetch("select run_id from run limit 100")]
        bounds = {"since": START_NS - 90 * DAY_NS, "until": START_NS + 90 * DAY_NS, "search": "", "id_part": ""}
        of_task = {"labels": ["tag:task:7"], "score_name": "resolved", "how_many": 101, **bounds}
        of_input = {"runs": runs, "score_name": "resolved"}
        for name, parameters in (("run_facts", of_task), ("facts_of_runs", of_input)):
            asked = {"project_id": PROJECT, **parameters}
            text, arguments = await statements._prepared(connection, name, asked)
            plan = "\n".join(row[0] for row in await connection.fetch(f"explain {text}", *arguments))
            assert "Seq Scan" not in plan, plan
        (newest,) = await connection.fetch("select run_id from run order by started_ns desc offset 2 limit 1")
        answer = await read_succeeded_runs(await stored_record(store, PROJECT, newest["run_id"].hex))
        assert (answer.outcome, answer.more, len(answer.runs)) == ("resolved>=0.5", True, 5)  # of 200 runs of the task
        times = [each.row.started_ns for each in answer.runs]
        assert times == sorted(times, reverse=True)
    finally:
        await connection.close()


def test_the_command_names_the_siblings(database_url: str, monkeypatch: pytest.MonkeyPatch):
    async def fill() -> None:
        store = await connect(database_url, pool_size=2)
        await stored(store, trial(FAILED, 9), trial(GOOD[0], 1), **{f"r{FAILED}": 0.0, f"r{GOOD[0]}": 1.0})
        await store.close()

    with CollectorProcess(database_url=database_url) as collector:
        run_now(fill())
        monkeypatch.setenv("PLAYHEAD_COLLECTOR_URL", collector.url)
        shown = CliRunner().invoke(app, ["suspects", FAILED])
        assert f"{GOOD[0]} (same tag:task:, succeeded by reward>=0.5)" in shown.stdout, shown.output
        shown = CliRunner().invoke(app, ["suspects", FAILED, "--no-find-siblings"])
        assert "none were looked for" in shown.stdout, shown.output
        shown = CliRunner().invoke(app, ["suspects", FAILED, "--task", "input"])
        assert "none: the run has no" in shown.stdout, shown.output
        assert "Traceback" not in collector.log()

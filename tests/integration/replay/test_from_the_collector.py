"""The journal is gone, and the collector has the run: it is resumed and forked from there."""

import asyncio
import contextlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openai
import pytest
from typer.testing import CliRunner

import playhead
from playhead import observe
from playhead.cli import app
from playhead.errors import NoRecord
from playhead.recording import current_settings
from playhead.testing import MockModelServer, text
from playhead_collector.process import CollectorProcess
from playhead_collector.store.ports.tiers import Move, Tier
from playhead_collector.store.postgres.store import connect
from tests.support.removed_folder import remove_folder

executed: list[int] = []


@observe(kind="tool")
def work(number: int) -> tuple[str, int]:
    executed.append(number)
    return "worked", number


@observe
def agent(client: openai.OpenAI) -> list[Any]:
    asked: Any = [{"role": "user", "content": "go"}]
    said = client.chat.completions.create(model="m", messages=asked).choices[0].message.content
    return [said, work(1), work(2)]


@pytest.fixture
def recorded(database_url: str, tmp_path: Path) -> Iterator[tuple[str, openai.OpenAI, MockModelServer, str]]:
    with CollectorProcess(database_url=database_url) as collector, MockModelServer() as server:
        server.otherwise(text("fine"))
        playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "here")
        playhead.instrument("openai")
        with openai.OpenAI(base_url=server.base_url, api_key="none") as client:
            with playhead.run("p") as run:
                agent(client)
            assert playhead.flush(60)
            playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "elsewhere")
            remove_folder(tmp_path / "here")
            executed.clear()
            assert run.id is not None
            yield run.id, client, server, collector.url
        playhead.uninstrument("openai")
        playhead.shutdown()


def test_a_run_goes_on_from_what_the_collector_has(recorded: tuple[str, openai.OpenAI, MockModelServer, str]) -> None:
    run_id, client, server, url = recorded
    with playhead.resume(run_id) as resumed, playhead.run("p"):
        assert agent(client) == ["fine", ("worked", 1), ("worked", 2)]
    assert (resumed.report.answered, resumed.report.live) == (3, 0)
    assert len(server.requests) == 1
    assert executed == []
    with playhead.Client(url) as asking:
        events: list[Any] = list(asking.events(run_id))
    begun = [event for event in events if "tool" in event["kind"]]
    with playhead.fork(run_id, at=begun[0]["seq"], outcome={"result": "other"}) as forked, playhead.run("p"):
        assert agent(client)[1] == "other"
    assert (forked.report.answered, forked.report.live) == (1, 1)


@pytest.mark.parametrize("tier", [Tier.COLD, Tier.ARCHIVE])
def test_a_thinned_run_is_neither_resumed_nor_forked(
    recorded: tuple[str, openai.OpenAI, MockModelServer, str], database_url: str, tier: Tier
) -> None:
    run_id, _, _, url = recorded
    with playhead.Client(url) as asking:
        asking.run(run_id)  # projects it

    async def thin() -> None:
        store = await connect(database_url, pool_size=1)
        assert await store.tiers.move(1, [run_id], tier, lambda _: Move(tier, "old ones"))
        await store.close()

    asyncio.run(thin())
    sentence = "was thinned on 20.* by retention rule 'old ones' .* neither resumed nor forked"
    with pytest.raises(NoRecord, match=sentence), playhead.resume(run_id):
        pass
    with pytest.raises(NoRecord, match=sentence), playhead.fork(run_id, at=3):
        pass


def test_an_array_is_given_back_from_what_the_collector_has(database_url: str, tmp_path: Path) -> None:
    np: Any = pytest.importorskip("numpy")
    made: list[int] = []

    @observe(kind="tool")
    def draw(seed: int) -> dict[str, Any]:
        made.append(seed)
        return {"picture": np.random.default_rng(seed).integers(0, 255, (224, 224, 3), dtype=np.uint8), "seed": seed}

    with CollectorProcess(database_url=database_url) as collector:
        playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "here")
        with contextlib.suppress(RuntimeError), playhead.run("p") as run:
            first = draw(5)
            raise RuntimeError
        assert playhead.flush(60)
        assert run.id is not None
        playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "elsewhere")
        remove_folder(tmp_path / "here")
        with playhead.resume(run.id), playhead.run("p"):
            again = draw(5)
        playhead.shutdown()
    assert made == [5]
    assert again["picture"].dtype == np.uint8
    assert np.array_equal(again["picture"], first["picture"])


ALIKE: list[Any] = [
    '{"price":5}', {"price": 5}, "5", 5, 5.0, "null", None, '"a"', "a", b"a", b"5", "[1]", [1], (1,), "", b"", b"\xff",
    '{"$playhead":"too large"}', {"$playhead": "too large"}, True, "\ud800",
]  # fmt: skip


def test_values_that_look_alike_come_back_from_the_collector_as_what_they_were(
    database_url: str, tmp_path: Path
) -> None:
    made: list[int] = []

    @observe(kind="tool")
    def give(number: int) -> Any:
        made.append(number)
        return ALIKE[number]

    with CollectorProcess(database_url=database_url) as collector:
        playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "here")
        with contextlib.suppress(RuntimeError), playhead.run("p") as run:
            for number in range(len(ALIKE)):
                give(number)
            raise RuntimeError
        assert playhead.flush(60)
        assert run.id is not None
        playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "elsewhere")
        remove_folder(tmp_path / "here")
        with playhead.resume(run.id), playhead.run("p"):
            again = [give(number) for number in range(len(ALIKE))]
        playhead.shutdown()
    assert made == [*range(len(ALIKE))]
    assert [(type(value), value) for value in again] == [(type(value), value) for value in ALIKE]


SAYING = """
import os, signal
import playhead
from playhead import observe

@observe(kind="tool", idempotent=True)
def work(number):
    playhead.annotate(decision=number, reason="as it was asked for")
    if os.environ.get("DIE_AT") == str(number):
        playhead.flush(30 if os.environ["DELIVERS"] else 0)
        os.kill(os.getpid(), signal.SIGKILL)
    return number

@observe
def agent():
    run.state["at"] = "first"
    playhead.checkpoint({"done": work(1)}, name="one")
    run.state["at"] = "second"
    playhead.handoff("closer", reason="nearly done")
    run.state["at"] = work(2)

with playhead.run("saying") as run:
    print(run.id, flush=True)
    agent()
"""


def resumed_events(folder: Path, url: str, *, from_the_collector: bool, delivers: bool = True) -> list[Any]:
    """What a run comes to that says much, is killed, and is resumed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OTEL_EXPORTER_OTLP_ENDPOINT": url}
    kept |= {"PLAYHEAD_LINGER_SECONDS": "60", "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "60"}
    kept |= {"DELIVERS": "yes" if delivers else ""}

    def program(**environ: str) -> tuple[int, str]:
        command = [sys.executable, "-c", SAYING]
        done = subprocess.run(command, env=kept | environ, capture_output=True, text=True, timeout=300, check=False)
        return done.returncode, done.stdout.strip() or done.stderr

    code, run_id = program(PLAYHEAD_JOURNAL_DIR=str(folder / "first"), DIE_AT="2")
    assert code == -9, run_id
    journal = folder / ("second" if from_the_collector else "first")
    # From another journal, the run would be taken for one that is still alive elsewhere.
    code, said = program(PLAYHEAD_JOURNAL_DIR=str(journal), PLAYHEAD_RESUME=run_id, PLAYHEAD_LEASE_SECONDS="0")
    assert (code, said) == (0, run_id)
    with playhead.Client(url) as asking:
        events: list[Any] = list(asking.events(run_id))
    return events


def told(event: Any) -> Any:
    data = {name: value for name, value in event["data"].items() if name not in {"elapsed_ms", "parent"}}
    return event["kind"], event["actor"], data, event["refs"]


def test_what_a_run_has_said_is_not_said_again_wherever_its_record_comes_from(
    database_url: str, tmp_path: Path
) -> None:
    with CollectorProcess(database_url=database_url) as collector:
        here = resumed_events(tmp_path / "a", collector.url, from_the_collector=False)
        # What the killed process did not deliver, the one that resumes its run does, however short it lives.
        left = resumed_events(tmp_path / "c", collector.url, from_the_collector=False, delivers=False)
        elsewhere = resumed_events(tmp_path / "b", collector.url, from_the_collector=True)
    assert [told(event) for event in elsewhere] == [told(event) for event in here]
    assert [told(event) for event in left] == [told(event) for event in here]
    kinds = Counter(event["kind"] for event in elsewhere)
    assert kinds["state_changed"] == 3
    assert (kinds["checkpoint_created"], kinds["agent_handoff"], kinds["run_resumed"]) == (1, 1, 1)
    # The second step had said something, and was cut off: it is executed again, as the same call.
    assert (kinds["orchestration_decision"], kinds["tool_completed"]) == (2, 2)


def test_a_run_and_the_one_that_continues_it_name_each_other_everywhere(
    recorded: tuple[str, openai.OpenAI, MockModelServer, str],
) -> None:
    run_id, _, _, url = recorded
    with playhead.run("next", continues=run_id) as run:
        assert run.history[-1] == {"role": "assistant", "content": "fine"}
    assert playhead.flush(60)
    next_id = str(run.id)
    with playhead.Client(url) as client:
        before, after = client.run(run_id), client.run(next_id)
    assert (before["continues"], before["continued_by"]) == (None, [next_id])
    assert (after["continues"], after["continued_by"]) == (run_id, [])
    assert after["links"]["continues"] == f"/api/v1/runs/{run_id}"
    for told, by, other in (("continued_by", run_id, next_id), ("continues", next_id, run_id)):
        shown = CliRunner().invoke(app, ["--url", url, "show", by]).stdout.splitlines()
        assert dict(line.split("\t", 1) for line in shown)[told] == other


def test_a_checkpoint_is_listed_and_given_back_from_the_collector(
    recorded: tuple[str, openai.OpenAI, MockModelServer, str],
) -> None:
    _, _, _, url = recorded

    def program(*, fails: bool) -> Any:
        with playhead.run("points") as run:
            if run.checkpoint is None:
                playhead.checkpoint(("worked", work(1)), name="one")
                playhead.checkpoint(("worked", work(2)), name="two")
                run_ids.append(run.id)
            if fails:
                raise ConnectionError
            assert run.checkpoint is not None
            return run.checkpoint.state

    run_ids: list[Any] = []
    with pytest.raises(ConnectionError):
        program(fails=True)
    assert playhead.flush(60)
    with playhead.Client(url) as client:
        found = list(client.checkpoints(run_ids[0], preview=100))
    assert [(each["name"], each.get("preview")) for each in found] == [
        ("one", '["worked",["worked",1]]'),
        ("two", '["worked",["worked",2]]'),
    ]
    listed = CliRunner().invoke(app, ["--url", url, "checkpoints", run_ids[0]])
    assert [line.split()[2] for line in listed.stdout.splitlines()[1:]] == ["one", "two"]
    remove_folder(current_settings().journal_dir)
    executed.clear()
    with playhead.resume(run_ids[0]) as resumed:
        assert program(fails=False) == ("worked", ("worked", 2))
    assert (executed, resumed.report.divergences) == ([], [])


def test_what_a_cut_file_of_the_journal_has_lost_comes_from_the_collector(database_url: str, tmp_path: Path):
    def unlucky() -> None:
        raise ConnectionError

    def program(*, fails: bool) -> list[Any]:
        with playhead.run("p") as run:
            run_ids.append(run.id)
            done = [work(number) for number in range(10)]
            if fails:
                unlucky()
            return done

    run_ids: list[Any] = []
    with CollectorProcess(database_url=database_url) as collector:
        playhead.configure(endpoint=collector.url, journal_dir=tmp_path)
        try:
            with pytest.raises(ConnectionError):
                program(fails=True)
            assert playhead.shutdown(60)
            [segment] = tmp_path.glob("*/*.segment")
            os.truncate(segment, segment.stat().st_size // 2)
            executed.clear()
            playhead.configure(endpoint=collector.url, journal_dir=tmp_path)
            with playhead.resume(run_ids[0]) as resumed:
                assert program(fails=False) == [("worked", number) for number in range(10)]
            assert (executed, resumed.report.divergences) == ([], [])
        finally:
            playhead.shutdown()

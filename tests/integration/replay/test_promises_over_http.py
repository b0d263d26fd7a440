"""What a run waits for is kept by the collector: answered there, once, by its clock, by the API and the commands."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

import playhead
from playhead.api.promises import pending
from playhead.api.promises.stopping import poll_interrupts
from playhead.api.promises.store import promise_store
from playhead.api.promises.waiting import answer_of
from playhead.cli import app
from playhead.client import promises
from playhead.errors import Conflict
from playhead.journal.promises import PromiseFiles
from playhead.model.promises import approval_id, event_id
from playhead.wire.operations.promises import Promise
from playhead_collector.process import CollectorProcess
from tests.support.programs.examples import ROOT, run_example
from tests.support.waiting_desks import PydanticAIDesk

PROGRAM = """
import os, sys
import playhead
from playhead import observe

@observe(kind="tool")
def delete(path):
    os.remove(path)
    return path

with playhead.run("clean") as run:
    playhead.approval("delete files", details=sys.argv[1:], risk="high", suspend=True)
    print([delete(path) for path in sys.argv[1:]])
"""


@pytest.fixture(scope="module")
def collector(module_database_url: str) -> Iterator[CollectorProcess]:
    with CollectorProcess(database_url=module_database_url) as running:
        yield running


@pytest.fixture
def folder(tmp_path: Path, collector: CollectorProcess) -> Iterator[Path]:
    playhead.configure(endpoint=collector.url, journal_dir=tmp_path / "j")
    yield tmp_path
    playhead.shutdown()


def command(collector: CollectorProcess, folder: Path, *arguments: str) -> tuple[int, str]:
    env = {"PLAYHEAD_JOURNAL_DIR": str(folder / "j")}
    done = CliRunner().invoke(app, ["--url", collector.url, *arguments], env=env)
    return done.exit_code, done.output


def test_an_agent_waits_in_no_process_and_goes_on_when_it_was_approved(collector: CollectorProcess, folder: Path):
    victim = folder / "old.txt"
    victim.write_text("x")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(folder / "j")}
    kept |= {"PLAYHEAD_ENDPOINT": collector.url, "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "60"}
    (folder / "agent.py").write_text(PROGRAM)

    def agent(**environ: str) -> subprocess.CompletedProcess[str]:
        program = [sys.executable, str(folder / "agent.py"), str(victim)]
        return subprocess.run(program, env=kept | environ, capture_output=True, text=True, timeout=300, check=False)

    assert (agent().returncode, victim.exists()) == (75, True)
    with playhead.Client(collector.url) as client:  # other tests have left theirs
        [promise] = [each for each in client.promises(kind="approval") if each["details"] == [str(victim)]]
    assert (promise["action"], promise["risk"]) == ("delete files", "high")
    run = promise["run"] or ""
    assert (agent(PLAYHEAD_RESUME=run).returncode, victim.exists()) == (75, True)
    assert "delete files" in command(collector, folder, "promises")[1]
    assert command(collector, folder, "approve", promise["id"][:8], "--by", "eve") == (
        0,
        f"approved: {promise['id']}\n",
    )
    code, said = command(collector, folder, "deny", promise["id"], "--by", "mallory")
    assert (code, "eve has approved it already" in said) == (2, True)
    done = agent(PLAYHEAD_RESUME=run)
    assert (done.returncode, victim.exists()) == (0, False), done.stderr
    with playhead.Client(collector.url) as client:
        kinds = [event["kind"] for event in client.events(run)]
    assert [kind for kind in kinds if "approval" in kind] == ["approval_requested", "approval_granted"]
    assert kinds[-1] == "run_completed"


def test_a_waiting_program_hears_the_answer_and_times_are_the_databases(collector: CollectorProcess, folder: Path):
    seen: list[Any] = []

    def remind(promise: Any) -> None:
        with playhead.Client(collector.url) as client:
            seen.append(client.answer_promise(promise["id"], "answered", value={"branch": "main"}, by="eve"))
            with pytest.raises(Conflict, match="eve has answered it already"):
                client.answer_promise(promise["id"], "answered", value=2)

    with playhead.run("release"):
        assert playhead.ask("Which branch?", timeout=60, remind_after=0, on_reminder=remind) == {"branch": "main"}
    assert seen[0]["answer"]["time"] >= seen[0]["created"]


def test_what_nobody_waits_for_any_more_cannot_be_answered(collector: CollectorProcess, folder: Path):
    with pytest.raises(playhead.Unanswered), playhead.run("release"):
        playhead.approval("release it", timeout=0.01)
    with playhead.Client(collector.url) as client:
        [promise] = [each for each in client.promises(state="answered") if each["action"] == "release it"]
        assert promise["answer"] is not None
        assert promise["answer"]["outcome"] == "expired"
        with pytest.raises(Conflict, match="nobody waits"):
            client.answer_promise(promise["id"], "approved")


def test_an_event_and_an_approval_may_be_answered_before_they_are_waited_for(collector: CollectorProcess, folder: Path):
    assert command(collector, folder, "answer", "payment", '{"paid": 5}', "--key", "order-9")[0] == 0
    assert command(collector, folder, "approve", "--key", "nightly", "--action", "clean up")[0] == 0
    with playhead.run("shop"):
        assert playhead.wait_for("payment", key="order-9", timeout=30) == {"paid": 5}
        assert playhead.approval("clean up", key="nightly", timeout=30)["outcome"] == "approved"


def test_an_answer_given_ahead_counts_also_when_the_program_has_just_begun_to_wait(
    collector: CollectorProcess, folder: Path
):
    assert command(collector, folder, "answer", "payment", '{"paid": 5}', "--key", "order-10")[0] == 0
    opened = {"id": event_id("payment", "order-10"), "kind": "event", "run": None, "key": "order-10", "name": "payment"}
    opened |= {"action": None, "risk": None, "details": None, "schema": None, "deadline": None, "answer": None}
    # As the program does first: it is in the folder, and the collector is about to be told.
    PromiseFiles(folder / "j", 3600).open(cast("Promise", {**opened, "created": "2026-01-01T00:00:00Z"}))
    assert command(collector, folder, "answer", "payment", '{"paid": 6}', "--key", "order-10")[0] != 0
    with playhead.run("shop"):
        assert playhead.wait_for("payment", key="order-10", timeout=30) == {"paid": 5}


def test_a_promise_has_one_place_where_it_is_answered(collector: CollectorProcess, folder: Path):
    with pytest.raises(playhead.Suspended), playhead.run("clean"):
        playhead.approval("delete all", key="place", suspend=True)
    files = PromiseFiles(folder / "j", 3600)
    promise = approval_id("place", "delete all")
    assert files.is_at_collector(promise)
    assert files.answer(promise, answer_of("approved")) is None
    assert command(collector, folder, "approve", promise, "--local")[0] != 0


def test_python_answers_what_the_collector_has_or_is_about_to_get(collector: CollectorProcess, folder: Path):
    for _ in range(2):
        with pytest.raises(playhead.Suspended), playhead.run("clean"):
            playhead.approval("delete files", suspend=True)
    first, second = (each for each in playhead.open_promises() if each["action"] == "delete files")
    assert (playhead.approve(first, by="eve")["answer"] or {})["outcome"] == "approved"
    with pytest.raises(Conflict, match="eve has approved it already"):
        playhead.deny(first["id"])
    # The folder says that the collector has it, which the collector is told a moment later.
    files = PromiseFiles(folder / "j", 3600)
    told = {**second, "id": "ab" * 16}
    files.open(cast("Promise", told))
    assert files.give_to_collector(told["id"])
    assert (playhead.deny(told["id"], by="eve")["answer"] or {})["outcome"] == "denied"
    with playhead.Client(collector.url) as client:
        client.answer_promise(second["id"], "approved")


def test_a_run_is_interrupted_through_the_collector(
    collector: CollectorProcess, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(promise_store(), "_next_interrupts", 0.0)
    monkeypatch.setattr(promises, "INTERRUPTS_SECONDS", 0)

    def agent() -> None:
        with playhead.run("agent") as run:
            playhead.flush(60)
            runs.append(run.id or "")
            asked = command(collector, folder, "interrupt", runs[0], "--reason", "too dear", "--by", "eve")
            assert asked == (0, f"asked to stop at its next call: {run.id}\n")
            poll_interrupts()
            playhead.observe(kind="tool")(print)("never")

    runs: list[str] = []
    with pytest.raises(playhead.Interrupted, match="eve asked run .* too dear"):
        agent()


def test_a_run_that_has_ended_is_not_interrupted(collector: CollectorProcess, folder: Path):
    with playhead.run("agent") as run:
        pass
    playhead.flush(60)
    code, said = command(collector, folder, "interrupt", (run.id or "")[-12:])
    assert code == 2
    assert f"run {run.id} has ended (completed)" in said


def test_the_example_asks_the_collector_that_runs_beside_it(collector: CollectorProcess, folder: Path):
    with pytest.raises(playhead.Suspended), playhead.run("other"):
        playhead.approval("delete 7 files", suspend=True)
    done = run_example(ROOT / "examples" / "approval.py", folder / "j", PLAYHEAD_ENDPOINT=collector.url)
    assert done.code == 0, done.errors
    assert "the files are gone: True" in done.out
    with playhead.Client(collector.url) as client:
        [answered] = [each for each in client.promises(state="answered") if each["action"] == "delete 2 files"]
    assert (answered["answer"] or {})["by"] == "eve"


@pytest.fixture
def desk(folder: Path) -> Iterator[Any]:
    """An agent of a framework that waits, recorded by itself."""
    playhead.instrument("pydantic_ai")
    yield PydanticAIDesk()
    playhead.uninstrument()


@pytest.mark.slow
def test_what_a_framework_waits_for_is_answered_at_the_collector(collector: CollectorProcess, desk: Any):
    waiting = desk.ask("old.txt")
    playhead.flush(60)
    with playhead.Client(collector.url) as client:
        [promise] = [each for each in client.promises(kind="approval") if each["name"] == "delete"]
        assert (promise["action"], promise["details"]) == ("run delete", {"path": "old.txt"})
        client.answer_promise(promise["id"], "denied", by="eve", reason="not that one")
        go_on = playhead.answers(waiting, timeout=30)
        assert go_on.approvals["c0"].message == "not that one"
        desk.go_on(go_on)
        playhead.flush(60)
        run = next(run["run"] for run in client.runs(limit=1))
        [told] = [event for event in client.events(run) if event["kind"] == "approval_denied"]
        assert (told["data"]["by"], told["data"]["waited_ms"] > 0) == ("eve", True)
    assert desk.deleted == []


@pytest.mark.slow
def test_what_a_program_decides_itself_is_told_to_the_collector(collector: CollectorProcess, desk: Any):
    waiting = desk.ask("new.txt")
    playhead.flush(60)
    with playhead.Client(collector.url) as client:
        [promise] = [each for each in client.promises(kind="approval") if each["name"] == "delete"]
        desk.go_on(desk.decide(waiting, is_approved=True))
        playhead.flush(60)
        given = client.promise(promise["id"])["answer"]
        assert given is not None
        assert (given["outcome"], given["by"]) == ("approved", "the program")
        with pytest.raises(Conflict, match="the program has approved it already"):
            client.answer_promise(promise["id"], "denied", by="late")


@pytest.mark.slow
def test_a_folder_without_the_promise_asks_the_collector(
    collector: CollectorProcess, desk: Any, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    kept = desk.keep(desk.ask("far.txt"))
    playhead.configure(endpoint=collector.url, journal_dir=folder / "another machine")
    monkeypatch.setattr(pending, "_opened", type(pending._opened)())
    far = PydanticAIDesk()
    with playhead.Client(collector.url) as client:
        [promise] = [each for each in client.promises(kind="approval") if each["name"] == "delete"]
        client.answer_promise(promise["id"], "approved", by="eve")
    far.go_on(playhead.answers(far.kept(kept), timeout=30))
    assert far.deleted == ["far.txt"]

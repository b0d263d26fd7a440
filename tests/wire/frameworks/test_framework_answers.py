"""Waits of LangGraph, OpenAI Agents and pydantic-ai are promises by themselves: listed, answered once by the usual
commands, and given back to the framework by `playhead.answers`, in this process or a later one."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import playhead
from playhead import Suspended, Unanswered
from playhead.api.promises import pending
from playhead.api.promises.waiting import answer_of
from playhead.cli import app
from playhead.journal.promises import PromiseFiles
from playhead.model import event as ev
from playhead.wire.operations.promises import Promise
from tests.support.journal_reader import Recording, start_recording
from tests.support.projected import projected
from tests.support.waiting_desks import DESKS, Desk, instrument

pytestmark = pytest.mark.slow
ASKED = ev.ApprovalRequested | ev.InputRequested
ANSWERED = ev.ApprovalGranted | ev.ApprovalDenied | ev.InputReceived
PROGRAM = Path(__file__).with_name("framework_waits.py")


@pytest.fixture
def recording(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Recording]:
    for recording in start_recording(tmp_path / "journal", monkeypatch):
        recording.configure(endpoint="http://127.0.0.1:9")  # nothing is at the discard port
        instrument()
        yield recording
        playhead.uninstrument()


@pytest.fixture
def files(recording: Recording) -> PromiseFiles:
    return PromiseFiles(recording.folder, 3600)


@pytest.fixture(params=DESKS, ids=[desk.framework for desk in DESKS])
def desk(request: pytest.FixtureRequest, recording: Recording) -> Desk:
    return request.param()


@pytest.fixture
def later_process(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Desk]:
    """Forgets what a process remembers, and begins with another desk."""

    def begin() -> Desk:
        monkeypatch.setattr(pending, "_opened", type(pending._opened)())
        return type(desk)()

    return begin


def command(folder: Path, *arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["--local", *arguments], env={"PLAYHEAD_JOURNAL_DIR": str(folder)})
    return done.exit_code, " ".join(done.output.split())


def answer(folder: Path, promise: Promise, *, is_approved: bool) -> tuple[int, str]:
    """A person answers by a command."""
    if promise["kind"] == "input":
        return command(folder, "answer", promise["id"], str(is_approved).lower(), "--by", "eve")
    return command(folder, "approve" if is_approved else "deny", promise["id"], "--by", "eve")


def events_of(recording: Recording, promise: Promise, kinds: Any) -> list[Any]:
    seen = recording.read()
    runs = dict.fromkeys(str(span.attributes["playhead.run.id"]) for span in seen.spans)
    events = [event for run in runs for event in projected(seen, run).events if isinstance(event, kinds)]
    return [event for event in events if promise["id"] in (getattr(event, "approval", None), getattr(event, "wait", 0))]


def test_what_a_framework_waits_for_is_a_promise_by_itself(recording: Recording, files: PromiseFiles, desk: Desk):
    desk.ask("a.txt")
    [promise] = files.all()
    assert (promise["kind"], promise["details"], promise["answer"]) == (desk.kind, {"path": "a.txt"}, None)
    [asked] = events_of(recording, promise, ASKED)
    assert promise["run"] == asked.run
    assert promise["id"][:8] in command(recording.folder, "promises")[1]


@pytest.mark.parametrize("is_approved", [True, False], ids=["granted", "denied"])
def test_it_goes_on_as_a_person_has_decided_once(
    recording: Recording, files: PromiseFiles, desk: Desk, is_approved: bool
):
    waiting = desk.ask("a.txt")
    [promise] = files.all()
    assert answer(recording.folder, promise, is_approved=is_approved)[0] == 0
    code, output = answer(recording.folder, promise, is_approved=not is_approved)
    assert (code, "eve has answered" in output) == (2, True), output
    done = desk.go_on(playhead.answers(waiting, timeout=60))
    assert desk.deleted == (["a.txt"] if is_approved else [])
    assert playhead.answers(done) is None
    [told] = events_of(recording, promise, ANSWERED)
    assert (told.by, told.waited_ms > 0) == ("eve", True)
    assert isinstance(told, ev.InputReceived) or isinstance(told, ev.ApprovalGranted) == is_approved
    assert len(files.all()) == 1


@pytest.mark.parametrize("is_approved", [True, False], ids=["granted", "denied"])
def test_what_the_program_decides_itself_answers_the_promise(
    recording: Recording, files: PromiseFiles, desk: Desk, is_approved: bool
):
    desk.go_on(desk.decide(desk.ask("a.txt"), is_approved=is_approved))
    [promise] = files.all()
    given = promise["answer"]
    assert given is not None
    expected = "answered" if desk.kind == "input" else "approved" if is_approved else "denied"
    assert (given["outcome"], given["by"]) == (expected, "the program")
    assert given["value"] == (is_approved if desk.kind == "input" else None)
    assert "the program has answered" in answer(recording.folder, promise, is_approved=True)[1]
    [told] = events_of(recording, promise, ANSWERED)
    assert (told.by, told.waited_ms > 0) == ("the program", True)


def test_nobody_answers_in_time_and_it_is_asked_again(recording: Recording, files: PromiseFiles, desk: Desk):
    waiting = desk.ask("a.txt")
    with pytest.raises(Unanswered, match=r"within 0\.01 seconds"):
        playhead.answers(waiting, timeout=0.01)
    [late] = files.all()
    assert "expired" in answer(recording.folder, late, is_approved=True)[1]
    with pytest.raises(Suspended):
        playhead.answers(waiting, suspend=True)
    [again] = [promise for promise in files.all() if promise["answer"] is None]
    answer(recording.folder, again, is_approved=True)
    desk.go_on(playhead.answers(waiting, timeout=60))
    assert desk.deleted == ["a.txt"]


def test_two_that_wait_at_once_have_each_their_own_answer(recording: Recording, files: PromiseFiles, desk: Desk):
    waiting = desk.ask("a.txt", "b.txt")
    first, second = sorted(files.all(), key=lambda promise: promise["details"]["path"])
    answer(recording.folder, second, is_approved=True)
    with pytest.raises(Suspended):
        playhead.answers(waiting, suspend=True)
    answer(recording.folder, first, is_approved=False)
    desk.go_on(playhead.answers(waiting))
    assert desk.deleted == ["b.txt"]
    assert len(files.all()) == 2
    assert [len(events_of(recording, promise, ANSWERED)) for promise in (first, second)] == [1, 1]


def test_a_later_process_finds_the_answer(
    recording: Recording, files: PromiseFiles, desk: Desk, later_process: Callable[[], Desk]
):
    kept = desk.keep(desk.ask("a.txt"))
    second = later_process()
    with pytest.raises(Suspended):
        playhead.answers(second.kept(kept), suspend=True)
    [promise] = files.all()  # it is the same
    answer(recording.folder, promise, is_approved=True)
    third = later_process()
    third.go_on(playhead.answers(third.kept(kept), suspend=True))
    assert third.deleted == ["a.txt"]
    [told] = events_of(recording, promise, ANSWERED)
    assert (told.by, told.waited_ms > 0) == ("eve", True)


def test_it_was_answered_before_the_program_asked_again(
    recording: Recording, files: PromiseFiles, desk: Desk, later_process: Callable[[], Desk]
):
    kept = desk.keep(desk.ask("a.txt"))
    answer(recording.folder, files.all()[0], is_approved=True)
    for _ in range(2):  # and each that waits for it has it
        later = later_process()
        later.go_on(playhead.answers(later.kept(kept)))
        assert later.deleted == ["a.txt"]
    assert len(files.all()) == 1


def test_another_conversation_is_asked_for_itself(recording: Recording, files: PromiseFiles, desk: Desk):
    desk.ask("a.txt")
    answer(recording.folder, files.all()[0], is_approved=True)
    waiting = type(desk)().ask("a.txt")
    with pytest.raises(Suspended):
        playhead.answers(waiting, suspend=True)
    assert sorted(promise["answer"] is None for promise in files.all()) == [False, True]


def test_a_run_that_was_suspended_is_resumed_and_a_fork_asks_for_itself(
    recording: Recording, files: PromiseFiles, desk: Desk, later_process: Callable[[], Desk]
):
    def program(desk: Desk) -> list[str]:
        with playhead.run("r") as run:
            runs.append(str(run.id))
            waiting = desk.ask("a.txt")
            desk.go_on(playhead.answers(waiting, suspend=True))
        return desk.deleted

    runs: list[str] = []
    with pytest.raises(Suspended):
        program(desk)
    [promise] = files.all()
    recording.read()
    answer(recording.folder, promise, is_approved=True)
    with playhead.resume(runs[0]):
        assert program(later_process()) == ["a.txt"]
    assert len(files.all()) == 1
    [asked], [told] = (events_of(recording, promise, kinds) for kinds in (ASKED, ANSWERED))
    assert (asked.run, told.run, told.by) == (runs[0], runs[0], "eve")
    with playhead.fork(runs[0], at=told.id), pytest.raises(Suspended):
        program(later_process())
    assert sorted(promise["answer"] is None for promise in files.all()) == [False, True]


def test_the_same_while_other_tasks_go_on(recording: Recording, files: PromiseFiles, desk: Desk):
    waiting, turns = desk.ask("a.txt"), []

    async def other() -> None:
        while not turns:
            await asyncio.sleep(0)
        answer(recording.folder, files.all()[0], is_approved=True)

    async def both() -> Any:
        task = asyncio.create_task(playhead.answers_async(waiting, timeout=60))
        turns.append(1)
        await other()
        return await task

    desk.go_on(asyncio.run(both()))
    assert desk.deleted == ["a.txt"]


def test_what_waits_for_nothing_has_no_answers():
    for nothing in (None, "done", {"said": 1}, [], ("a",), 7):
        assert playhead.answers(nothing) is None


def test_a_process_asks_another_one_goes_on(tmp_path: Path):
    """All three frameworks in one program, started twice."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("OTEL_", "PLAYHEAD_"))}
    kept |= {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "PLAYHEAD_JOURNAL_DIR": str(tmp_path / "j")}
    kept |= {"PLAYHEAD_ENDPOINT": "http://127.0.0.1:9"}

    def program() -> subprocess.CompletedProcess[str]:
        command = [sys.executable, str(PROGRAM), str(tmp_path)]
        return subprocess.run(command, env=kept, capture_output=True, text=True, timeout=300, check=False)

    first = program()
    assert first.returncode == 75, first.stderr
    files = PromiseFiles(tmp_path / "j", 3600)
    assert len(files.all()) == len(DESKS)
    for promise in files.all():
        files.answer(
            promise["id"], answer_of("answered", True) if promise["kind"] == "input" else answer_of("approved")
        )
    second = program()
    assert (second.returncode, second.stdout) == (0, "a.txt a.txt a.txt"), second.stderr

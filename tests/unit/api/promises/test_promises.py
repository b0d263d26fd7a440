"""Approvals, questions, events from outside and interrupts, in the journal's folder, without a collector."""

import asyncio
import errno
import os
import sys
import time
from collections.abc import Callable
from threading import Thread
from typing import Any
from unittest.mock import Mock

import pydantic
import pytest
from opentelemetry import context
from opentelemetry.propagate import extract

import playhead
from playhead import Denied, Interrupted, Suspended, Unanswered, observe
from playhead.api.promises.stopping import poll_interrupts
from playhead.api.promises.waiting import answer_of
from playhead.calls.joining import forget_parts
from playhead.errors import CollectorUnreachable, Conflict, JournalUnusable, NotFound, ReplayDiverged, SettingInvalid
from playhead.journal.promises import PromiseFiles
from playhead.model import event as ev
from playhead.model import names
from playhead.model.promises import approval_id, event_id
from tests.support.journal_reader import Recording
from tests.support.logged import messages_of
from tests.support.projected import projected
from tests.unit.api.promises.conftest import wait_until_open

Answering = Callable[..., Thread]
deleted: list[list[str]] = []


@pytest.fixture(autouse=True)
def nothing_deleted() -> None:
    deleted.clear()


def events_of(recording: Recording, run: str | None) -> list[Any]:
    return list(projected(recording.read(), run or "").events)


# --- approvals --------------------------------------------------------------------------------------------------------


def test_an_approval_is_asked_for_given_and_recorded(recording: Recording, files: PromiseFiles, answering: Answering):
    person = answering("approved", by="eve", reason="they are old")
    with playhead.run("clean") as run:
        answer = playhead.approval("delete 3 files", risk="high", details={"files": ["a", "b"]})
    person.join()
    assert (answer["outcome"], answer["by"], answer["reason"]) == ("approved", "eve", "they are old")
    [promise] = files.all()
    assert (promise["run"], promise["action"], promise["risk"]) == (run.id, "delete 3 files", "high")
    assert promise["details"] == {"files": ["a", "b"]}
    events = events_of(recording, run.id)
    [asked] = [event for event in events if isinstance(event, ev.ApprovalRequested)]
    [granted] = [event for event in events if isinstance(event, ev.ApprovalGranted)]
    assert (asked.approval, asked.action, asked.risk) == (promise["id"], "delete 3 files", "high")
    assert (granted.approval, granted.by) == (promise["id"], "eve")
    assert (granted.waited_ms or 0) > 0
    seen = recording.read()
    log = next(log for log in seen.logs if log.name == names.APPROVAL_RECEIVED)
    assert seen.value(log, names.REASON_REF) == "they are old"


def test_a_refusal_raises(recording: Recording, answering: Answering):
    person = answering("denied", by="eve", reason="not those")
    with pytest.raises(Denied, match="eve has denied 'delete 3 files': not those"), playhead.run("clean") as run:
        playhead.approval("delete 3 files")
    person.join()
    assert [e.by for e in events_of(recording, run.id) if isinstance(e, ev.ApprovalDenied)] == ["eve"]


def test_nobody_answers_in_time(files: PromiseFiles):
    with pytest.raises(Unanswered, match=r"within 0\.05 seconds"), playhead.run("clean"):
        playhead.approval("delete 3 files", timeout=0.05)
    [promise] = files.all()
    assert promise["answer"] is not None
    assert promise["answer"]["outcome"] == "expired"
    late = files.answer(promise["id"], answer_of("approved"))
    assert late == promise


def test_a_second_answer_gets_the_first(files: PromiseFiles, answering: Answering):
    with pytest.raises(Suspended), playhead.run("clean"):
        playhead.approval("delete", suspend=True)
    [promise] = files.all()
    threads = [Thread(target=files.answer, args=(promise["id"], answer_of("approved", by=f"p{n}"))) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first = files.read(promise["id"])
    again = files.answer(promise["id"], answer_of("denied", by="late"))
    assert first == again


def test_python_answers_without_a_collector(files: PromiseFiles):
    playhead.approve(key="nightly", action="clean up", details={"older": 7}, by="eve", reason="they are old")
    assert playhead.approval("clean up", key="nightly", details={"older": 7})["by"] == "eve"
    playhead.answer("payment", {"amount": 20}, key="A1")
    assert playhead.wait_for("payment", key="A1") == {"amount": 20}
    for question in ("delete", "delete more"):
        with pytest.raises(Suspended), playhead.run("clean"):
            playhead.approval(question, suspend=True)
    first, second = playhead.open_promises()
    assert (first["action"], second["action"]) == ("delete", "delete more")
    answered = playhead.deny(first["id"][:10], by="eve", reason="no")
    assert answered["answer"] is not None
    assert (answered["answer"]["outcome"], answered["answer"]["reason"]) == ("denied", "no")
    with pytest.raises(Conflict, match="eve has answered .* already: denied"):
        playhead.approve(first)
    assert [each["id"] for each in playhead.open_promises()] == [second["id"]]
    with pytest.raises(NotFound, match="no promise begins with 'nobody'"):
        playhead.approve("nobody")
    with pytest.raises(TypeError):
        playhead.approve(key="nightly")


def test_a_promise_that_is_being_given_to_the_collector_is_found_by_the_beginning_of_its_id(files: PromiseFiles):
    """Neither the folder nor the collector lists it at that moment."""
    with pytest.raises(Suspended), playhead.run("clean"):
        playhead.approval("delete", suspend=True)
    [asked] = playhead.open_promises()
    assert files.give_to_collector(asked["id"])
    assert playhead.open_promises() == []
    with pytest.raises(CollectorUnreachable):
        playhead.approve(asked["id"][:12])


def test_the_machines_clock_may_be_set_while_somebody_is_waited_for(
    files: PromiseFiles, answering: Answering, monkeypatch: pytest.MonkeyPatch
):
    real, shifts = time.time_ns, iter([0, 0, -(10**18)])
    monkeypatch.setattr("playhead.api.promises.waiting.time.time_ns", lambda: real() + next(shifts, 10**18))
    person = answering("approved")
    with playhead.run("clean"):
        assert playhead.approval("delete", timeout=60)["outcome"] == "approved"
    person.join()


def test_a_reminder_is_called_once_and_may_fail(answering: Answering, files: PromiseFiles):
    reminded: list[Any] = []

    def remind(promise: Any) -> None:
        reminded.append(promise["action"])
        files.answer(promise["id"], answer_of("approved"))
        raise ValueError("not the program's")

    with playhead.run("clean"):
        playhead.approval("delete", remind_after=0.01, on_reminder=remind)
    assert reminded == ["delete"]


async def test_other_tasks_go_on_meanwhile(files: PromiseFiles):
    async def person() -> None:
        while not (found := files.all()):
            await asyncio.sleep(0.01)
        files.answer(found[0]["id"], answer_of("approved", by="eve"))

    async with playhead.run("clean"):
        answer, _ = await asyncio.gather(playhead.approval_async("delete"), person())
    assert answer["by"] == "eve"


def test_what_is_shown_is_redacted_as_in_the_record(recording: Recording, files: PromiseFiles):
    recording.configure(endpoint="http://127.0.0.1:9", redact=lambda value: {"key": "***"})
    with pytest.raises(Suspended), playhead.run("clean"):
        playhead.approval("delete", details={"key": "secret"}, suspend=True)
    assert [promise["details"] for promise in files.all()] == [{"key": "***"}]


def test_a_prompt_is_redacted_and_masked_and_a_resumed_run_has_its_answer(recording: Recording, files: PromiseFiles):
    account = "DE-4711"  # in no random id

    def redact(value: Any) -> Any:
        return value.replace(account, "***") if isinstance(value, str) else value

    recording.configure(endpoint="http://127.0.0.1:9", redact=redact)

    def ask() -> Any:
        with playhead.run("pay"):
            return playhead.ask(f"Pay from account {account}, password=hunter2?", suspend=True)

    with pytest.raises(Suspended) as raised:
        ask()
    [promise] = files.all()
    assert promise["action"] == "Pay from account ***, password=<masked>"
    assert account not in str(raised.value)
    assert "hunter2" not in str(raised.value)
    files.answer(promise["id"], answer_of("answered", "yes"))
    with playhead.resume(promise["run"] or ""), playhead.run("pay"):
        assert playhead.ask(f"Pay from account {account}, password=hunter2?", suspend=True) == "yes"
    written = b"".join(path.read_bytes() for path in recording.folder.rglob("*") if path.is_file())
    assert b"hunter2" not in written


def test_a_prompt_that_a_hook_takes_away_says_so(recording: Recording, files: PromiseFiles):
    recording.configure(endpoint="http://127.0.0.1:9", redact=lambda value: None)
    with pytest.raises(Suspended), playhead.run("clean"):
        playhead.approval("delete", suspend=True)
    assert [promise["action"] for promise in files.all()] == ["(redacted)"]


@pytest.mark.parametrize("disabled", [True, False])
def test_what_is_asked_outside_of_a_run_is_masked_too(recording: Recording, files: PromiseFiles, disabled: bool):
    recording.configure(endpoint="http://127.0.0.1:9", disabled=disabled)
    with pytest.raises(Unanswered):
        playhead.approval("use token=abc", timeout=0.01)
    playhead.interrupt("1" * 32, reason="it shows password: hunter2")
    assert {promise["action"] for promise in files.all()} == {
        "use token=<masked>", "it shows password: <masked>"
    }  # fmt: skip


def test_without_a_recording_approvals_are_asked_for_all_the_same(
    recording: Recording, files: PromiseFiles, answering: Answering
):
    recording.configure(endpoint="http://127.0.0.1:9", disabled=True)
    person = answering("denied")
    with pytest.raises(Denied):
        playhead.approval("delete", timeout=30)
    person.join()


# --- suspended and resumed --------------------------------------------------------------------------------------------


def program(files: list[str], suspend: bool = True) -> list[str]:
    with playhead.run("clean"):
        playhead.approval("delete files", details=files, suspend=suspend)
        return delete(files)


@observe(kind="tool")
def delete(files: list[str]) -> list[str]:
    deleted.append(files)
    return files


def suspended(files: list[str]) -> tuple[str, str]:
    """Ids of a run that waits for approval, and of what it waits for."""
    with pytest.raises(Suspended) as raised:
        program(files)
    assert raised.value.code == 75
    [promise] = [each for each in PromiseFiles(playhead_journal(), 3600).all() if each["answer"] is None]
    assert raised.value.promise == promise["id"]
    return promise["run"] or "", promise["id"]


def playhead_journal() -> Any:
    from playhead.recording import current_settings

    return current_settings().journal_dir


def test_a_suspended_run_goes_on_once_it_is_approved(recording: Recording, files: PromiseFiles):
    run, promise = suspended(["a"])
    with playhead.resume(run), pytest.raises(Suspended):  # nobody has answered yet
        program(["a"])
    files.answer(promise, answer_of("approved", by="eve"))
    with playhead.resume(run):
        assert program(["a"]) == ["a"]
    assert deleted == [["a"]]
    with playhead.resume(run):  # it has completed: its results are given again
        assert program(["a"]) == ["a"]
    with playhead.resume(run), pytest.raises(ReplayDiverged, match=r"has completed.*playhead fork.*it waits for"):
        program(["everything"])
    assert deleted == [["a"]]
    events = events_of(recording, run)
    assert [e.kind for e in events if "approval" in e.kind] == ["approval_requested", "approval_granted"]
    assert (events[0].kind, events[-1].kind) == ("run_started", "run_completed")
    assert len(files.all()) == 1


def test_a_refusal_after_the_run_was_suspended(files: PromiseFiles):
    run, promise = suspended(["a"])
    files.answer(promise, answer_of("denied"))
    with playhead.resume(run), pytest.raises(Denied):
        program(["a"])
    assert deleted == []


def test_a_resumed_run_that_asks_for_something_else_asks_again(files: PromiseFiles):
    run, promise = suspended(["a"])
    files.answer(promise, answer_of("approved"))
    with playhead.resume(run), pytest.raises(Suspended) as raised:
        program(["everything"])
    assert raised.value.promise != promise
    assert deleted == []


def test_an_answer_after_the_run_was_abandoned_counts_when_it_is_resumed(recording: Recording, files: PromiseFiles):
    with pytest.raises(Suspended):
        program(["a"])
    playhead.shutdown()  # as after the end of the process
    [promise] = files.all()
    files.answer(promise["id"], answer_of("approved"))
    recording.configure(endpoint="http://127.0.0.1:9")
    with playhead.resume(promise["run"] or ""):
        assert program(["a"]) == ["a"]


def test_a_fork_does_not_inherit_what_is_open(files: PromiseFiles):
    def two() -> None:
        with playhead.run("clean") as run:
            runs.append(run.id or "")
            delete(["first"])
            playhead.approval("delete files", details=["a"], suspend=True)

    runs: list[str] = []
    with pytest.raises(Suspended):
        two()
    [promise] = files.all()
    files.answer(promise["id"], answer_of("approved"))
    with playhead.fork(runs[0], at="delete#1"), pytest.raises(Suspended) as raised:
        two()
    assert raised.value.promise != promise["id"]


def test_a_fork_has_what_was_answered_before_it(files: PromiseFiles, answering: Answering):
    person = answering("approved")
    with playhead.run("clean") as run:
        playhead.approval("delete files", details=["a"])
        delete(["a"])
    person.join()
    with playhead.fork(run.id or "", at="delete#1"), playhead.run("clean"):
        playhead.approval("delete files", details=["a"], timeout=0)
        delete(["a"])
    assert len(deleted) == 2


def test_nothing_goes_on_in_a_program_that_survives_being_suspended(files: PromiseFiles):
    def survives() -> None:
        with playhead.run("clean"):
            try:
                playhead.approval("delete", suspend=True)
            except SystemExit:
                delete(["a"])

    with pytest.raises(Suspended) as raised:
        survives()
    assert deleted == []
    assert "playhead resume" in str(raised.value)


# --- tools ------------------------------------------------------------------------------------------------------------


@observe(kind="tool", approval="always")
def drop(table: str) -> str:
    deleted.append([table])
    return table


@observe(kind="tool", approval=lambda name, arguments: arguments["size"] > 10)
async def send(size: int) -> int:
    deleted.append([str(size)])
    return size


@observe(kind="tool", approval="always")
def steps(count: int) -> Any:
    deleted.append([str(count)])
    yield from range(count)


@observe(kind="tool", idempotent=True)
def look(at: str) -> str:
    return at


def test_a_tool_runs_only_after_its_call_was_approved(recording: Recording, answering: Answering, files: PromiseFiles):
    person = answering("approved", by="eve")
    with playhead.run("agent") as run:
        assert drop("orders") == "orders"
    person.join()
    [promise] = files.all()
    assert (promise["name"], promise["details"]) == ("drop", {"table": "orders"})
    kinds = [e.kind for e in events_of(recording, run.id)]
    assert kinds == [
        "run_started", "approval_requested", "approval_granted", "tool_called", "tool_completed", "run_completed",
    ]  # fmt: skip


def test_a_tool_that_was_refused_does_not_run(answering: Answering):
    person = answering("denied")
    with playhead.run("agent"), pytest.raises(Denied, match="run drop"):
        drop("orders")
    person.join()
    assert deleted == []


async def test_a_rule_sees_the_arguments(answering: Answering):
    async with playhead.run("agent"):
        assert await send(5) == 5
        person = answering("denied")
        with pytest.raises(Denied):
            await send(50)
        person.join()
    assert deleted == [["5"]]


def test_a_generator_runs_only_after_it_was_approved(answering: Answering):
    person = answering("approved")
    with playhead.run("agent"):
        assert list(steps(2)) == [0, 1]
    person.join()


@pytest.mark.parametrize(
    ("rule", "asks"),
    [
        ("none", {"drop"}), ("all", {"drop", "delete", "look"}), ("writes", {"drop", "delete"}),
        (["look"], {"drop", "look"}),
        (lambda name, arguments: name == "delete", {"drop", "delete"}),
        (lambda name, arguments: 1 / 0, {"drop", "delete", "look"}),
    ],
)  # fmt: skip
def test_which_tools_need_approval_is_configured(recording: Recording, rule: Any, asks: set[str]):
    recording.configure(endpoint="http://127.0.0.1:9", approval=rule, approval_suspends=True)
    asked: set[str] = set()
    for name, call in {"drop": lambda: drop("t"), "delete": lambda: delete(["a"]), "look": lambda: look("x")}.items():
        try:
            with playhead.run("agent"):
                call()
        except Suspended:
            asked.add(name)
    recording.configure()
    assert asked == asks


def test_a_rule_that_cannot_be_is_an_error_or_asks(recording: Recording, caplog: pytest.LogCaptureFixture):
    with pytest.raises(SettingInvalid, match="allways"):
        recording.configure(approval="allways")
    tool = observe(kind="tool", approval="allways")(lambda: 1)  # pyright: ignore[reportArgumentType]
    assert "allways" in caplog.text
    recording.configure(endpoint="http://127.0.0.1:9", approval_suspends=True)
    with playhead.run("agent"), pytest.raises(Suspended):
        tool()
    recording.configure()


# --- questions and events -------------------------------------------------------------------------------------------


class Reply(pydantic.BaseModel):
    branch: str
    force: bool = False


def test_a_question_is_answered_with_a_value_of_its_schema(
    recording: Recording, answering: Answering, files: PromiseFiles
):
    person = answering("answered", value={"branch": "main"}, by="eve")
    with playhead.run("release") as run:
        assert playhead.ask("Which branch?", schema=Reply) == Reply(branch="main")
    person.join()
    [promise] = files.all()
    assert promise["schema"]["required"] == ["branch"]
    events = events_of(recording, run.id)
    assert [e.kind for e in events if "input" in e.kind] == ["input_requested", "input_received"]
    assert [e.by for e in events if isinstance(e, ev.InputReceived)] == ["eve"]


def test_an_answer_is_asked_for_once_and_given_again_on_resume(answering: Answering):
    def agent(fails: bool) -> Any:
        with playhead.run("release") as run:
            runs.append(run.id)
            answer = playhead.ask("Which branch?", timeout=30)
            if fails:
                raise ConnectionError
            return answer

    runs: list[Any] = []
    person = answering("answered", value={"b": [1]})
    with pytest.raises(ConnectionError):
        agent(True)
    person.join()
    with playhead.resume(runs[0]):
        assert agent(False) == {"b": [1]}


def test_an_event_that_came_before_it_was_waited_for_counts(files: PromiseFiles):
    waiting = {"kind": "event", "name": "payment", "key": "order-1"}
    promise: Any = dict.fromkeys(("run", "action", "risk", "details", "schema", "deadline", "answer"))
    promise |= {**waiting, "id": event_id("payment", "order-1"), "created": answer_of("answered")["time"]}
    files.open(promise)
    files.answer(promise["id"], answer_of("answered", value={"paid": 5}))
    with playhead.run("shop"):
        assert playhead.wait_for("payment", key="order-1") == {"paid": 5}


def test_an_approval_with_a_key_may_be_given_before_it_is_asked_for(files: PromiseFiles):
    promise: Any = dict.fromkeys(("run", "name", "risk", "details", "schema", "deadline", "answer"))
    promise |= {"id": approval_id("nightly", "delete"), "kind": "approval", "key": "nightly", "action": "delete"}
    promise["created"] = answer_of("approved")["time"]
    files.open(promise)
    files.answer(promise["id"], answer_of("approved"))
    with playhead.run("clean"):
        assert playhead.approval("delete", key="nightly")["outcome"] == "approved"
        with pytest.raises(Suspended):
            playhead.approval("delete everything", key="nightly", suspend=True)


def test_two_runs_wait_for_the_same_approval(files: PromiseFiles):
    found: list[str] = []

    def clean() -> None:
        with playhead.run("clean"):
            found.append(playhead.approval("delete", key="nightly", timeout=60)["by"] or "")

    threads = [Thread(target=clean) for _ in range(2)]
    for thread in threads:
        thread.start()
    files.answer(wait_until_open(files)["id"], answer_of("approved", by="eve"))
    for thread in threads:
        thread.join()
    assert found == ["eve", "eve"]
    assert len(files.all()) == 1


def test_what_two_processes_of_a_run_ask_alike_is_asked_twice(files: PromiseFiles):
    entry = f"{'f' * 32}-0-{1:016x}--1-{int(time.time())}"
    carrier = {"traceparent": f"00-{1:032x}-{2:016x}-01", "tracestate": f"playhead={entry}"}
    for _ in range(2):
        forget_parts()  # as another process, which has no part of the run yet
        token = context.attach(extract(carrier))
        try:
            with pytest.raises(Suspended), observe("worker"):
                playhead.approval("pay 5", suspend=True)
        finally:
            context.detach(token)
    one, other = files.all()
    assert one["id"] != other["id"]
    assert {one["run"], other["run"]} == {"f" * 32}


def test_two_runs_wait_for_the_same_event(files: PromiseFiles):
    found: list[Any] = []

    def shop() -> None:
        with playhead.run("shop"):
            found.append(playhead.wait_for("payment", key="order-2", timeout=60))

    threads = [Thread(target=shop) for _ in range(2)]
    for thread in threads:
        thread.start()
    promise = wait_until_open(files)
    files.answer(promise["id"], answer_of("answered", value=7))
    for thread in threads:
        thread.join()
    assert found == [7, 7]
    assert len(files.all()) == 1


# --- interrupts -------------------------------------------------------------------------------------------------------


def test_a_run_stops_at_its_next_call_and_goes_on_later(recording: Recording):
    def agent(interrupts: bool) -> list[Any]:
        with playhead.run("agent") as run:
            runs.append(run.id or "")
            first = delete(["a"])
            if interrupts:
                playhead.interrupt(run.id or "", reason="too dear", by="eve")
                poll_interrupts()
            try:
                return [first, delete(["b"])]
            except Interrupted:
                delete(["c"])  # a framework that takes it for an error of the tool
                raise

    runs: list[str] = []
    with pytest.raises(Interrupted, match="eve asked run .* to stop: too dear"):
        agent(True)
    assert deleted == [["a"]]
    [event] = [e for e in events_of(recording, runs[0]) if isinstance(e, ev.UserInterrupted)]
    assert event.by == "eve"
    with playhead.resume(runs[0]):
        assert agent(False) == [["a"], ["b"]]
    assert deleted == [["a"], ["b"]]


def test_a_folder_that_cannot_be_read_now_is_looked_at_again_without_a_word(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    no_descriptors = OSError(errno.EMFILE, "Too many open files")

    @observe(kind="tool")
    def work(number: int) -> int:
        return number

    with playhead.run("r") as run:
        work(1)
        playhead.interrupt(run.id or "", reason="too dear", by="eve")
        with monkeypatch.context() as broken:
            broken.setattr(os, "listdir", Mock(side_effect=no_descriptors))
            poll_interrupts()
        assert work(2) == 2
        poll_interrupts()
        with pytest.raises(Interrupted):
            work(3)
    assert messages_of(caplog) == []


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes are POSIX")
def test_a_promise_of_which_a_full_disk_takes_a_part_is_refused(recording: Recording, files: PromiseFiles):
    import resource

    promise: Any = {
        "id": "ab" * 16,
        "kind": "approval",
        "run": None,
        "key": "k",
        "details": "x" * 100_000,
        "answer": None,
    }
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(JournalUnusable, match="see that it can be written to"):
            files.open(promise)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert list((recording.folder / "promises").iterdir()) == []
    assert files.open(promise)["details"] == promise["details"]

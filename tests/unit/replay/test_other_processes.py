"""Resume and fork of runs over processes: what is answered, what is refused, and what children may execute."""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.errors import InDoubt, NoRecord, ReplayDiverged, ReplayError, ToolDenied
from playhead.model import names
from playhead.model.span import Span
from playhead.replaying.handed_on import handed_on_before
from playhead.replaying.other_processes import CallsElsewhere
from playhead.replaying.record import read_local
from playhead.replaying.recorded_calls import recorded_calls
from tests.support.journal_reader import Recording

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
P = "1" * 16
CHILDREN: dict[str, Any] = {"other_processes": "rerun"}


@pytest.fixture
def effects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """What was done since this was last asked, by whichever process."""
    path = tmp_path / "effects"
    monkeypatch.setenv("EFFECTS", str(path))

    def done() -> list[str]:
        found = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return found

    return done


def effect(what: str) -> str:
    with Path(os.environ["EFFECTS"]).open("a", encoding="utf-8") as file:
        file.write(f"{what}\n")
    return what


@observe(kind="tool")
def look() -> str:
    return effect("look")


@observe(kind="tool")
def pay(amount: int) -> str:
    return effect(f"pay {amount}")


@observe(kind="tool", idempotent=True)
def put(amount: int) -> str:
    return effect(f"put {amount}")


@observe(kind="tool")
def hand_on(work: str) -> str:
    return in_child(WORK[work])


@observe
def steps(work: str) -> str:
    return in_child(WORK[work])


WORK: dict[str, Callable[[], str]] = {"pay": lambda: pay(1), "put": lambda: put(1)}


def in_child(work: Callable[[], str]) -> str:
    """What the work raised in a forked child, or `done`."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            work()
            os.write(writing, b"done")
        except BaseException as error:  # noqa: BLE001 - the child of a test must not become a second pytest
            os.write(writing, type(error).__name__.encode())
        os._exit(0)
    os.waitpid(pid, 0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        return pipe.read().decode()


def program(work: Callable[[str], str], what: str = "pay", *, last: bool = False) -> list[str]:
    said = [look(), work(what)]
    if not last:
        raise ValueError("it stops here")
    return said


def recorded(work: Callable[[str], str], what: str = "pay", *, last: bool = False) -> str:
    with contextlib.suppress(ValueError), playhead.run("p") as run:
        program(work, what, last=last)
    assert run.id is not None
    return run.id


def test_work_that_a_tool_hands_on_is_answered_with_the_tool(effects: Callable[[], list[str]]):
    run_id = recorded(hand_on)
    assert effects() == ["look", "pay 1"]
    with playhead.resume(run_id), playhead.run("p"):
        assert program(hand_on, last=True) == ["look", "done"]
    assert effects() == []


def test_calls_that_nothing_answers_are_named_before_anything_is_executed(effects: Callable[[], list[str]]):
    run_id = recorded(steps)
    effects()
    said = r"that no answer of the record stands for: pay\. .*other_processes='rerun'"
    with pytest.raises(ReplayError, match=said), playhead.resume(run_id):
        pytest.fail("it is refused at the beginning")
    assert effects() == []
    with playhead.resume(run_id, **CHILDREN), playhead.run("p"):
        assert program(steps, last=True) == ["look", "done"]
    assert effects() == ["pay 1"]


def test_calls_that_do_no_harm_twice_are_no_reason(effects: Callable[[], list[str]]):
    run_id = recorded(steps, "put")
    effects()
    with playhead.resume(run_id), playhead.run("p"):
        program(steps, "put", last=True)
    assert effects() == ["put 1"]


def test_a_run_that_has_completed_gives_no_results_where_others_would_act_again(effects: Callable[[], list[str]]):
    run_id = recorded(steps, last=True)
    effects()
    for how in ({}, CHILDREN):
        with pytest.raises(ReplayError, match="the run has completed"), playhead.resume(run_id, **how):
            pytest.fail("it is refused at the beginning")
    answered = recorded(hand_on, last=True)
    effects()
    with playhead.resume(answered), playhead.run("p"):
        assert program(hand_on, last=True) == ["look", "done"]
    assert effects() == []


def test_a_child_of_a_completed_run_executes_nothing(effects: Callable[[], list[str]]):
    with playhead.run("p") as run:
        look()
    effects()
    assert run.id is not None
    with playhead.resume(run.id), playhead.run("p"):
        look()
        assert in_child(lambda: pay(1)) == ReplayDiverged.__name__
    assert effects() == []


def test_a_child_of_a_run_that_was_stopped_executes_nothing(effects: Callable[[], list[str]]):
    with contextlib.suppress(ValueError), playhead.run("p") as run:
        look()
        raise ValueError
    effects()
    assert run.id is not None
    with playhead.resume(run.id), playhead.run("p"):
        with pytest.raises(ReplayDiverged):
            pay(2)
        assert in_child(lambda: pay(1)) == ReplayDiverged.__name__
    assert effects() == []


def test_a_child_of_a_fork_that_denies_tools_is_denied_them(effects: Callable[[], list[str]]):
    run_id = recorded(hand_on, last=True)
    effects()
    with playhead.fork(run_id, at="look", outcome="seen", live="llm"), playhead.run("p"):
        assert look() == "seen"
        assert in_child(lambda: pay(1)) == ToolDenied.__name__
    assert effects() == []


def test_a_child_of_a_resumed_run_goes_on_with_it(effects: Callable[[], list[str]], recording: Recording):
    with contextlib.suppress(ValueError), playhead.run("p") as run:
        look()
        raise ValueError
    effects()
    assert run.id is not None
    with playhead.resume(run.id), playhead.run("p"):
        look()
        assert in_child(lambda: pay(1)) == "done"
    assert effects() == ["pay 1"]
    [child] = [span for span in recording.read().spans if names.PROCESS_ID in span.attributes]
    assert (child.attributes[names.RUN_ID], child.attributes[names.RUN_ATTEMPT]) == (run.id, 1)


def test_a_fork_asks_about_what_came_before_its_step(effects: Callable[[], list[str]]):
    with playhead.run("p") as run:
        look()
        in_child(lambda: pay(1))
        pay(2)
    effects()
    assert run.id is not None
    with playhead.fork(run.id, at="look", outcome="seen"), playhead.run("p"):
        look()
        in_child(lambda: pay(1))
    assert effects() == ["pay 1"], "after its step, everything is live"
    with pytest.raises(ReplayError, match="pay"), playhead.fork(run.id, at="pay"):
        pytest.fail("it is refused at the beginning")
    with playhead.fork(run.id, at="pay", **CHILDREN), playhead.run("p"):
        look()
        in_child(lambda: pay(1))
        pay(2)
    assert effects() == ["pay 1", "pay 2"]


def test_no_run_goes_on_from_a_call_of_another_process(effects: Callable[[], list[str]], recording: Recording):
    run_id = recorded(hand_on)
    seen = recording.read()
    child, around = seen.call("pay"), seen.call("hand_on")
    for at in (child.span_id, f"{child.span_id}.tool_called.0"):
        said = f"'pay', which another process called.*Take {around.span_id}"
        with pytest.raises(NoRecord, match=said), playhead.fork(run_id, at=at):
            pytest.fail("it is refused at the beginning")
        with pytest.raises(NoRecord, match="another process"), playhead.resume(run_id, outcomes={at: "x"}):
            pytest.fail("it is refused at the beginning")


def test_a_fork_is_resumed_with_what_it_shares_and_no_more(effects: Callable[[], list[str]]):
    with playhead.run("p") as run:
        look()
        pay(1)
        in_child(lambda: pay(3))
    effects()
    assert run.id is not None
    with contextlib.suppress(ValueError), playhead.fork(run.id, at="pay"), playhead.run("p") as fork:
        look()
        pay(1)
        raise ValueError
    effects()
    assert fork.id is not None
    with playhead.resume(fork.id), playhead.run("p"):  # what its parent's child did came after the step
        look()
        pay(1)
    assert effects() == []


def test_a_child_that_lives_is_no_second_owner(tmp_path: Path, recording: Recording):
    """It was handed a part of the run of a program that was killed, and its lane has records of that run."""
    body = """
import os, playhead
from playhead import observe

@observe(kind="tool")
def pay():
    return "paid"

@observe(kind="tool")
def hand_on(writing):
    if os.fork() == 0:
        pay()
        os.write(writing, b"!")
        os.read(0, 1)          # lives until the test lets it go
        os._exit(0)
    os.read(reading, 1)

reading, writing = os.pipe()
with playhead.run("p") as run:
    print(run.id, flush=True)
    hand_on(writing)
    os.kill(os.getpid(), 9)
"""
    own, its = os.pipe()
    environ = os.environ | {"PLAYHEAD_JOURNAL_DIR": str(recording.folder), "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(
        [sys.executable, "-c", body], stdin=own, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        env=environ | {"PLAYHEAD_ENDPOINT": "http://127.0.0.1:9"},
    ) as program:  # fmt: skip
        os.close(own)
        try:
            assert program.stdout is not None
            run_id = program.stdout.readline().strip()
            assert program.wait(60) == -signal.SIGKILL
            record = read_local(recording.folder, run_id)
            assert record is not None
            assert (record.is_still_running, len(record.lanes), len(record.elsewhere)) == (False, 2, 1)
            with playhead.resume(run_id) as resumed:
                assert resumed.id == run_id
                with playhead.run("p"):
                    pass
        finally:
            os.close(its)


def test_a_tool_that_died_while_it_handed_work_on_is_in_doubt_itself(
    effects: Callable[[], list[str]], recording: Recording
):
    @observe(kind="tool")
    def dies() -> str:
        in_child(lambda: pay(1))
        raise KeyboardInterrupt

    with contextlib.suppress(KeyboardInterrupt), playhead.run("p") as run:
        dies()
    effects()
    assert run.id is not None
    with pytest.raises(InDoubt), playhead.resume(run.id), playhead.run("p"):
        dies()
    assert effects() == []


@pytest.mark.parametrize("value", ["live", True, 1])
def test_a_misspelt_option_is_refused(value: Any):
    with pytest.raises(ReplayError, match="other_processes"):
        playhead.resume("x" * 32, other_processes=value)
    with pytest.raises(ReplayError, match="other_processes"):
        playhead.fork("x" * 32, at=1, other_processes=value)


# --- records as values ------------------------------------------------------------------------------------------------


def span(span_id: str, parent: str | None, number: int, **more: Any) -> Span:
    attributes = {names.KIND: "tool", names.CALL_ORDER: number, names.CALL_KEY: f"p/{span_id}:tool#1", **more}
    return Span("t", span_id, parent, span_id, number, number + 1, attributes)


def elsewhere(span_id: str, parent: str | None, number: int, after: str = "", process: str = P) -> Span:
    more = {names.PROCESS_AFTER: after} if after else {}
    return span(span_id, parent, number, **{names.PROCESS_ID: process, **more})


ROOT = span("root", None, 1, **{names.KIND: "agent"})


def test_what_is_handed_on_by_another_process_counts_by_where_that_was_handed_on():
    first, second = elsewhere("first", "root", 1, "#2"), elsewhere("second", "first", 1, f"{P}#1", "2" * 16)
    late = elsewhere("late", "root", 2, "#7")
    assert handed_on_before([first, second, late], [ROOT], 5) == [first, second]
    assert handed_on_before([first, second, late], [ROOT], 8) == [first, second, late]


def test_without_what_handed_it_on_the_call_around_it_says_when_and_without_that_it_may_have_been_any_time():
    inside, lost = elsewhere("inside", "root", 1), elsewhere("lost", "nobody", 2)
    assert handed_on_before([inside, lost], [ROOT], 1) == [lost]
    assert handed_on_before([inside, lost], [ROOT], 2) == [inside, lost]


def test_parents_in_a_circle_are_no_answer_and_no_endless_loop():
    one, other = elsewhere("one", "other", 1), elsewhere("other", "one", 2)
    up, down = span("up", "down", 1, **{names.KIND: "step"}), span("down", "up", 2, **{names.KIND: "step"})
    below = elsewhere("below", "down", 3)
    assert handed_on_before([one, other], [], 1) == [one, other]
    with pytest.raises(ReplayError, match="below, one, other|one, other, below"):
        CallsElsewhere.of("r", [one, other, below], recorded_calls([up, down])).check("raise")

"""A resume that is stopped leaves the run as it was: what it had come to, and what the next attempt finds."""

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.errors import InDoubt, ReplayDiverged
from tests.support.journal_reader import Recording
from tests.support.projected import projected

Program = Callable[[], Any]


@observe(kind="tool")
def fetch(page: int) -> int:
    return page


@observe(kind="tool")
def unlucky() -> None:
    raise KeyboardInterrupt


@observe(kind="step")
def careful(call: Program) -> str:
    """Takes everything that is raised for an error of a tool."""
    try:
        call()
    except Exception as error:  # noqa: BLE001 - as careless programs do
        return f"error: {type(error).__name__}"
    return "done"


def record(program: Program) -> str:
    with contextlib.suppress(ValueError, KeyboardInterrupt), playhead.run("p") as run:
        program()
    assert run.id is not None
    return run.id


def without_an_agent() -> str:
    seen: list[str | None] = []

    @observe(kind="tool")
    def only() -> None:
        seen.append(playhead.current_run_id())

    only()
    assert seen[0] is not None
    return seen[0]


def failing() -> None:
    fetch(1)
    raise ValueError


def interrupted() -> None:
    fetch(1)
    unlucky()


def resume(run_id: str, program: Program, **how: Any) -> Any:
    with playhead.resume(run_id, **how), playhead.run("p"):
        return program()


@pytest.mark.parametrize(
    ("begin", "program", "stopped_by"),
    [
        (lambda: record(failing), lambda: fetch(2), ReplayDiverged),
        (lambda: record(interrupted), interrupted, InDoubt),
        (without_an_agent, lambda: fetch(2), ReplayDiverged),
        (lambda: record(failing), lambda: careful(lambda: fetch(2)), None),
    ],
    ids=["it had failed", "it had failed, and a call is in doubt", "it had no agent", "nobody hears of it"],
)
def test_a_resume_that_is_stopped_does_not_open_a_run_that_has_ended(
    recording: Recording, begin: Callable[[], str], program: Program, stopped_by: Any
):
    run_id = begin()
    before = projected(recording.read(), run_id)
    assert before.row.status in ("completed", "failed")
    with pytest.raises(stopped_by) if stopped_by is not None else contextlib.nullcontext():
        resume(run_id, program)
    after = projected(recording.read(), run_id)
    assert (after.row, after.events) == (before.row, before.events)


def test_a_failed_run_that_is_repaired_is_told_as_completed_also_where_no_call_is_new(recording: Recording):
    run_id = record(failing)
    assert resume(run_id, lambda: fetch(1)) == 1
    seen = projected(recording.read(), run_id)
    kinds = [event.kind for event in seen.events]
    assert kinds == [
        "run_started", "tool_called", "tool_completed", "run_failed", "run_resumed", "run_completed"
    ]  # fmt: skip
    assert (seen.row.status, seen.row.attempt) == ("completed", 1)


@pytest.mark.parametrize("new", [lambda: fetch(2), lambda: careful(lambda: 1), lambda: playhead.annotate(a=1)])
def test_what_is_new_in_a_failed_run_comes_after_its_resumption(recording: Recording, new: Program):
    run_id = record(failing)
    resume(run_id, lambda: [fetch(1), new()])
    kinds = [event.kind for event in projected(recording.read(), run_id).events]
    assert kinds[:5] == ["run_started", "tool_called", "tool_completed", "run_failed", "run_resumed"]
    assert len(kinds) > 6
    assert kinds[-1] == "run_completed"


def test_a_failed_run_that_fails_again_has_a_second_attempt(recording: Recording):
    run_id = record(failing)
    with pytest.raises(ValueError):
        resume(run_id, failing)
    seen = projected(recording.read(), run_id)
    assert [event.kind for event in seen.events][-2:] == ["run_resumed", "run_failed"]
    assert (seen.row.status, seen.row.attempt) == ("failed", 1)


def test_a_program_that_takes_what_stopped_it_for_an_error_has_not_completed(recording: Recording):
    def program() -> list[Any]:
        return [fetch(1), careful(unlucky), fetch(2)]

    run_id = record(program)
    ended = len(recording.read().spans)
    with pytest.raises(InDoubt):
        resume(run_id, program)
    assert len(recording.read().spans) == ended
    assert resume(run_id, program, outcomes={"unlucky": {"result": 5}}) == [1, "done", 2]

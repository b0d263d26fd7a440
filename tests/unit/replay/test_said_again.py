"""What a program says of itself stands in the record once, also when its run is resumed."""

import contextlib
from typing import Any

import playhead
from playhead import observe
from playhead.model import names
from tests.support.journal_reader import Recording

BEFORE: Any = [{"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}]


def test_what_a_failed_run_has_said_is_not_told_again_however_often_it_is_resumed(recording: Recording):
    failing = True

    @observe
    def agent() -> None:
        playhead.annotate(decision="a")
        if failing:
            raise ValueError("no")
        playhead.annotate(decision="b")

    def attempt(run_id: str | None = None) -> str:
        with contextlib.suppress(ValueError), playhead.run("p") as run:
            playhead.annotate(decision="outside")
            agent()
        assert run.id is not None
        assert run_id in (None, run.id)
        return run.id

    run_id = attempt()
    for _ in range(2):
        with playhead.resume(run_id):
            attempt(run_id)
    assert [log.name for log in recording.read().logs].count(names.ANNOTATION) == 2
    failing = False
    for _ in range(2):
        with playhead.resume(run_id):
            attempt(run_id)
    assert [log.name for log in recording.read().logs].count(names.ANNOTATION) == 3


def test_what_is_said_inside_a_call_that_asks_something_else_is_news(recording: Recording):
    @observe(kind="tool")
    def work(what: str) -> str:
        playhead.annotate(decision=what)
        return what

    with contextlib.suppress(ValueError), playhead.run("p") as run:
        work("a")
        raise ValueError("no")
    assert run.id is not None
    with playhead.resume(run.id, on_divergence="live"), playhead.run("p"):
        work("b")
    assert [log.name for log in recording.read().logs].count(names.ANNOTATION) == 2


def test_a_compression_and_a_plan_are_not_told_twice(recording: Recording):
    @observe(kind="tool")
    def work() -> str:
        return "done"

    def program() -> None:
        playhead.annotate(plan=["work"], decision="work")
        playhead.compressed(before=BEFORE, after=BEFORE[1:], strategy="window")
        work()

    with playhead.run("p") as run:
        program()
    assert run.id is not None
    with playhead.resume(run.id), playhead.run("p"):
        program()
    said = [log.name for log in recording.read().logs]
    assert [said.count(name) for name in (names.COMPRESSED, names.PLAN, names.ANNOTATION)] == [1, 1, 1]

"""Calls of a run that another process has taken over: nothing more of it is executed or recorded here."""

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.errors import RunTakenOver
from playhead.recording import RecordingProcess
from tests.support.journal_reader import Recording

executed: list[str] = []


@observe(kind="tool")
def tool(what: str) -> str:
    executed.append(what)
    return what


@observe(kind="tool")
async def task(what: str) -> str:
    executed.append(what)
    return what


@observe(kind="step")
def step(what: str) -> str:
    executed.append(what)
    return what


@observe(kind="retriever")
def pages(what: str) -> Iterator[str]:
    executed.append(what)
    yield what


@observe
def agent(what: str) -> str:
    return tool(what)


def lose(run_id: str | None) -> None:
    RecordingProcess.own_runs.taken_over(str(run_id), 1)


def with_a_takeover(call: Callable[[], Any], recording: Recording) -> None:
    with playhead.run("p") as run:
        tool("a")
        written.append(bytes_of(recording))
        lose(run.id)
        playhead.annotate(decision="none")
        run.state["a"] = 1
        call()


written: list[int] = []


def bytes_of(recording: Recording) -> int:
    return sum(path.stat().st_size for path in recording.folder.rglob("*.segment"))


@pytest.mark.parametrize("call", [lambda: tool("b"), lambda: step("b"), lambda: list(pages("b")), lambda: agent("b")])
def test_nothing_of_it_is_executed_or_recorded_any_more(recording: Recording, call: Callable[[], Any]):
    executed.clear()
    with pytest.raises(RunTakenOver, match="was taken over by another process"):
        with_a_takeover(call, recording)
    assert executed == ["a"]
    assert bytes_of(recording) == written.pop()


async def awaited(call: Callable[[], Awaitable[Any]]) -> None:
    with playhead.run("p") as run:
        lose(run.id)
        await call()


async def test_nor_is_what_is_awaited(recwarn: pytest.WarningsRecorder):
    executed.clear()
    with pytest.raises(RunTakenOver):
        await awaited(lambda: task("b"))
    assert executed == []
    # Others may come meanwhile, of what earlier tests have left to the garbage collector.
    never_awaited = [warning for warning in recwarn if issubclass(warning.category, RuntimeWarning)]
    assert never_awaited == [], "no coroutine is left that nobody awaits"


def test_a_program_that_takes_it_for_an_error_of_a_tool_executes_nothing_either():
    executed.clear()
    errors: list[Exception] = []
    with playhead.run("p") as run:
        lose(run.id)
        for _ in range(3):
            try:
                tool("b")
            except Exception as error:  # noqa: BLE001 - as careless programs do
                errors.append(error)
    assert executed == []
    assert [type(error) for error in errors] == [RunTakenOver] * 3
    with playhead.run("next"):  # other runs of the process are its own
        assert tool("c") == "c"


def test_a_model_is_not_asked_either(client: Any, server: Any):
    with playhead.run("p") as run:
        lose(run.id)
        with pytest.raises(RunTakenOver):
            client.chat.completions.create(model="m", messages=[{"role": "user", "content": "go"}])
    assert server.requests == []

"""Borders of work: what begins and ends, tasks that wait for tasks, and what is somebody else's work."""

import asyncio
import threading
from collections.abc import Iterator

import pytest

import playhead
from playhead import observe
from playhead.calls import grouping
from playhead.calls.borders import WorkBorder, thread_name
from playhead.model import names
from tests.support.journal_reader import Recording
from tests.support.projected import projected

pytestmark = pytest.mark.usefixtures("quiet")


@observe(kind="tool")
def call(n: int = 0) -> int:
    return n


async def calls(n: int) -> int:
    call(n)
    await asyncio.sleep(0)
    return call(n)


def runs(recording: Recording) -> list[tuple[str, int]]:
    """Name and number of calls of each run, in the order of their first calls that ended."""
    found: dict[str, int] = {}
    named: dict[str, str] = {}
    for span in recording.read().spans:
        run = span.attributes[names.RUN_ID]
        found[run] = found.get(run, 0) + 1
        named[run] = span.attributes[names.RUN_NAME]
    return [(named[run], number) for run, number in found.items()]


@pytest.fixture
def asyncio_on(recording: Recording) -> Iterator[None]:
    before = asyncio.gather, asyncio.to_thread, asyncio.wait_for
    assert playhead.instrument("asyncio") == ("asyncio",)
    yield
    playhead.uninstrument("asyncio")
    assert (asyncio.gather, asyncio.to_thread, asyncio.wait_for) == before


def test_calls_inside_a_border_are_one_run_in_tasks_and_threads_that_have_its_context(recording: Recording):
    with WorkBorder("POST /ask").current():
        call()
        asyncio.run(calls(1))
        thread = threading.Thread(target=playhead.propagate_to_thread(call))
        thread.start()
        thread.join()
    call()
    assert runs(recording) == [("POST /ask", 4), ("call", 1)]
    seen = recording.read()
    row = projected(seen, seen.spans[0].attributes[names.RUN_ID]).row
    assert (row.name, row.status, row.tool_calls, row.spans_missing) == ("POST /ask", "completed", 4, 0)


def test_a_border_inside_another_is_one_of_its_own(recording: Recording):
    with WorkBorder("outer").current():
        call()
        with WorkBorder("inner").current():
            call()
        call()
    assert runs(recording) == [("outer", 2), ("inner", 1)]


async def test_what_goes_on_after_the_end_of_a_border_is_a_run_of_its_own(recording: Recording):
    release = asyncio.Event()

    async def consume() -> None:
        call()
        await release.wait()
        await calls(2)

    with WorkBorder("POST /first").current():
        consumer = asyncio.create_task(consume())
        await asyncio.sleep(0)
    release.set()
    await consumer
    name = f"{test_what_goes_on_after_the_end_of_a_border_is_a_run_of_its_own.__name__}.<locals>.consume"
    assert runs(recording) == [("POST /first", 1), (name, 2)]


async def test_tasks_that_a_task_waits_for_are_of_its_run(recording: Recording, asyncio_on: None):
    async def fan_out() -> None:
        await asyncio.gather(calls(1), calls(2))

    async def main() -> None:
        call()
        await asyncio.gather(fan_out(), asyncio.wait_for(calls(3), 60))
        await asyncio.to_thread(call)

    await asyncio.create_task(main())
    [(name, number)] = runs(recording)
    assert (name.rpartition(".")[2], number) == ("main", 8)


async def test_tasks_that_nobody_waits_for_have_runs_of_their_own(recording: Recording, asyncio_on: None):
    started: list[asyncio.Task[int]] = []

    async def poll() -> None:
        """As a bot does, which is waited for; its handlers are not."""
        for person in range(2):
            started.append(asyncio.create_task(calls(person)))
            await asyncio.sleep(0)

    async def main() -> None:
        call()
        await asyncio.gather(poll(), poll())

    await asyncio.create_task(main())
    await asyncio.wait(started)
    assert sorted(number for _, number in runs(recording)) == [1, 2, 2, 2, 2]


async def test_what_gather_gives_and_raises_is_as_before(recording: Recording, asyncio_on: None):
    async def fails() -> None:
        raise ValueError("no")

    assert await asyncio.gather(calls(1), asyncio.create_task(calls(2))) == [1, 2]
    assert await asyncio.gather() == []
    same = calls(3)
    assert await asyncio.gather(same, same) == [3, 3]
    with pytest.raises(ValueError, match="no"):
        await asyncio.gather(fails(), calls(4))
    [failed, given] = await asyncio.gather(fails(), calls(5), return_exceptions=True)
    assert (type(failed), given) == (ValueError, 5)
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.Event().wait(), 0.001)
    assert await asyncio.to_thread(lambda x, *, y: x + y, 1, y=2) == 3


def test_a_pool_of_coroutines_without_a_loop_is_left_alone(recording: Recording, asyncio_on: None):
    made = calls(1)
    with pytest.raises(RuntimeError):
        asyncio.gather(made)
    made.close()


async def test_it_can_be_switched_off(recording: Recording, asyncio_on: None):
    recording.configure(group_calls=False)
    with WorkBorder("POST /ask").current():
        await asyncio.gather(calls(1), calls(2))
    assert [number for _, number in runs(recording)] == [2, 2]
    assert {name for name, _ in runs(recording)} == {"call"}


async def test_a_border_begins_another_run_where_recording_begins_anew(recording: Recording):
    with WorkBorder("POST /ask").current():
        call()
        grouping.forget_groups()
        call()
    assert runs(recording) == [("POST /ask", 1), ("POST /ask", 1)]


@pytest.mark.parametrize(
    ("given", "shown"),
    [(None, "work"), ("ThreadPoolExecutor-0_12", "ThreadPoolExecutor"), ("worker 3", "worker"), ("7", "7")],
)
def test_a_thread_is_named_after_what_it_was_started_for(given: str | None, shown: str):
    found: list[str | None] = []

    def work() -> None:
        found.append(thread_name())

    thread = threading.Thread(target=work, name=given)
    thread.start()
    thread.join()
    assert found == [shown]
    assert thread_name() is None

"""Cancelled and nested tasks, thread pools."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

from benchmarks.peers.cases.case import Case
from benchmarks.peers.recorded import RecordingTool, SeenCalls, expect

_WORKERS = 8


def cancelled(tool: RecordingTool) -> None:
    reached: list[str] = []

    @tool.decorate
    async def waiting(started: asyncio.Event) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            reached.append("function")
            raise

    async def main() -> None:
        started = asyncio.Event()
        task = asyncio.create_task(waiting(started))
        await started.wait()
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            reached.append("task")

    asyncio.run(main())
    expect(reached == ["function", "task"], "the cancellation does not arrive")
    call = SeenCalls(tool).one("waiting")
    expect(call.cancelled or call.failed, "it is recorded like one that succeeded")


def nested_tasks(tool: RecordingTool) -> None:
    @tool.decorate
    async def inner(x: int) -> int:
        await asyncio.sleep(0)
        return x

    @tool.decorate
    async def branch(x: int) -> int:
        await asyncio.sleep(0)
        return await inner(x) + await inner(x)

    @tool.decorate
    async def outer() -> list[int]:
        return await asyncio.gather(*(asyncio.create_task(branch(x)) for x in range(10)))

    expect(asyncio.run(outer()) == [2 * x for x in range(10)], "the program got other results")
    seen = SeenCalls(tool)
    branches, inners = seen.all("branch"), seen.all("inner")
    expect((len(branches), len(inners)) == (10, 20), "calls are missing")
    for call in branches:
        seen.expect_inside(call, seen.one("outer"))
        expect(sum(one.parent == call.id for one in inners) == 2, "calls are recorded inside another task's call")


def outliving_task(tool: RecordingTool) -> None:
    @tool.decorate
    async def background() -> None:
        await asyncio.sleep(0)
        await asyncio.sleep(0)

    @tool.decorate
    async def starts() -> "asyncio.Task[None]":
        return asyncio.create_task(background())

    @tool.decorate
    async def after() -> None: ...

    async def main() -> None:
        task = await starts()
        await after()
        await task

    asyncio.run(main())
    seen = SeenCalls(tool)
    seen.expect_inside(seen.one("background"), seen.one("starts"))
    ids = {call.id for call in seen.calls}
    expect(seen.one("after").parent not in ids, "a later call is recorded inside one that has ended")


def threads_with_context(tool: RecordingTool) -> None:
    together = threading.Barrier(_WORKERS)

    @tool.decorate
    def inner(x: int) -> int:
        together.wait(60)
        return x

    @tool.decorate
    def work(x: int) -> int:
        together.wait(60)
        return inner(x)

    @tool.decorate
    def outer() -> list[int]:
        with ThreadPoolExecutor(_WORKERS) as pool:
            made = [pool.submit(contextvars.copy_context().run, work, x) for x in range(_WORKERS)]
            return [one.result() for one in made]

    expect(outer() == list(range(_WORKERS)), "the program got other results")
    seen = SeenCalls(tool)
    works, inners = seen.all("work"), seen.all("inner")
    expect(len(works) == len(inners) == _WORKERS, "calls are missing")
    for call in works:
        seen.expect_inside(call, seen.one("outer"))
        expect(sum(one.parent == call.id for one in inners) == 1, "a call is recorded inside another thread's call")


def threads_without_context(tool: RecordingTool) -> None:
    together = threading.Barrier(_WORKERS)

    @tool.decorate
    def inner(x: int) -> int:
        together.wait(60)
        return x

    @tool.decorate
    def work(x: int) -> int:
        together.wait(60)
        return inner(x)

    with ThreadPoolExecutor(_WORKERS) as pool:
        expect(list(pool.map(work, range(_WORKERS))) == list(range(_WORKERS)), "the program got other results")
        expect(list(pool.map(work, range(_WORKERS))) == list(range(_WORKERS)), "the program got other results")
    seen = SeenCalls(tool)
    works, inners = seen.all("work"), seen.all("inner")
    expect(len(works) == len(inners) == 2 * _WORKERS, "calls are missing")
    ids = {call.id for call in seen.calls}
    for call in works:
        expect(call.parent not in ids, "a call is recorded inside another thread's or an earlier one")
        expect(sum(one.parent == call.id for one in inners) == 1, "a call is recorded inside another thread's call")


CASES = (
    Case("cancelled coroutine", "the cancellation arrives; one call that ended, and not like a success", cancelled),
    Case("nested tasks (`gather`)", "each call inside that of its own task", nested_tasks),
    Case("task that outlives the call that started it", "inside that call; later calls are not", outliving_task),
    Case(
        "`ThreadPoolExecutor` with `copy_context().run`",
        "each worker's calls inside the submitting call, none mixed up",
        threads_with_context,
    ),
    Case("`ThreadPoolExecutor` as it is", "each call recorded, none inside another worker's", threads_without_context),
)

"""Asynchronous generators: read, closed, abandoned, driven by hand, cancelled."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

from benchmarks.peers.cases.case import Case
from benchmarks.peers.recorded import RecordingTool, SeenCalls, expect


def read_to_the_end(tool: RecordingTool) -> None:
    @tool.decorate
    async def inner(x: int) -> int:
        await asyncio.sleep(0)
        return x

    @tool.decorate
    async def between() -> None: ...

    @tool.decorate
    async def numbers(count: int) -> AsyncIterator[int]:
        for number in range(count):
            yield await inner(number)

    @tool.decorate
    async def consumer() -> list[int]:
        found: list[int] = []
        async for number in numbers(3):
            await between()
            found.append(number)
        return found

    expect(asyncio.run(consumer()) == [0, 1, 2], "the program got other items")
    seen = SeenCalls(tool)
    outer, generator = seen.one("consumer"), seen.one("numbers")
    seen.expect_inside(generator, outer)
    for call in seen.all("inner"):
        seen.expect_inside(call, generator)
        expect((generator.ended_ns or 0) >= (call.ended_ns or 0), "the generator's call ends before its last item")
    for call in seen.all("between"):
        seen.expect_inside(call, outer)
    expect(len(seen.all("inner")) == len(seen.all("between")) == 3, "calls are missing")


def left_early(tool: RecordingTool, leave: Callable[[Any], Awaitable[None]]) -> None:
    cleaned_up: list[bool] = []

    @tool.decorate
    async def numbers() -> AsyncIterator[int]:
        try:
            yield 1
            await asyncio.sleep(0)
            yield 2
        finally:
            await asyncio.sleep(0)
            cleaned_up.append(True)

    @tool.decorate
    async def after() -> None: ...

    @tool.decorate
    async def consumer() -> None:
        await leave(numbers())
        for _ in range(10):  # the loop closes in a task of its own what was abandoned
            await asyncio.sleep(0)
        await after()

    asyncio.run(consumer())
    expect(cleaned_up == [True], "the generator's own cleanup did not run")
    seen = SeenCalls(tool)
    generator = seen.one("numbers")
    expect(not generator.failed, "it is recorded as an error")
    seen.expect_inside(generator, seen.one("consumer"))
    seen.expect_inside(seen.one("after"), seen.one("consumer"))


async def _close(generator: Any) -> None:
    async for _ in generator:
        break
    await generator.aclose()


async def _abandon(generator: Any) -> None:
    async for _ in generator:
        break


def closed(tool: RecordingTool) -> None:
    left_early(tool, _close)


def abandoned(tool: RecordingTool) -> None:
    left_early(tool, _abandon)


def driven_by_hand(tool: RecordingTool) -> None:
    @tool.decorate
    async def echo() -> AsyncGenerator[Any, Any]:
        got = yield "ready"
        try:
            yield got
        except KeyError as error:
            yield error

    async def main() -> None:
        thrown, generator = KeyError("mine"), echo()
        expect(await anext(generator) == "ready", "the program got another item")
        expect(await generator.asend("sent") == "sent", "asend() does not reach the generator")
        expect(await generator.athrow(thrown) is thrown, "athrow() does not reach the generator")
        await generator.aclose()

    asyncio.run(main())
    expect(not SeenCalls(tool).one("echo").failed, "it is recorded as an error")


def cancelled(tool: RecordingTool) -> None:
    reached: list[str] = []

    @tool.decorate
    async def numbers() -> AsyncIterator[int]:
        yield 1
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            reached.append("generator")
            raise

    async def main() -> None:
        started = asyncio.Event()

        async def read() -> None:
            async for _ in numbers():
                started.set()

        task = asyncio.create_task(read())
        await started.wait()
        await asyncio.sleep(0)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            reached.append("task")

    asyncio.run(main())
    expect(reached == ["generator", "task"], "the cancellation does not arrive")
    call = SeenCalls(tool).one("numbers")
    expect(call.cancelled or call.failed, "it is recorded like one that succeeded")


CASES = (
    Case("async generator, read to its end", "as for a generator", read_to_the_end),
    Case("async generator, closed early (`aclose()`)", "its cleanup runs; one call that ended, no error", closed),
    Case("async generator, abandoned after `break`", "the same, when asyncio closes it", abandoned),
    Case("async generator, `asend()`, `athrow()`", "they arrive unchanged", driven_by_hand),
    Case(
        "async generator, cancelled while it waits",
        "the cancellation arrives; one call that ended, and not like a success",
        cancelled,
    ),
)

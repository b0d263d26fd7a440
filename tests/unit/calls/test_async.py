"""`@observe` in asyncio: tasks, cancellation, and asynchronous generators however they are left."""

import asyncio
import contextvars
import gc
import warnings
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.model import names
from tests.support.journal_reader import Recording

pytestmark = pytest.mark.usefixtures("quiet")


@observe
async def child(x: int = 0) -> int:
    await asyncio.sleep(0)
    return x


@observe
async def after() -> None: ...


@observe
def in_thread(x: int) -> int:
    return x


async def test_a_coroutine_is_a_call_from_its_first_step_to_its_end(recording: Recording):
    assert await child(3) == 3
    seen = recording.read()
    assert (seen.input("child"), seen.output("child")) == ({"x": 3}, 3)


async def test_tasks_gathers_and_threads_of_asyncio_belong_to_the_call_around_them(recording: Recording):
    async with playhead.run("r"):
        await asyncio.gather(child(1), child(2))
        await asyncio.create_task(child(3))
        assert await asyncio.to_thread(in_thread, 4) == 4
        async with asyncio.TaskGroup() as group:
            group.create_task(child(5))
    seen = recording.read()
    root = seen.call("r").span_id
    assert {span.parent_id for span in (*seen.calls("child"), seen.call("in_thread"))} == {root}
    assert len(seen.calls("child")) == 4


async def test_concurrent_calls_keep_their_own_children(recording: Recording):
    @observe
    async def outer(n: int) -> None:
        await child(n)
        await asyncio.sleep(0)
        await child(n)

    await asyncio.gather(outer(1), outer(2))
    seen = recording.read()
    ids = {span.span_id: seen.value(span, names.INPUT_REF)["n"] for span in seen.calls("outer")}
    assert all(ids[span.parent_id or ""] == seen.value(span, names.INPUT_REF)["x"] for span in seen.calls("child"))


async def test_context_variables_are_the_programs_own(recording: Recording):
    variable = contextvars.ContextVar("variable", default="unset")

    @observe
    async def sets() -> None:
        variable.set("set")

    await sets()
    assert variable.get() == "set"


async def test_an_exception_is_the_same_object(recording: Recording):
    problem = ValueError("x")

    @observe
    async def fail() -> None:
        raise problem

    with pytest.raises(ValueError, match="x") as caught:
        await fail()
    assert caught.value is problem


async def test_a_cancelled_call_says_so(recording: Recording):
    @observe
    async def forever() -> None:
        await asyncio.Event().wait()

    task = asyncio.create_task(forever())
    await asyncio.sleep(0)
    task.cancel("enough")
    with pytest.raises(asyncio.CancelledError) as caught:
        await task
    assert caught.value.args == ("enough",)
    assert recording.read().call("forever").attributes[names.OUTCOME] == "cancelled"


async def test_a_timeout_is_a_timeout(recording: Recording):
    @observe
    async def forever() -> None:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        await asyncio.wait_for(forever(), 0.001)
    assert recording.read().call("forever").attributes[names.OUTCOME] == "cancelled"


async def test_a_call_that_is_cancelled_before_it_began_is_none(recording: Recording):
    task = asyncio.create_task(child(1))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert recording.read().spans == []


async def test_a_coroutine_that_is_closed_is_aborted(recording: Recording):
    @observe
    async def forever() -> None:
        await asyncio.sleep(0)

    made = forever()
    made.send(None)
    made.close()
    span = recording.read().call("forever")
    assert (span.status, span.attributes[names.OUTCOME]) == (0, "aborted")


def test_a_coroutine_that_nobody_awaits_is_warned_of_once_by_its_name(recording: Recording):
    gc.collect()  # what earlier tests left, which warns of itself
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        child(1)  # pyright: ignore[reportUnusedCoroutine] - that is what is tested
        gc.collect()
    told = [str(warning.message) for warning in caught if issubclass(warning.category, RuntimeWarning)]
    assert told == ["coroutine 'child' was never awaited"]


async def test_a_function_that_returns_a_coroutine_is_observed_to_the_coroutines_end(recording: Recording):
    @observe
    def disguised(x: int) -> Awaitable[int]:
        return child(x)

    made = disguised(1)
    await after()
    assert await made == 1
    seen = recording.read()
    assert seen.output("disguised") == 1
    assert seen.parent("child") == "disguised"
    assert seen.parent("after") is None


async def test_a_decorator_that_makes_a_coroutine_a_plain_function_is_respected(recording: Recording):
    def with_thread(function: Callable[..., Awaitable[int]]) -> Callable[..., int]:
        def run(*args: Any) -> int:
            coroutine: Any = function(*args)
            with pytest.raises(StopIteration) as stop:
                coroutine.send(None)
            return stop.value.value

        run.__wrapped__ = function
        return run

    @observe
    @with_thread
    async def plain(x: int) -> int:
        return x

    assert plain(4) == 4
    assert recording.read().output("plain") == 4


@observe
async def numbers(n: int) -> AsyncGenerator[int, Any]:
    await child()
    for i in range(n):
        yield i


async def test_an_asynchronous_generator_is_a_call(recording: Recording):
    assert [i async for i in numbers(3)] == [0, 1, 2]
    seen = recording.read()
    assert seen.output("numbers") == [0, 1, 2]
    assert seen.parent("child") == "numbers"


async def test_break_leaves_siblings_with_the_right_parent(recording: Recording):
    async with playhead.run("r"):
        async for i in numbers(5):
            if i == 1:
                break
        await after()
    gc.collect()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    seen = recording.read()
    assert seen.parent("after") == "r"
    assert seen.call("numbers").attributes[names.OUTCOME] == "aborted"
    assert seen.output("numbers") == [0, 1]


async def test_aclose_and_never_started_generators(recording: Recording):
    await numbers(2).aclose()
    steps = numbers(2)
    await anext(steps)
    await steps.aclose()
    seen = recording.read()
    assert len(seen.calls("numbers")) == 1
    assert (seen.call("numbers").status, seen.output("numbers")) == (0, [0])


async def test_asend_and_athrow_reach_the_generator(recording: Recording):
    got: list[Any] = []

    @observe
    async def echo() -> AsyncGenerator[int, Any]:
        try:
            got.append((yield 1))
            yield 2
        except KeyError as error:
            got.append(error)
            yield 3

    problem = KeyError("x")
    steps = echo()
    assert await anext(steps) == 1
    assert await steps.asend("sent") == 2
    assert await steps.athrow(problem) == 3
    assert got == ["sent", problem]
    with pytest.raises(StopAsyncIteration):
        await anext(steps)
    assert recording.read().output("echo") == [1, 2, 3]


async def test_a_generator_cancelled_while_it_works_is_cancelled(recording: Recording):
    @observe
    async def slow() -> AsyncIterator[int]:
        yield 1
        await asyncio.Event().wait()

    async def consume() -> None:
        async for _ in slow():
            pass

    task = asyncio.create_task(consume())
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    span = recording.read().call("slow")
    assert span.attributes[names.OUTCOME] == "cancelled"


def test_a_loop_that_ends_closes_each_generator_once(recording: Recording):
    cleaned: list[str] = []
    told: list[Any] = []

    @observe
    async def tidy() -> AsyncIterator[int]:
        try:
            yield 1
        finally:
            await asyncio.sleep(0)
            cleaned.append("cleaned")

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: told.append(context))
        await anext(steps)

    steps = tidy()
    asyncio.run(main())
    assert (cleaned, told) == (["cleaned"], [])
    assert recording.read().call("tidy").attributes[names.OUTCOME] == "aborted"


def test_a_generator_without_a_loop_ends_when_it_is_collected(recording: Recording):
    @observe
    async def numbered() -> AsyncIterator[int]:
        yield 1
        yield 2

    def drive() -> None:
        steps = numbered()
        with pytest.raises(StopIteration):
            anext(steps).__await__().send(None)

    drive()
    gc.collect()
    assert recording.read().call("numbered").attributes[names.OUTCOME] == "aborted"


async def test_a_generator_finished_in_another_task_leaves_both_contexts_clean(recording: Recording):
    @observe
    async def blocks() -> AsyncIterator[int]:
        with observe("block"):
            yield 1
            await child()

    async with playhead.run("r"):
        steps = blocks()
        await anext(steps)
        await after()

        async def rest() -> None:
            async for _ in steps:
                pass
            with observe("in_task"):
                pass

        await asyncio.create_task(rest())
        with observe("last"):
            pass
    seen = recording.read()
    assert (seen.parent("after"), seen.parent("in_task"), seen.parent("last")) == ("r", "r", "r")
    assert seen.parent("child") == "block"


async def test_propagate_binds_a_coroutine_function(recording: Recording):
    loop = asyncio.get_running_loop()
    with playhead.run("r"):
        bound = playhead.propagate_to_thread(child)
    task = loop.create_task(bound(1), context=contextvars.Context())
    assert await task == 1
    assert recording.read().parent("child") == "r"

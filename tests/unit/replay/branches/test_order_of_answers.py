"""Answers of parallel calls come back in the order in which the calls had ended: a program may go on by that."""

import asyncio
import contextlib
import queue
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import openai
import pytest

import playhead
from playhead import observe
from playhead.replaying.ending_order import EndingOrder
from playhead.replaying.recorded_calls import recorded_calls
from playhead.rewind import RewindContext
from playhead.testing import MockModelServer, text
from playhead.testing.answers import AssistantMessage
from playhead.testing.request import ChatRequest
from tests.support.journal_reader import Recording

asked: list[str] = []


class CutOff(Exception):
    """Ends a run before it has completed."""


class Gates:
    """Calls that are executed end in this order."""

    def __init__(self) -> None:
        self._order = ""
        self._open: dict[str, asyncio.Event] = {}

    def close(self, order: str) -> None:
        self._order, self._open = order, {name: asyncio.Event() for name in order}
        self._open[order[0]].set()

    async def wait(self, name: str) -> None:
        await self._open[name].wait()

    def open_next(self, name: str) -> None:
        for following in self._order[self._order.index(name) + 1 :][:1]:
            self._open[following].set()


gates = Gates()


@pytest.fixture(autouse=True)
def nothing_asked() -> None:
    asked.clear()


@observe(kind="tool")
async def fetch(name: str) -> str:
    await gates.wait(name)
    gates.open_next(name)
    return name


@observe(kind="llm")
async def ask(what: str) -> str:
    asked.append(what)
    return f"said {what}"


async def by_completion(calls: dict[str, Callable[[], Awaitable[Any]]]) -> str:
    """Names of the calls, made at once, in the order in which their results came."""
    came: list[str] = []

    async def one(name: str) -> None:
        await calls[name]()
        came.append(name)

    await asyncio.gather(*(one(name) for name in calls))
    return "".join(came)


def attempt(work: Callable[[], Awaitable[str]], order: str, *, ends: bool) -> str:
    async def main() -> str:
        gates.close(order)
        return await ask(await work())

    with contextlib.suppress(CutOff), playhead.run("parallel") as run:
        answer = asyncio.run(main())
        if not ends:
            raise CutOff
        return answer
    return str(run.id)


def resumed(run_id: str, work: Callable[[], Awaitable[str]], order: str) -> tuple[str, RewindContext]:
    with playhead.resume(run_id) as rewound:
        return attempt(work, order, ends=True), rewound


async def fetches() -> str:
    return await by_completion({name: lambda name=name: fetch(name) for name in "abcd"})


@pytest.mark.parametrize("order", ["abcd", "dcba", "cadb", "bdac"])
def test_tools_that_tasks_call_at_once(order: str) -> None:
    run_id = attempt(fetches, order, ends=False)
    answer, rewound = resumed(run_id, fetches, order)
    assert answer == f"said {order}"
    assert asked == [order]
    assert (rewound.report.live, rewound.report.divergences) == (0, [])


async def chains() -> str:
    """Each task calls two tools, one after the other."""

    async def chain(first: str, second: str) -> None:
        await fetch(first)
        await fetch(second)

    return await by_completion({"x": lambda: chain("a", "b"), "y": lambda: chain("c", "d")})


@pytest.mark.parametrize("order", ["acbd", "acdb", "cadb", "cdab", "abcd"])
def test_chains_of_calls_in_tasks(order: str) -> None:
    run_id = attempt(chains, order, ends=False)
    [first] = asked
    answer, rewound = resumed(run_id, chains, order)
    assert (answer, asked) == (f"said {first}", [first])
    assert rewound.report.live == 0


@pytest.mark.parametrize("order", ["abc", "cba"])
def test_models_that_tasks_ask_at_once(order: str, server: MockModelServer) -> None:
    answered = {name: threading.Event() for name in order}

    def answer(request: ChatRequest) -> AssistantMessage:
        name = str(request.messages[-1]["content"])
        for before in order[: order.index(name)]:
            assert answered[before].wait(60)
        return text(name)

    async def models() -> str:
        async with openai.AsyncOpenAI(base_url=server.base_url, api_key="none", max_retries=0) as client:

            async def model(name: str) -> None:
                create = client.chat.completions.create
                await create(model="gpt-4o-mini", messages=[{"role": "user", "content": name}])
                answered[name].set()

            return await by_completion({name: lambda name=name: model(name) for name in "abc"})

    server.otherwise(answer)
    run_id = attempt(models, order, ends=False)
    assert asked == [order]
    said, rewound = resumed(run_id, models, order)
    assert (said, asked) == (f"said {order}", [order])
    assert rewound.report.live == 0


def test_a_program_that_has_changed_goes_on_when_nobody_comes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLAYHEAD_REPLAY_WAIT_SECONDS", "0.02")
    run_id = attempt(fetches, "dcba", ends=False)

    async def one() -> str:
        idle = asyncio.create_task(asyncio.Event().wait())
        try:
            return await fetch("a")
        finally:
            idle.cancel()

    with playhead.resume(run_id, on_divergence="live") as rewound:
        assert attempt(one, "abcd", ends=True) == "said a"
    assert asked == ["dcba", "a"]
    assert rewound.report.answered == 1


@pytest.fixture
def threads_are_not_interrupted() -> Iterator[None]:
    """Else another thread may run between the return of a call and the program's note of it."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(0.5)
    yield
    sys.setswitchinterval(before)


class ThreadGates:
    """Calls that are executed end in this order; the next one ends when the program has noted the one before."""

    def __init__(self, order: str) -> None:
        self._order, self._open = order, {name: threading.Event() for name in order}
        self._open[order[0]].set()

    def wait(self, name: str) -> None:
        assert self._open[name].wait(60)

    def open_next(self, name: str) -> None:
        for following in self._order[self._order.index(name) + 1 :][:1]:
            self._open[following].set()


def in_threads(order: str, *, workers: int, ends: bool, calls: str = "abcd") -> str:
    """Four tools at once, in a pool; the model is asked for the order in which they came."""
    open_gates, came = ThreadGates(order), queue.SimpleQueue[str]()
    all_began = threading.Barrier(workers)

    @observe(kind="tool")
    def look(name: str) -> str:
        all_began.wait(60)  # one that ends before another begins is not parallel to it, and may come in any order
        open_gates.wait(name)
        return name

    @observe(kind="llm")
    def ask_here(what: str) -> str:
        asked.append(what)
        return f"said {what}"

    def job(name: str) -> None:
        came.put(look(name))
        open_gates.open_next(name)

    with contextlib.suppress(CutOff), playhead.run("threads") as run:
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(playhead.propagate_to_thread(job), calls))
        answer = ask_here("".join(came.get() for _ in order))
        if not ends:
            raise CutOff
        return answer
    return str(run.id)


@pytest.mark.usefixtures("threads_are_not_interrupted")
@pytest.mark.parametrize("order", ["abcd", "dcba", "cadb", "bdac"])
def test_tools_that_threads_call_at_once(order: str) -> None:
    run_id = in_threads(order, workers=4, ends=False)
    with playhead.resume(run_id) as rewound:
        assert in_threads(order, workers=4, ends=True) == f"said {order}"
    assert asked == [order]
    assert (rewound.report.live, rewound.report.divergences) == (0, [])


def test_a_pool_with_fewer_workers_than_it_had_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The call that is waited for is queued behind the one that waits."""
    monkeypatch.setenv("PLAYHEAD_REPLAY_WAIT_SECONDS", "0.1")
    run_id = in_threads("dcba", workers=4, ends=False)
    with playhead.resume(run_id, on_divergence="live") as rewound:
        assert in_threads("dcba", workers=1, ends=True) == "said abcd"
    assert rewound.report.answered == 4


def test_a_thread_gives_the_program_time_to_take_the_answer_before(recording: Recording) -> None:
    """`as_completed` gives either first of two that have come."""
    in_threads("ba", workers=2, ends=False, calls="ab")
    now = 5.0
    tools = [call for call in recorded_calls(recording.read().spans) if call.kind == "tool"]
    first, second = sorted(tools, key=lambda call: call.ended or (0, 0))
    order = EndingOrder([first, second], lambda: now)
    assert (order.rest_seconds(first), order.is_due(second)) == (0, False)
    order.deliver(first)
    assert order.is_due(second)
    assert 0 < order.rest_seconds(second) < 0.1
    now = 6.0
    assert order.rest_seconds(second) < 0

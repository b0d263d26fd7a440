"""Parallel branches come in any order: no order of arrival is a divergence, no completed call is made again, and each
call keeps its idempotency key."""

import asyncio
import contextlib
import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import playhead
from playhead import observe
from playhead.errors import ReplayDiverged
from playhead.model import names
from playhead.model.canonical import value_of
from playhead.model.span import Span
from playhead.replaying import lifecycle
from playhead.replaying.record import LocalRecord
from playhead.replaying.recorded_calls import Outcome, recorded_calls
from tests.support.journal_reader import Recording

executed: list[str] = []
keys: dict[str, list[str | None]] = {}
_mutex = threading.Lock()
_shuffled = random.Random()
_ANNOUNCED = frozenset({"agent", "llm", "tool"})


@pytest.fixture(autouse=True)
def nothing_executed() -> None:
    executed.clear()
    keys.clear()


async def anywhere() -> None:
    """Others may come first, or not."""
    for _ in range(_shuffled.randrange(6)):
        await asyncio.sleep(0)


def did(what: str) -> str:
    with _mutex:
        executed.append(what)
        keys.setdefault(what, []).append(playhead.idempotency_key())
    return what.upper()


@observe(kind="tool")
async def fetch(what: str) -> str:
    await anywhere()
    return did(what)


@observe(kind="tool")
def write(what: str) -> str:
    return did(what)


@observe(kind="llm")
async def ask(what: str) -> str:
    await anywhere()
    return f"said {what}"


async def plain(number: int) -> list[str]:
    """Not observed itself: its calls stand directly in what is around it."""
    await anywhere()
    said = await ask(f"question {number}")
    return [said, await fetch(f"page {number}"), write(f"row {number}"), await fetch("the same for all")]


@observe
async def branch(number: int) -> list[str]:
    await anywhere()
    wrote = write(f"branch {number}")
    return [wrote, *await asyncio.gather(*(fetch(f"leaf {number}{each}") for each in "ab"))]


@observe(kind="agent", name="helper")
async def helper(number: int) -> list[str]:
    await anywhere()
    return [await fetch(f"help {number}"), await asyncio.to_thread(write, f"thread {number}")]


async def program() -> list[Any]:
    first = await fetch("first")
    found = await asyncio.gather(*(kind(number) for kind in (plain, branch, helper) for number in (1, 2)))
    return [first, found, await fetch("last"), write("end")]


def attempt() -> tuple[str, Any]:
    with playhead.run("parallel") as run:
        result = asyncio.run(program())
    assert run.id is not None
    return run.id, result


def cut(record: LocalRecord, last: int) -> LocalRecord:
    """The record as a crash leaves it after so many starts: what ended later is open, and what began later is missing;
    of a step, the journal hears when it ends."""
    found: list[Span] = []
    for span in record.spans:
        attributes = span.attributes
        if int(attributes[names.CALL_ORDER]) > last:
            continue
        if span.end_ns is not None and int(attributes[names.CALL_ENDED_AFTER]) < last:
            found.append(span)
        elif attributes[names.KIND] in _ANNOUNCED:
            ends = (names.CALL_ENDED_AFTER, names.CALL_END_ORDER)
            left = {name: value for name, value in attributes.items() if name not in ends}
            found.append(replace(span, end_ns=None, attributes=left))
    record.spans = found
    return record


def cutting(patch: pytest.MonkeyPatch, last: int) -> list[LocalRecord]:
    """Every record that is read from now on is cut; the list has them."""
    whole: Callable[..., Any] = lifecycle.read_record
    read: list[LocalRecord] = []

    def read_cut(*given: Any) -> LocalRecord:
        read.append(cut(whole(*given), last))
        return read[-1]

    patch.setattr(lifecycle, "read_record", read_cut)
    return read


@settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    derandomize=True,
)
@given(seed=st.integers(0, 2**32), again=st.integers(0, 2**32), last=st.integers(1, 33))
def test_no_order_of_arrival_is_a_divergence(seed: int, again: int, last: int):
    executed.clear()
    keys.clear()
    _shuffled.seed(seed)
    run_id, expected = attempt()
    before = {what: list(found) for what, found in keys.items()}
    with pytest.MonkeyPatch.context() as patch:
        read = cutting(patch, last)
        executed.clear()
        keys.clear()
        _shuffled.seed(again)
        with playhead.resume(run_id, in_doubt="rerun") as resumed:
            assert attempt() == (run_id, expected)
    tools = [call for call in recorded_calls(read[0].spans) if call.kind == "tool"]
    open_ = Counter(call.call_path for call in tools if call.outcome is Outcome.IN_DOUBT)
    contents = [read[0].content(ref) for call in tools if (ref := call.ref(names.TOOL_ARGUMENTS_REF)) is not None]
    begun = {value_of(content)["what"] for content in contents if content is not None}
    assert len(begun) >= len(tools) - 1  # two of them are the same
    assert resumed.report.divergences == []
    assert resumed.not_called_again == []
    assert len(executed) == len([what for each in before.values() for what in each]) - len(tools) + open_.total()
    assert Counter(place for place in resumed.report.in_doubt if place.endswith(":tool")) == open_
    for what, found in keys.items():
        assert len(set(found)) == len(found), f"one key for two calls of {what}"
        if len(before[what]) == 1 and what in begun:
            assert found == before[what], "another key than the call had"


def test_equal_calls_in_parallel_keep_their_keys_whoever_comes_first():
    """One of two equal payments had completed, the other one is in doubt: it has its own key, not the first one's."""
    for seed in range(8):
        executed.clear()
        keys.clear()
        _shuffled.seed(seed)

        async def pays() -> list[str]:
            return await asyncio.gather(*(fetch("pay 5") for _ in range(3)))

        def paying() -> str:
            with playhead.run("pays") as run:
                asyncio.run(pays())
            return str(run.id)

        run_id = paying()
        first = set(keys["pay 5"])
        assert len(first) == 3
        with pytest.MonkeyPatch.context() as patch:
            cutting(patch, 4)
            keys.clear()
            with playhead.resume(run_id, in_doubt="rerun"):
                assert paying() == run_id
        assert set(keys["pay 5"]) <= first
        assert len(set(keys["pay 5"])) == len(keys["pay 5"])


def test_threads_of_a_pool_come_in_any_order_and_a_changed_argument_among_them_is_told():
    def pooled(*numbers: int) -> list[str]:
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(playhead.propagate_to_thread(lambda number: write(f"row {number}")), numbers))

    def run(*numbers: int, is_cut_off: bool = False) -> str:
        with contextlib.suppress(ConnectionError), playhead.run("pool") as run:
            pooled(*numbers)
            if is_cut_off:
                raise ConnectionError
        return str(run.id)

    ids = [run(1, 2, 3, 4, is_cut_off=True) for _ in range(3)]
    executed.clear()
    with playhead.resume(ids[0]) as resumed:
        run(4, 2, 3, 1)
    assert (executed, resumed.report.divergences) == ([], [])
    with playhead.resume(ids[1]) as resumed:
        run(5, 4, 3, 2, 1)
    assert (executed, resumed.report.divergences) == (["row 5"], [])
    executed.clear()
    with pytest.raises(ReplayDiverged), playhead.resume(ids[2]):
        run(1, 2, 9, 4)
    assert executed == []


def test_a_call_waits_as_long_as_other_branches_go_on(recording: Recording):
    """Time alone decides nothing: on a busy machine, branches may need longer than that to come."""
    recording.configure(replay_wait_seconds=0.5)  # less than the slow branch takes, and a tenth of the longest wait

    async def slow(pause: float) -> None:
        for number in range(30):
            await asyncio.create_task(fetch(f"slow {number}"))
            await asyncio.sleep(pause)

    async def quick() -> list[str]:
        return [await fetch("new"), await asyncio.to_thread(write, "new in a thread")]

    async def program(*branches: Any) -> Any:
        return await asyncio.gather(*branches)

    with contextlib.suppress(ConnectionError), playhead.run("late") as first:
        asyncio.run(program(slow(0)))
        raise ConnectionError
    executed.clear()
    with playhead.resume(str(first.id)) as resumed, playhead.run("late"):
        _, new = asyncio.run(program(slow(0.02), quick()))
    assert (new, resumed.report.divergences) == (["NEW", "NEW IN A THREAD"], [])
    assert executed == ["new", "new in a thread"]

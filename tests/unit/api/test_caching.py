"""Results of functions that are kept for some time: keys, time to live, one flight, copies, tools, users, resumes."""

import asyncio
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest

import playhead
from playhead import cached, observe
from playhead.api.argument_keys import NotAKey, key_text
from playhead.api.result_cache import Flight, ResultCache
from playhead.model import names
from tests.support.journal_reader import Recording


class Clock:
    now = 1_000.0

    def __call__(self) -> float:
        return self.now


# --- the cache --------------------------------------------------------------------------------------------------------


def test_a_result_is_given_out_until_its_time_is_over():
    clock = Clock()
    cache = ResultCache(10.0, 5, clock)
    assert cache.look_up("a") is None
    cache.store("a", "result")
    clock.now += 9.9
    assert cache.look_up("a") == ("result",)
    assert cache.statistics.items == 1
    clock.now += 0.1
    assert cache.statistics.items == 0
    assert cache.look_up("a") is None
    assert (cache.statistics.hits, cache.statistics.misses, cache.statistics.expired) == (1, 2, 1)


def test_the_least_recently_used_result_goes_first():
    cache = ResultCache(None, 2)
    for key in "ab":
        cache.look_up(key)
        cache.store(key, key)
    cache.look_up("a")
    cache.look_up("c")
    cache.store("c", "c")
    assert cache.look_up("a") == ("a",)
    assert cache.look_up("b") is None
    assert cache.statistics.evicted == 1


def test_a_flight_of_another_process_is_not_waited_for(monkeypatch: pytest.MonkeyPatch):
    cache = ResultCache(None, 2)
    cache.look_up("a")
    assert isinstance(cache.look_up("a"), Flight)
    monkeypatch.setattr("os.getpid", lambda: 1)  # as in a forked child
    assert cache.look_up("a") is None


# --- keys -------------------------------------------------------------------------------------------------------------


@dataclass
class Place:
    city: str
    zip: int


def test_arguments_that_are_equal_in_value_and_type_have_one_key():
    assert key_text({"a": 1, "b": {2, 3}}) == key_text({"b": {3, 2}, "a": 1})
    assert key_text(Place("Bern", 3000)) == key_text(Place("Bern", 3000)) != key_text(Place("Bern", 3001))
    different = [1, 1.0, True, "1", b"1", [1], (1,), {1}, None, {"1": 1}, {1: 1}, Place("1", 1)]
    assert len({key_text(value) for value in different}) == len(different)


def test_texts_cannot_pretend_to_be_other_arguments():
    assert key_text(["a', 'b"]) != key_text(["a", "b"])
    assert key_text("\ud800") == key_text("\ud800")


def test_an_object_whose_equality_is_not_known_is_no_key(quiet: None):
    for value in (object(), [threading.Lock()], lambda: 1):
        with pytest.raises(NotAKey, match="no plain value"):
            key_text(value)
    nested: list[Any] = []
    nested.append(nested)
    with pytest.raises(NotAKey, match="too deeply"):
        key_text(nested)


# --- the decorator ----------------------------------------------------------------------------------------------------


def test_the_same_arguments_are_computed_once_however_they_are_given(quiet: None):
    calls: list[Any] = []

    @cached(ttl=timedelta(minutes=5))
    def load(user: str, limit: int = 10) -> str:
        """Loads."""
        calls.append((user, limit))
        return f"{user} {limit}"

    assert [load("a"), load(user="a"), load("a", 10), load("a", limit=11)] == ["a 10", "a 10", "a 10", "a 11"]
    assert calls == [("a", 10), ("a", 11)]
    assert (load.cache.statistics.hits, load.cache.statistics.misses) == (2, 2)
    assert load.cache.statistics.hit_share == 0.5
    load.cache.clear()
    load("a")
    assert len(calls) == 3
    assert (load.__name__, load.__doc__) == ("load", "Loads.")  # pyright: ignore[reportAttributeAccessIssue]
    assert list(inspect.signature(load).parameters) == ["user", "limit"]


def test_what_a_caller_does_to_its_result_changes_nobody_else_s(quiet: None):
    @cached
    def load() -> dict[str, list[int]]:
        return {"items": [1]}

    first = load()
    first["items"].append(2)
    second = load()
    second["items"].append(3)
    assert load() == {"items": [1]}


def test_a_result_that_cannot_be_copied_is_returned_and_not_kept(caplog: pytest.LogCaptureFixture):
    lock = threading.Lock()

    @cached
    def make() -> Any:
        return lock

    assert make() is make() is lock
    assert make.cache.statistics.uncached == 2
    assert "cannot be copied" in caplog.text


def test_errors_are_not_kept(quiet: None):
    tries: list[int] = []

    @cached
    def load() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("not now")
        return 7

    with pytest.raises(ValueError, match="not now"):
        load()
    assert (load(), load(), len(tries)) == (7, 7, 2)


def test_an_argument_that_is_no_plain_value_is_called_without_the_cache(caplog: pytest.LogCaptureFixture):
    class Client:
        pass

    calls: list[Any] = []

    @cached
    def load(client: Client) -> int:
        calls.append(client)
        return len(calls)

    client = Client()
    assert [load(client), load(client)] == [1, 2]
    assert load.cache.statistics.uncached == 2
    assert "load is called without its cache: an argument is a Client" in caplog.text


def test_wrong_arguments_raise_the_function_s_own_error(quiet: None):
    @cached
    def load(x: int) -> int:
        return x

    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        load()  # pyright: ignore[reportCallIssue]


def test_a_function_that_calls_itself_with_the_same_arguments_does_not_wait_for_itself(quiet: None):
    depth = [0]

    @cached
    def load(x: int) -> int:
        depth[0] += 1
        return load(x) + 1 if depth[0] < 3 else 0

    assert load(1) == 2


def test_what_makes_no_sense_is_refused():
    with pytest.raises(ValueError, match="both have to be above 0"):
        cached(ttl=0)
    with pytest.raises(ValueError, match="both have to be above 0"):
        cached(max_items=0)
    with pytest.raises(TypeError, match="generator"):

        @cached
        def items():
            yield 1


# --- one flight -------------------------------------------------------------------------------------------------------


def in_threads(work: Callable[[], Any], count: int) -> list[Any]:
    results: list[Any] = []

    def run() -> None:
        try:
            results.append(work())
        except ValueError as error:
            results.append(str(error))

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return results


def test_threads_that_ask_at_once_wait_for_one_computation(quiet: None):
    begun, go_on, calls = threading.Event(), threading.Event(), []

    @cached
    def load() -> list[int]:
        calls.append(1)
        begun.set()
        assert go_on.wait(60)
        return [1]

    look_up, looked_up = load.cache.look_up, threading.Semaphore(0)

    def counting(key: str) -> Any:
        found = look_up(key)
        looked_up.release()
        return found

    load.cache.look_up = counting

    def let_go() -> None:
        for _ in range(8):
            assert looked_up.acquire(timeout=60)
        go_on.set()

    helper = threading.Thread(target=let_go)
    helper.start()
    results = in_threads(load, 8)
    helper.join(60)
    assert results == [[1]] * 8
    assert len({id(result) for result in results}) == 8
    assert len(calls) == 1
    assert (load.cache.statistics.misses, load.cache.statistics.waits) == (1, 7)


async def test_tasks_that_ask_at_once_wait_for_one_computation(quiet: None):
    calls: list[int] = []
    go_on = asyncio.Event()

    @cached
    async def load(x: int) -> list[int]:
        calls.append(x)
        await go_on.wait()
        return [x]

    assert inspect.iscoroutinefunction(load)
    tasks = [asyncio.create_task(load(1)) for _ in range(5)]
    await asyncio.sleep(0)
    go_on.set()
    results = await asyncio.gather(*tasks)
    assert results == [[1]] * 5
    assert len({id(result) for result in results}) == 5
    assert calls == [1]
    assert await load(1) == [1]


async def test_the_others_go_on_when_the_task_that_computes_is_cancelled_or_one_of_them_is(quiet: None):
    calls: list[int] = []
    go_on = asyncio.Event()

    @cached
    async def load() -> int:
        calls.append(1)
        await go_on.wait()
        return len(calls)

    tasks = [asyncio.create_task(load()) for _ in range(4)]
    await asyncio.sleep(0)
    tasks[1].cancel()  # one that waits
    await asyncio.sleep(0)
    tasks[0].cancel()  # the one that computes
    for _ in range(5):
        await asyncio.sleep(0)
    go_on.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)
    assert [isinstance(result, asyncio.CancelledError) for result in results] == [True, True, False, False]
    assert len(calls) == 3  # each of the two that were left computes for itself


def test_if_the_computation_fails_each_caller_computes_for_itself(quiet: None):
    calls: list[int] = []
    all_in = threading.Barrier(3, timeout=60)

    @cached
    def load() -> int:
        first = not calls
        calls.append(1)
        if first:
            all_in.wait()
            raise ValueError("down")
        return 5

    waiting = load.cache.look_up

    def looked_up(key: str) -> Any:
        found = waiting(key)
        if isinstance(found, Flight):
            all_in.wait()
        return found

    load.cache.look_up = looked_up
    assert sorted(map(str, in_threads(load, 3))) == ["5", "5", "down"]
    assert len(calls) == 3


# --- tools and users --------------------------------------------------------------------------------------------------


def test_a_tool_that_writes_is_never_cached(caplog: pytest.LogCaptureFixture):
    calls: list[str] = []

    @cached
    @observe(kind="tool")
    def send(text: str) -> str:
        calls.append(text)
        return "sent"

    @cached
    @observe(kind="tool", idempotent=True)
    def look_up(text: str) -> str:
        calls.append(text)
        return "found"

    assert [send("a"), send("a"), look_up("b"), look_up("b")] == ["sent", "sent", "found", "found"]
    assert calls == ["a", "a", "b"]
    assert "send is a tool that writes" in caplog.text


def test_results_belong_to_the_user_of_the_run_unless_they_are_shared(quiet: None):
    calls: list[str] = []

    @cached
    def own(x: int) -> int:
        calls.append("own")
        return x

    @cached(shared=True)
    def everybody_s(x: int) -> int:
        calls.append("shared")
        return x

    for user in ("ann", "ben", "ann", None):
        with playhead.run("answer", user=user):
            own(1)
            everybody_s(1)
    assert calls == ["own", "shared", "own", "own"]


# --- in runs ----------------------------------------------------------------------------------------------------------


def test_in_a_run_a_cached_call_is_a_step_that_says_whether_it_was_computed(recording: Recording, quiet: None):
    @cached
    def load(x: int) -> dict[str, int]:
        return inner(x)

    @observe(kind="tool", idempotent=True)
    def inner(x: int) -> dict[str, int]:
        return {"x": x}

    with playhead.run("first"):
        load(1)
    with playhead.run("second"):
        load(1)
    journaled = recording.read()
    first, second = journaled.calls("load")
    assert [span.attributes[names.CACHE] for span in (first, second)] == ["miss", "hit"]
    assert journaled.value(second, names.OUTPUT_REF) == {"x": 1}
    assert len(journaled.calls("inner")) == 1


def test_outside_a_run_a_cached_call_begins_none(recording: Recording, quiet: None):
    @cached
    def load() -> int:
        return 1

    load()
    assert recording.read().spans == []


@pytest.mark.parametrize("is_hit", [True, False], ids=["a hit", "a miss"])
def test_on_resume_the_record_counts_however_old_it_is(is_hit: bool, quiet: None):
    clock, versions = Clock(), iter(range(10))

    @cached(ttl=10)
    def load() -> dict[str, int]:
        return {"version": next(versions)}

    load.cache._clock = clock
    if is_hit:
        load()
    seen: list[Any] = []
    ids: list[str] = []

    def program(*, fails: bool) -> None:
        with playhead.run("agent") as run:
            ids.append(str(run.id))
            seen.append(load())
            if fails:
                raise RuntimeError("killed")
            seen.append(load())

    with pytest.raises(RuntimeError):
        program(fails=True)
    clock.now += 11
    load()  # another request has loaded a newer one
    with playhead.resume(ids[0]):
        program(fails=False)
    assert seen == [{"version": 0}, {"version": 0}, {"version": 2}]

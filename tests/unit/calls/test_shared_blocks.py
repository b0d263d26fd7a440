"""One block object used by several threads, tasks and generators at once: each entering has a call of its own."""

import asyncio
import threading
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from typing import Any

import pytest

import playhead
from playhead import observe
from playhead.model import names
from tests.support.journal_reader import Recording

pytestmark = pytest.mark.usefixtures("quiet")

MAKERS: dict[str, Callable[[], Any]] = {"observe": lambda: observe("shared"), "run": lambda: playhead.run("shared")}


@pytest.fixture(params=MAKERS)
def block(request: pytest.FixtureRequest) -> Any:
    return MAKERS[request.param]()


def in_steps(*steps: Callable[[Callable[[], None]], None]) -> None:
    """Runs each in a thread of its own; each gives its turn to the next with the function that it is given, and goes
    on when all others have had theirs."""
    turns = [threading.Semaphore(0) for _ in steps]

    def work(place: int) -> None:
        def give() -> None:
            turns[(place + 1) % len(steps)].release()
            assert turns[place].acquire(timeout=60)

        assert turns[place].acquire(timeout=60)
        steps[place](give)
        turns[(place + 1) % len(steps)].release()

    with ThreadPoolExecutor(len(steps)) as pool:
        done = [pool.submit(work, place) for place in range(len(steps))]
        turns[0].release()
        for one in done:
            one.result(60)


@pytest.mark.parametrize("sampled_first", [True, False])
@pytest.mark.parametrize("stacked", [False, True], ids=["with", "ExitStack"])
def test_a_run_that_is_not_sampled_ends_no_other_run_s_block(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, block: Any, sampled_first: bool, stacked: bool
):
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    recording.configure()
    ids = iter([2**128 - 1, 1] if not sampled_first else [1, 2**128 - 1])  # the ratio looks at the low 64 bits
    monkeypatch.setattr("playhead.calls.begin.new_trace_id", lambda: next(ids))

    def work(give: Callable[[], None]) -> None:
        with playhead.run("outer") as outer:
            if stacked:
                with ExitStack() as stack:
                    stack.enter_context(block)
                    say(outer, give)
            else:
                with block:
                    say(outer, give)
            give()

    def say(outer: Any, give: Callable[[], None]) -> None:
        give()
        block.output("sampled" if outer.id else "dropped")
        give()

    in_steps(work, work)
    seen = recording.read()
    assert len(seen.calls("outer")) == 1
    shared = seen.call("shared")
    assert seen.value(shared, names.OUTPUT_REF) == "sampled"
    assert shared.parent_id == seen.call("outer").span_id
    assert not any(b"dropped" in content.data for content in seen.contents.values())


@pytest.mark.parametrize("sampled_first", [True, False])
@pytest.mark.parametrize("stacked", [False, True], ids=["with", "ExitStack"])
def test_a_block_that_begins_a_run_that_is_not_sampled_ends_no_other_run(
    recording: Recording, monkeypatch: pytest.MonkeyPatch, block: Any, sampled_first: bool, stacked: bool
):
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    recording.configure()
    ids = iter([2**128 - 1, 1] if not sampled_first else [1, 2**128 - 1])
    monkeypatch.setattr("playhead.calls.begin.new_trace_id", lambda: next(ids))
    ended: list[int] = []

    def work(give: Callable[[], None]) -> None:
        with ExitStack() as stack:
            if stacked:
                stack.enter_context(block)
                give()
            else:
                with block:
                    give()
        ended.append(len(recording.read().calls("shared")))

    in_steps(work, work)
    assert ended == ([1, 1] if sampled_first else [0, 1])


def test_threads_that_overlap_end_their_own(recording: Recording, block: Any):
    def work(n: int) -> Callable[[Callable[[], None]], None]:
        def steps(give: Callable[[], None]) -> None:
            with playhead.run(f"outer {n}"):
                give()
                with block:
                    give()
                    block.output(n)
                    give()

        return steps

    in_steps(*map(work, range(4)))
    seen = recording.read()
    parents = {
        span.span_id: span.attributes[names.RUN_NAME] for span in seen.spans if names.RUN_NAME in span.attributes
    }
    said = {parents[str(span.parent_id)]: seen.value(span, names.OUTPUT_REF) for span in seen.calls("shared")}
    assert said == {f"outer {n}": n for n in range(4)}


async def test_tasks_that_overlap_end_their_own(recording: Recording, block: Any):
    entered = asyncio.Barrier(3)

    async def work(n: int) -> None:
        async with block:
            await entered.wait()
            with observe(f"inside {n}"):
                await asyncio.sleep(0)
                block.output(n)
            await entered.wait()

    async def main() -> None:
        await asyncio.gather(*map(work, range(3)))

    with playhead.run("outer"):
        await main()
    seen = recording.read()
    by_id = {span.span_id: span for span in seen.spans}
    assert len(seen.calls("shared")) == 3
    for n in range(3):
        [inside] = [span for span in seen.spans if span.name == f"inside {n}"]
        assert seen.value(by_id[str(inside.parent_id)], names.OUTPUT_REF) == n


@pytest.mark.parametrize("first_to_end", [0, 1])
def test_generators_in_turns_that_enter_one_block_are_one_call_with_a_warning(
    recording: Recording, block: Any, caplog: pytest.LogCaptureFixture, first_to_end: int
):
    def steps(n: int) -> Generator[None]:
        with block:
            yield
            block.output(n)
            yield

    with playhead.run("outer") as outer:
        both = steps(1), steps(2)
        for _ in range(2):
            for one in both:
                next(one)
        both[first_to_end].close()
        assert recording.read().calls("shared") == []
        both[1 - first_to_end].close()
        assert playhead.current_run_id() == outer.id
        with observe("after"):
            pass
    seen = recording.read()
    assert [seen.value(span, names.OUTPUT_REF) for span in seen.calls("shared")] == [2]
    assert seen.call("after").parent_id == seen.call("outer").span_id
    assert "the block 'shared' is entered inside itself" in caplog.text
    caplog.clear()


def test_a_block_inside_itself_is_one_call_with_a_warning(
    recording: Recording, block: Any, caplog: pytest.LogCaptureFixture
):
    def deeper(levels: int) -> None:
        with block:
            if levels:
                deeper(levels - 1)
            with observe(f"level {levels}"):
                pass

    with block, block:
        deeper(2)
    with block:
        pass
    seen = recording.read()
    first, _ = seen.calls("shared")
    assert [span.parent_id for span in seen.spans if span.name.startswith("level")] == [first.span_id] * 3
    assert caplog.text.count("is entered inside itself") == 1
    caplog.clear()


async def test_a_task_may_enter_a_block_that_is_entered_around_it(recording: Recording, block: Any):
    async def work(n: int) -> None:
        async with block:
            await asyncio.sleep(0)
            block.output(n)
            await asyncio.sleep(0)

    async with block:
        await asyncio.gather(*map(work, range(3)))
        block.output("around")
    seen = recording.read()
    [around] = [span for span in seen.calls("shared") if seen.value(span, names.OUTPUT_REF) == "around"]
    inside = [span for span in seen.calls("shared") if span is not around]
    assert {span.parent_id for span in inside} == {around.span_id}
    assert sorted(seen.value(span, names.OUTPUT_REF) for span in inside) == [0, 1, 2]


async def test_a_task_that_cannot_enter_a_block_leaves_the_one_around_it_open(
    recording: Recording, block: Any, monkeypatch: pytest.MonkeyPatch
):
    def refuse(span: Any) -> None:
        raise ValueError("refused")

    async def work() -> None:
        with monkeypatch.context() as patch:
            patch.setattr("playhead.calls.blocks.enter", refuse)
            with suppress(ValueError):
                async with block:
                    raise AssertionError

    async with block:
        await asyncio.gather(work())
        block.output("around")
    spans = recording.read().calls("shared")
    assert [(span.status, span.parent_id) for span in spans] == [(2, spans[1].span_id), (0, None)]
    assert block._entered._open == []


@pytest.mark.parametrize("fails", [False, True])
def test_the_error_of_a_block_inside_itself_is_the_error_of_the_one_call(
    recording: Recording, block: Any, fails: bool, caplog: pytest.LogCaptureFixture
):
    with block:
        with suppress(ValueError), block:
            raise ValueError("inner")
        with suppress(KeyError), block:
            pass
    with suppress(ValueError), block, block:
        if fails:
            raise ValueError("both")
    assert [span.status for span in recording.read().calls("shared")] == [0, 2 if fails else 0]
    assert caplog.text.count("is entered inside itself") == 1
    caplog.clear()


def test_an_error_in_one_thread_is_the_error_of_its_own_block(recording: Recording, block: Any):
    def fails(give: Callable[[], None]) -> None:
        with pytest.raises(ValueError, match="mine"), playhead.run("fails"), block:  # noqa: PT012
            give()
            raise ValueError("mine")

    def works(give: Callable[[], None]) -> None:
        with playhead.run("works"), block:
            give()

    in_steps(fails, works)
    seen = recording.read()
    runs = {
        span.attributes[names.RUN_ID]: span.attributes[names.RUN_NAME]
        for span in seen.spans
        if names.RUN_NAME in span.attributes
    }
    assert {runs[span.attributes[names.RUN_ID]]: span.status for span in seen.calls("shared")} == {
        "fails": 2,
        "works": 0,
    }


def test_nothing_of_a_block_that_was_left_is_kept(recording: Recording, block: Any):
    for _ in range(3):
        with playhead.run("outer"), block:
            pass
    assert block._entered._open == []

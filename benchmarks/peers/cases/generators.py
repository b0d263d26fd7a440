"""Generators: read, closed, dropped, driven by hand, failing."""

import gc
from collections.abc import Generator, Iterator
from typing import Any

from benchmarks.peers.cases.case import Case
from benchmarks.peers.recorded import RecordingTool, SeenCalls, expect


def read_to_the_end(tool: RecordingTool) -> None:
    @tool.decorate
    def inner(x: int) -> int:
        return x

    @tool.decorate
    def between() -> None: ...

    @tool.decorate
    def numbers(count: int) -> Iterator[int]:
        for number in range(count):
            yield inner(number)

    @tool.decorate
    def consumer() -> list[int]:
        found: list[int] = []
        for number in numbers(3):
            between()
            found.append(number)
        return found

    expect(consumer() == [0, 1, 2], "the program got other items")
    seen = SeenCalls(tool)
    outer, generator = seen.one("consumer"), seen.one("numbers")
    seen.expect_inside(generator, outer)
    for call in seen.all("inner"):
        seen.expect_inside(call, generator)
        expect((generator.ended_ns or 0) >= (call.ended_ns or 0), "the generator's call ends before its last item")
    for call in seen.all("between"):
        seen.expect_inside(call, outer)
    expect(len(seen.all("inner")) == len(seen.all("between")) == 3, "calls are missing")


def left_early(tool: RecordingTool, *, close: bool) -> None:
    cleaned_up: list[bool] = []

    @tool.decorate
    def numbers() -> Iterator[int]:
        try:
            yield 1
            yield 2
        finally:
            cleaned_up.append(True)

    @tool.decorate
    def after() -> None: ...

    @tool.decorate
    def consumer() -> None:
        generator: Any = numbers()
        expect(next(generator) == 1, "the program got another item")
        if close:
            generator.close()
        del generator
        gc.collect()
        expect(cleaned_up == [True], "the generator's own cleanup did not run")
        after()

    consumer()
    seen = SeenCalls(tool)
    generator = seen.one("numbers")
    expect(not generator.failed, "it is recorded as an error")
    seen.expect_inside(generator, seen.one("consumer"))
    seen.expect_inside(seen.one("after"), seen.one("consumer"))


def closed(tool: RecordingTool) -> None:
    left_early(tool, close=True)


def dropped(tool: RecordingTool) -> None:
    left_early(tool, close=False)


def driven_by_hand(tool: RecordingTool) -> None:
    @tool.decorate
    def echo() -> Generator[Any, Any, str]:
        got = yield "ready"
        try:
            yield got
        except KeyError as error:
            yield error
        return "end"

    @tool.decorate
    def outer() -> Generator[Any, Any, str]:
        return (yield from echo())

    thrown, generator = KeyError("mine"), outer()
    expect(next(generator) == "ready", "the program got another item")
    expect(generator.send("sent") == "sent", "send() does not reach the generator")
    expect(generator.throw(thrown) is thrown, "throw() does not reach the generator")
    try:
        next(generator)
    except StopIteration as stop:
        expect(stop.value == "end", "the return value is lost")
    seen = SeenCalls(tool)
    seen.expect_inside(seen.one("echo"), seen.one("outer"))


def failing(tool: RecordingTool) -> None:
    problem = ValueError("no more")

    @tool.decorate
    def numbers() -> Iterator[int]:
        yield 1
        raise problem

    try:
        list(numbers())
    except ValueError as error:
        expect(error is problem, "the program got another exception")
    expect(SeenCalls(tool).one("numbers").failed, "it is not recorded as an error")


CASES = (
    Case(
        "generator, read to its end",
        "one call, until the last item; calls in its body are inside it, those of its reader between two items are not",
        read_to_the_end,
    ),
    Case("generator, closed early", "its cleanup runs; one call that ended, no error", closed),
    Case("generator, dropped early", "the same when the last reference to it goes", dropped),
    Case("generator, `send()`, `throw()`, return value", "they arrive unchanged", driven_by_hand),
    Case("generator that raises", "the same exception; one call with an error", failing),
)

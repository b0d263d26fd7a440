"""Functions, methods, exceptions, recursion: everything that runs in one thread."""

import inspect
import pickle
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

from benchmarks.peers.cases.case import Case
from benchmarks.peers.recorded import RecordingTool, SeenCalls, expect

_SECRET = "hunter2"


def raising(tool: RecordingTool) -> None:
    problem = ValueError("no such order")

    @tool.decorate
    def inner() -> None:
        raise problem

    @tool.decorate
    def outer() -> str:
        try:
            inner()
        except ValueError as error:
            expect(error is problem and error.__context__ is None, "the program got another exception")
        return "went on"

    expect(outer() == "went on", "the program got another result")
    seen = SeenCalls(tool)
    expect(seen.one("inner").failed, "it is not recorded as an error")
    expect(not seen.one("outer").failed, "the call that handled it is recorded as an error, too")
    seen.expect_inside(seen.one("inner"), seen.one("outer"))


def ending_the_program(tool: RecordingTool) -> None:
    @tool.decorate
    def leave() -> None:
        sys.exit(3)

    @tool.decorate
    def interrupted() -> None:
        raise KeyboardInterrupt

    for function, error_type in ((leave, SystemExit), (interrupted, KeyboardInterrupt)):
        try:
            function()
        except error_type:
            continue
        expect(False, f"{error_type.__name__} does not arrive")
    seen = SeenCalls(tool)
    for name in ("leave", "interrupted"):
        call = seen.one(name)
        expect(call.failed or call.cancelled, f"{name}() is recorded like a call that succeeded")


def _methods(tool: RecordingTool, *, above: bool) -> Any:
    def outermost(kind: Any) -> Any:
        return (lambda f: tool.decorate(kind(f))) if above else (lambda f: kind(tool.decorate(f)))

    class Shop:
        def __init__(self) -> None:
            self.password = _SECRET

        def __repr__(self) -> str:
            return f"<Shop {self.password}>"

        @tool.decorate
        def method(self, item: str) -> str:
            return f"{item}{len(self.password)}"

        @outermost(classmethod)
        def made(cls: Any, item: str) -> str:  # noqa: N805 - a class method, by what is above it
            return f"{cls.__name__}{item}"

        @outermost(staticmethod)
        def fixed(item: Any) -> str:  # noqa: N805 - a static method
            return item * 2

    return Shop


def _expect_methods(tool: RecordingTool, shop_class: Any) -> SeenCalls:
    shop = shop_class()
    expect(shop.method("a") == shop_class.method(shop, "a") == "a7", "a method gives another result")
    expect(shop_class.made("a") == shop.made("a") == "Shopa", "a class method gives another result")
    expect(shop_class.fixed("a") == shop.fixed("a") == "aa", "a static method gives another result")
    seen = SeenCalls(tool)
    for name in ("method", "made", "fixed"):
        expect(len(seen.all(name)) == 2, f"{len(seen.all(name))} of 2 calls of {name}() are recorded")
    return seen


def methods_below(tool: RecordingTool) -> None:
    _expect_methods(tool, _methods(tool, above=False))


def methods_above(tool: RecordingTool) -> None:
    _expect_methods(tool, _methods(tool, above=True))


def the_object_is_no_argument(tool: RecordingTool) -> None:
    shop_class = _methods(tool, above=False)
    expect(shop_class().method("a") == "a7", "a method gives another result")
    call = SeenCalls(tool).one("method")
    expect("a" in call.input, "the argument is not recorded")
    expect(_SECRET not in call.input, "what the object holds is recorded as an argument")
    expect("self" not in call.input and "Shop" not in call.input, "the object is recorded as an argument")


def recursion(tool: RecordingTool) -> None:
    @tool.decorate
    def down(depth: int) -> int:
        return depth if depth == 0 else down(depth - 1)

    expect(down(100) == 0, "the program got another result")
    calls = sorted(SeenCalls(tool).all("down"), key=lambda call: (call.started_ns, -(call.ended_ns or 0)))
    expect(len(calls) == 101, f"{len(calls)} of 101 calls are recorded")
    children = {call.parent: call for call in calls if call.parent is not None}
    expect(len(children) == 100, "calls are not each inside the one that made it")
    depth, at = 0, next(call for call in calls if call.parent not in {other.id for other in calls})
    while at.id in children:
        depth, at = depth + 1, children[at.id]
    expect(depth == 100, f"the chain of calls is {depth} deep instead of 100")


def _plain(x: int, *, y: str = "a") -> int:
    return x


async def _coroutine(x: int) -> int:
    return x


def _generator(x: int) -> Iterator[int]:
    yield x


async def _async_generator(x: int) -> AsyncIterator[int]:
    yield x


def still_the_function(tool: RecordingTool) -> None:
    for function in (_plain, _coroutine, _generator, _async_generator):
        decorated = tool.decorate(function)
        expect(inspect.signature(decorated) == inspect.signature(function), "`inspect.signature` says something else")
        for question in (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction):
            said, right = question(decorated), question(function)
            what = function.__name__.strip("_").replace("_", " ")
            expect(said == right, f"`inspect.{question.__name__}` says {said} of a decorated {what}")
        module, name = sys.modules[__name__], function.__name__
        setattr(module, name, decorated)
        try:
            expect(pickle.loads(pickle.dumps(decorated)) is decorated, "it cannot be pickled by its name")
        finally:
            setattr(module, name, function)


CASES = (
    Case("exception", "the same object; one call with an error, and none where it was handled", raising),
    Case(
        "`SystemExit`, `KeyboardInterrupt`", "they arrive; the call ended, and not like a success", ending_the_program
    ),
    Case("methods; below `@classmethod`, `@staticmethod`", "the same results; each call recorded", methods_below),
    Case("above `@classmethod`, `@staticmethod`", "the same results; each call recorded", methods_above),
    Case(
        "arguments of a method",
        "the caller's are recorded, the object and what it holds are not",
        the_object_is_no_argument,
    ),
    Case("recursion, 100 deep", "101 calls, each inside the one that made it", recursion),
    Case("`inspect` and `pickle`", "signature, kind of function and pickling by name as before", still_the_function),
)

"""Wrappers of recorded functions: what the program gets, and in which order a recording hears of it."""

import asyncio
import functools
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest
import wrapt

from playhead.capture.wrapping import CallRecording, MethodCall, intercepted, wrap, wrap_async


class Noted(CallRecording):
    """Notes what it is told; `answered`: the record has the answer; `raising`: `end` is interrupted."""

    def __init__(self, call: MethodCall, *, answered: bool = False, raising: bool = False):
        super().__init__(call)
        self.notes: list[Any] = []
        self._answered, self._raising = answered, raising

    @property
    def has_answer(self) -> bool:
        return self._answered

    def answer(self) -> Any:
        return "from the record"

    @contextmanager
    def current(self) -> Generator[None]:
        self.notes.append("entered")
        yield
        self.notes.append("left")

    def end(self, result: Any) -> Any:
        self.notes.append(("end", result))
        if self._raising:
            raise KeyboardInterrupt
        return f"{result}, seen"

    def fail(self, raised: BaseException) -> None:
        self.notes.append(("fail", type(raised)))


def called(function: Any, begin: Any, *args: Any) -> Any:
    """Calls the function through both wrappers: as it is, and as a coroutine."""

    async def awaited(*args: Any) -> Any:
        return function(*args)

    plain = wrapt.FunctionWrapper(function, wrap(begin))(*args)
    assert asyncio.run(wrapt.FunctionWrapper(awaited, wrap_async(begin))(*args)) == plain
    return plain


def test_the_program_gets_what_the_recording_returns():
    def begin(call: MethodCall) -> Noted:
        made.append(Noted(call))
        return made[-1]

    made: list[Noted] = []

    assert called(str.upper, begin, "a") == "A, seen"
    assert [recording.notes for recording in made] == [["entered", "left", ("end", "A")]] * 2
    assert [recording.call.is_async for recording in made] == [False, True]


def test_a_recorded_answer_stands_in_for_the_call():
    assert called(lambda: 1 / 0, lambda call: Noted(call, answered=True)) == "from the record"


def test_a_call_that_is_not_recorded_gets_the_arguments_that_were_read():
    def begin(call: MethodCall) -> None:
        call.args = ([*call.args[0]],)

    assert called(type, begin, "ab") is list


def test_edited_arguments_replace_the_programs():
    def begin(call: MethodCall) -> Noted:
        return Noted(MethodCall(call.client, call.method, ("edited",), {}, call.is_async))

    assert called(str.upper, begin, "own") == "EDITED, seen"


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_error_ends_the_call_and_is_raised_again(asynchronous: bool):
    def fails() -> None:
        raise ValueError

    made: list[Noted] = []
    with pytest.raises(ValueError):
        _call(fails, made, asynchronous=asynchronous)

    assert made[0].notes == ["entered", ("fail", ValueError)]


@pytest.mark.parametrize("asynchronous", [False, True])
def test_an_interruption_while_the_call_ends_ends_it_as_failed(asynchronous: bool):
    made: list[Noted] = []
    with pytest.raises(KeyboardInterrupt):
        _call(lambda: 1, made, asynchronous=asynchronous, raising=True)

    assert made[0].notes[-2:] == [("end", 1), ("fail", KeyboardInterrupt)]


def _call(function: Any, made: list[Noted], *, asynchronous: bool, raising: bool = False) -> None:
    async def awaited() -> Any:
        return function()

    def begin(call: MethodCall) -> Noted:
        made.append(Noted(call, raising=raising))
        return made[-1]

    if asynchronous:
        wrapt.FunctionWrapper(awaited, wrap_async(begin))().send(None)
    else:
        wrapt.FunctionWrapper(function, wrap(begin))()


def test_an_argument_is_found_by_position_or_by_name():
    by_position, by_name = MethodCall(None, "ask", ("what", "how"), {}), MethodCall(None, "ask", ("what",), {"how": 1})

    assert (by_position.argument(1, "how"), by_name.argument(1, "how"), by_name.argument(2, "why")) == ("how", 1, None)
    assert by_position.arguments("question", "how") == {"question": "what", "how": "how"}
    assert by_name.arguments("question", "how") == {"question": "what", "how": 1}


def test_an_intercepted_call_is_made_as_the_program_made_it_and_its_result_may_be_replaced():
    seen: list[MethodCall] = []

    def handle(function: Callable[..., Any], call: MethodCall) -> object:
        seen.append(call)
        return [call.make(function)]

    class Client:
        ask = wrapt.FunctionWrapper(lambda self, *args, **kwargs: (self, args, kwargs), intercepted(handle))

    client = Client()
    assert client.ask(1, how=2) == [(client, (1,), {"how": 2})]
    assert (seen[0].client, seen[0].args, seen[0].kwargs) == (client, (1,), {"how": 2})


def test_a_function_without_a_name_is_intercepted_too():
    """Frameworks call what their users wrote: any object that can be called."""
    nameless = functools.partial(max, 1)
    assert wrapt.FunctionWrapper(nameless, intercepted(lambda function, call: call.make(function)))(2) == 2

"""A signal's handler raises at every moment of an observed call at which Python can run it: the call is over after it.

Python runs handlers where a function begins and after calls of functions in C.  A trace function stands for the signal:
it is called there, and what it raises is raised there.  It is installed as a signal's handler, too, since recording
knows what a handler raises by the handler's code.
"""

import asyncio
import gc
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from dis import opname
from pathlib import Path
from types import FrameType
from typing import Any, cast

import pytest
from opentelemetry import context as otel

import playhead
from playhead.calls.begin import CURRENT
from playhead.calls.blocks import leave_block
from tests.support.journal_reader import Recording

_AFTER = {"CALL", "CALL_FUNCTION_EX", "CALL_KW"}
_OURS = ("playhead", "opentelemetry.context")


LEAVING = (leave_block.__code__, "call")


class Interrupt(BaseException):
    """What the handler raises."""


class Interruption:
    """Raises at one of the moments, the `number`th; counts them."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.seen = 0
        self.at = ""
        self.returned_to: FrameType | None = None

    def __call__(self, frame: FrameType, event: str, arg: Any) -> Any:
        """The trace function."""
        if not str(frame.f_globals.get("__name__")).startswith(_OURS):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "return":
            self.returned_to = frame.f_back
        elif event == "call" or (event == "opcode" and self._follows_a_call(frame)):
            # No code of a block runs before the beginning of its `__exit__`, so nothing can be done about these few.
            if frame.f_code.co_name in {"__exit__", "__aexit__", "_leave"} or (frame.f_code, event) == LEAVING:
                return self
            self.seen += 1
            if self.seen == self.number:
                self.at = f"{frame.f_code.co_qualname}:{frame.f_lineno} {event}"
                raise Interrupt
        return self

    def _follows_a_call(self, frame: FrameType) -> bool:
        if self.returned_to is frame:  # a function of Python has returned, after which Python does not look
            self.returned_to = None
            return False
        code, last = frame.f_code.co_code, frame.f_lasti - 2
        while last >= 0 and opname[code[last]] == "CACHE":
            last -= 2
        return last >= 0 and opname[code[last]] in _AFTER


@playhead.observe
def function() -> int:
    return len("abc")


@playhead.observe
def failing() -> None:
    raise ValueError("no")


@playhead.observe
async def coroutine() -> int:
    await asyncio.sleep(0)
    return 3


@playhead.observe
def disguised() -> Any:
    return coroutine.__wrapped__()


@playhead.observe
def generator() -> Iterator[int]:
    yield 1
    yield 2


@playhead.observe
async def async_generator() -> AsyncIterator[int]:
    yield 1
    yield 2


def raised_and_handled() -> None:
    with suppress(ValueError):
        failing()


def block() -> None:
    with playhead.observe("block"):
        len("abc")


def run_block() -> None:
    with playhead.run("block") as run:
        run.output("abc")


async def async_blocks() -> None:
    async with playhead.run("block"), playhead.observe("inner"):
        await asyncio.sleep(0)


def _drive(made: Any) -> None:
    """One task after the other, without a loop, whose own code would be interrupted."""
    try:
        while True:
            made.send(None)
    except StopIteration:
        pass


async def _all(items: AsyncIterator[int]) -> None:
    async for _ in items:
        pass


SHAPES: dict[str, Callable[[], Any]] = {
    "function": function,
    "failing": raised_and_handled,
    "coroutine": lambda: _drive(coroutine()),
    "disguised": lambda: _drive(disguised()),
    "generator": lambda: list(generator()),
    "async generator": lambda: _drive(_all(async_generator())),
    "block": block,
    "run": run_block,
    "async blocks": lambda: _drive(async_blocks()),
}


@pytest.fixture(autouse=True, scope="module")
def nothing_said_of_finalizers() -> Iterator[None]:
    """What a handler raises while Python finalizes an object is raised nowhere.  Coroutines that an interruption left
    go with the last of these tests, and not in the middle of another one."""
    with pytest.MonkeyPatch.context() as patched, warnings.catch_warnings():
        patched.setattr(sys, "unraisablehook", lambda _: None)
        yield
        warnings.simplefilter("ignore")
        gc.collect()


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited")
@pytest.mark.parametrize("shape", SHAPES)
def test_an_interrupted_call_is_not_current_any_more(
    recording: Recording, shape: str, request: pytest.FixtureRequest
) -> None:
    left: list[str] = []
    number = 0
    before = signal.signal(signal.SIGUSR1, cast(Any, Interruption(0)))
    request.addfinalizer(lambda: signal.signal(signal.SIGUSR1, before))
    SHAPES[shape]()
    while True:
        number += 1
        interruption = Interruption(number)
        sys.settrace(interruption)
        try:
            SHAPES[shape]()
        except Interrupt:
            pass
        finally:
            sys.settrace(None)
        if otel.get_current().get(CURRENT) is not None:
            left.append(interruption.at)
            otel.attach(otel.Context())
        if not interruption.at:
            break
    assert not left
    assert number > 40


STRESS = """
import signal, sys
import playhead
from playhead.calls.lifecycle import current_span
from tests.unit.calls.test_interrupted import SHAPES

class TimeOut(BaseException):
    pass

armed = False

def alarm(*_):
    global armed
    if armed:
        armed = False  # an alarm that comes while a call is being ended by the one before may leave it current
        raise TimeOut

sys.unraisablehook = lambda _: None
signal.signal(signal.SIGALRM, alarm)
for name in sys.argv[1:]:
    shape = SHAPES[name]
    shape()
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    alarms = left = 0
    while alarms < 300:
        try:
            while True:
                armed = True  # each time: what is raised in a finalizer ends nothing
                shape()
        except TimeOut:
            pass
        alarms += 1
        left += current_span() is not None
    signal.setitimer(signal.ITIMER_REAL, 0)
    print(name, left)
"""


def test_alarms_that_come_all_the_time_leave_no_call_current(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", STRESS, "function", "generator", "coroutine"],
        env={
            **os.environ,
            "PLAYHEAD_JOURNAL_DIR": str(tmp_path),
            "PLAYHEAD_EXIT_TIMEOUT_SECONDS": "0",
            "PYTHONPATH": str(Path.cwd()),
        },
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert (ran.returncode, ran.stdout) == (0, "function 0\ngenerator 0\ncoroutine 0\n"), ran.stderr[-2000:]

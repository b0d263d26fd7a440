"""A bell: like `threading.Event`, and it can be set while its own thread is in any of its methods."""

import threading
import time

import pytest

from playhead.kernel import bell as module
from playhead.kernel.bell import Bell
from tests.support.interrupting import interrupted_at, returns


@pytest.mark.parametrize("method", ["set", "clear", "wait"])
def test_it_is_set_in_the_middle_of_each_of_its_methods(method: str):
    def interrupted(moment: int) -> bool:
        bell = Bell()
        call = {"set": bell.set, "clear": bell.clear, "wait": lambda: bell.wait(0.001)}[method]
        is_over = not interrupted_at(moment, bell.set, call, threading, module)
        if method != "clear" and not is_over:  # a flag that is set before it is cleared is not set
            assert bell.is_set()
            assert bell.wait(0)
        return not is_over

    moments = 0

    def at_each_line() -> None:
        nonlocal moments
        while interrupted(moments + 1):
            moments += 1

    assert returns(at_each_line)
    assert moments >= 3


def test_all_that_wait_go_on_when_it_is_set():
    bell, began, went_on = Bell(), threading.Semaphore(0), threading.Semaphore(0)

    def wait() -> None:
        began.release()
        assert bell.wait(60)
        went_on.release()

    for _ in range(3):
        threading.Thread(target=wait, daemon=True).start()
        began.acquire()
    bell.set()
    for _ in range(3):
        assert went_on.acquire(timeout=60)


def test_it_waits_no_longer_than_asked_for():
    bell = Bell()
    began = time.monotonic()
    assert not bell.wait(0)
    assert not bell.wait(-1)
    assert not bell.wait(0.01)
    assert time.monotonic() - began >= 0.01
    bell.set()
    bell.set()
    assert bell.wait(float("inf"))
    bell.clear()
    bell.clear()
    assert not bell.wait(0)

"""Locks and imports that survive `os.fork`, and the end of the interpreter, in a program with threads.

In a forked child, our locks that another thread held are replaced. A module that another thread was importing could
never be imported in the child, so forks wait for our imports. The end of the program waits for them, too: Python stops
daemon threads there while they hold import locks, and finalizers that run later may import something.
"""

import atexit

# Imported here, not by the first thread that needs it: it registers a lock to be taken before forks and released after.
# A fork that waited for this very import would release a lock that it never took ("release unlocked lock").
import concurrent.futures.thread  # noqa: F401 # pyright: ignore[reportUnusedImport]
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Protocol
from weakref import WeakSet

# A thread that waits longer than an import takes is in a deadlock: the importing thread waits for it, too.
_MAX_SECONDS = 5.0


class _Imports:
    lock = threading.RLock()


_forking = threading.local()
_last_calls: list[Callable[[], object]] = []


class RenewsInChild(Protocol):
    """Something with locks that a forked child must replace, since threads of the parent may have held them."""

    def renew_in_child(self) -> None:
        """Replaces the locks. Called once in each forked child, when it has only one thread."""
        ...


_holders: WeakSet[RenewsInChild] = WeakSet()


def renew_in_child(holder: RenewsInChild) -> None:
    """Has `holder.renew_in_child` called in forked children, as long as the holder lives."""
    _holders.add(holder)


class ForkSafeLock:
    """A lock for `with` that nobody holds in a forked child.

    The thread that holds it may take it again: a signal's handler that makes an observed call interrupts its thread
    anywhere, and would otherwise wait for itself for ever.
    """

    __slots__ = ("__weakref__", "_lock")

    def __init__(self) -> None:
        self.renew_in_child()
        renew_in_child(self)

    def renew_in_child(self) -> None:
        """Replaces the lock."""
        self._lock = threading.RLock()

    def acquire(self, timeout: float = -1) -> bool:
        """Waits for the lock, at most so many seconds (-1: for ever), and takes it. Returns whether it was taken."""
        return self._lock.acquire(timeout=timeout)

    def __enter__(self) -> None:
        """Waits for the lock and takes it."""
        self._lock.acquire()

    def __exit__(self, *raised: object) -> None:
        """Releases the lock."""
        self._lock.release()


@contextmanager
def delay_forks() -> Generator[None]:
    """Delays forks in other threads for the duration of the block, by a few seconds at most. Used around imports.

    Threads that enter it wait for each other, since two that import modules which import each other may find one half
    imported. They, too, wait a few seconds at most: the other thread may need a module that this one is importing.
    """
    lock = _Imports.lock
    is_held = lock.acquire(timeout=_MAX_SECONDS)
    try:
        yield
    finally:
        if is_held:
            lock.release()


def end_imports() -> None:
    """Waits until other threads have finished our imports, a few seconds at most, and prevents new ones. For the end of
    the program."""
    _Imports.lock.acquire(timeout=_MAX_SECONDS)


def at_exit(call: Callable[[], object]) -> None:
    """Registers a function for the end of the program. It runs after all that the program has registered with `atexit`
    since Playhead was imported, so that calls made there are still recorded and delivered."""
    _last_calls.append(call)


def _at_exit() -> None:
    for call in _last_calls:
        call()


def _before() -> None:
    _forking.waited = _Imports.lock.acquire(timeout=_MAX_SECONDS)


def _in_parent() -> None:
    if _forking.waited:
        _Imports.lock.release()


def _in_child() -> None:
    if _forking.waited:
        _Imports.lock.release()
    else:
        _Imports.lock = threading.RLock()
    for holder in tuple(_holders):
        holder.renew_in_child()


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)

"""Locks and imports that survive `os.fork`, and the end of the interpreter, in a program with threads.

Locks of ours that another thread held are new in the child.  A module that another thread was importing can never be
imported there, so forks wait for our imports.  So does the program's end: Python stops daemon threads then, with the
locks of imports that they hold, and what is deleted after that may import something.
"""

import atexit

# Imported here, not by the first thread that needs it: it registers a lock to be taken before forks and released after.
# A fork that has waited for this very import would release what it never took ("release unlocked lock").
import concurrent.futures.thread  # noqa: F401 # pyright: ignore[reportUnusedImport]
import os
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any
from weakref import WeakSet

# A fork that waits longer than an import takes is waiting for something that waits for the thread that forks.
_MAX_SECONDS = 5.0


class _Imports:
    lock = threading.RLock()


_locks: WeakSet[Any] = WeakSet()
_forking = threading.local()
_last_calls: list[Callable[[], object]] = []


def fork_safe_lock() -> "threading.RLock":
    """Returns a lock that is released (new) in a forked child.

    The thread that holds it may take it again: a signal's handler that makes an observed call interrupts its thread
    anywhere, and would otherwise wait for itself for ever.
    """
    lock = threading.RLock()
    _locks.add(lock)
    return lock


@contextmanager
def delay_forks() -> Generator[None]:
    """Delays forks in other threads for the duration of the block, by a few seconds at most. Used around imports."""
    with _Imports.lock:
        yield


def end_imports() -> None:
    """Waits for an import of another thread, a few seconds at most, and prevents further ones there. For the program's
    end."""
    _Imports.lock.acquire(timeout=_MAX_SECONDS)


def at_exit(call: Callable[[], object]) -> None:
    """Calls it when the program ends, after what the program registered with `atexit` since Playhead was imported,
    however late the caller was imported: calls that the program makes there are still recorded and delivered."""
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
    for lock in tuple(_locks):
        lock._at_fork_reinit()  # as the standard library does with its own


atexit.register(_at_exit)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_in_parent, after_in_child=_in_child)

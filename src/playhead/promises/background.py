"""Runs tasks that may wait for the network in a thread, so that the program does not wait."""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from playhead.kernel.forks import fork_safe_lock
from playhead.kernel.guard import swallowed
from playhead.model.objects.interrupts import let_through


class BackgroundTasks:
    """Runs tasks in order in a thread that ends when none is left. A forked child begins without tasks."""

    def __init__(self) -> None:
        self._tasks: deque[Callable[[], object]] = deque()
        self._mutex = fork_safe_lock()
        self._thread: threading.Thread | None = None

    def add(self, task: Callable[[], object]) -> None:
        """Adds a task to run later. Never raises: if no thread can be started, the task is dropped."""
        with self._mutex, suppress(RuntimeError):
            if self._thread is None or not self._thread.is_alive():
                self._tasks.clear()  # the parent's, in a forked child
                thread = threading.Thread(target=self._work, name="playhead-promises", daemon=True)
                self._tasks.append(task)
                thread.start()
                self._thread = thread
            else:
                self._tasks.append(task)

    def drain(self, seconds: float) -> None:
        """Waits until all tasks are done, at most `seconds`."""
        until = time.monotonic() + seconds
        while (thread := self._thread) is not None and thread.is_alive() and time.monotonic() < until:
            thread.join(until - time.monotonic())

    def _work(self) -> None:
        while True:
            with self._mutex:
                if not self._tasks:
                    self._thread = None
                    return
                task = self._tasks.popleft()
            try:
                task()
            except BaseException as error:  # noqa: BLE001 - the guard
                let_through(error)
                swallowed("tell the collector of a promise", error)

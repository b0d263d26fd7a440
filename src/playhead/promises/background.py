"""Runs what may wait for the network in a thread, so that the program need not."""

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress

from playhead.api.forks import fork_safe_lock
from playhead.api.guard import swallowed
from playhead.model.objects.interrupts import let_through


class BackgroundTasks:
    """Tasks in their order, by a thread that ends when there are none left. A forked child begins with none."""

    def __init__(self) -> None:
        self._tasks: deque[Callable[[], object]] = deque()
        self._mutex = fork_safe_lock()
        self._thread: threading.Thread | None = None

    def add(self, task: Callable[[], object]) -> None:
        """Runs it later.  Never raises: where no thread can be started, it is left out."""
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
        """Waits until all are done, so long at most."""
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

"""[room]: work that must not hold up the program: measuring the folder, and deleting from it."""

import threading
from collections.abc import Callable

from playhead.kernel.guard import swallowed

BACKGROUND_THREAD = "playhead-journal"


class BackgroundJob:
    """Runs one function in a thread of its own, never twice at a time.  Safe for threads; `forget` it in a child."""

    def __init__(self, job: Callable[[], object]):
        """No thread is started yet.  What `job` raises is logged once and swallowed."""
        self._job = job
        self.forget()

    def forget(self) -> None:
        """In a forked child: no thread of the parent is here."""
        self._mutex = threading.Lock()
        self._done = threading.Event()
        self._done.set()

    def run(self, wait_seconds: float) -> None:
        """Starts the job unless it is running, and waits up to `wait_seconds` for its end."""
        # Not blocking: a signal's handler may be called while its own thread has the mutex.
        if self._mutex.acquire(blocking=False):
            try:
                if self._done.is_set():
                    self._start()
            finally:
                self._mutex.release()
        if wait_seconds:
            self._done.wait(wait_seconds)

    def _start(self) -> None:
        self._done.clear()
        try:
            threading.Thread(target=self._run, name=BACKGROUND_THREAD, daemon=True).start()
        except RuntimeError:  # no more threads, or the interpreter is ending
            self._run()

    def _run(self) -> None:
        try:
            self._job()
        except Exception as error:  # noqa: BLE001 - the guard: the program goes on, and so does recording
            swallowed("make room in the journal", error)
        finally:
            self._done.set()

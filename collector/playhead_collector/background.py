"""app → [background]: loops and workers that run beside the requests, from the start of the application to its end."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, Protocol

from playhead_collector.errors import StoreUnavailable

log = logging.getLogger(__name__)

_RETRY_SECONDS: Final = 30.0
_LEAST_SECONDS: Final = 0.05


async def keep_working(run_once: Callable[[], Awaitable[float]], what: str) -> None:
    """Calls `run_once` for ever. It returns the seconds until the next call, and may raise StoreUnavailable. `what`
    names the work in the log."""
    while True:
        wait_seconds = _RETRY_SECONDS
        with suppress(StoreUnavailable):  # the projection runner reports it
            try:
                wait_seconds = await run_once()
            except StoreUnavailable:
                raise
            except Exception:
                log.exception("%s failed; trying again in %.0f s", what, _RETRY_SECONDS)
        await asyncio.sleep(max(wait_seconds, _LEAST_SECONDS))


class BackgroundLoop:
    """Runs a coroutine that never returns, as a task of the running event loop."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """`name` is the name of the task in debuggers."""
        self._work = work
        self._name = name
        self._task: asyncio.Task[None] | None = None

    def start(self) -> bool:
        """Starts the task unless it already runs. Returns whether it was started."""
        if self._task is not None:
            return False
        self._task = asyncio.create_task(self._work(), name=self._name)
        return True

    async def stop(self) -> None:
        """Cancels the task and waits until it has ended. It can be started again."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])


class BackgroundWorker(Protocol):
    """A worker that runs in its own task."""

    def start(self) -> None:
        """Starts the task."""
        ...

    async def stop(self) -> None:
        """Stops the task. Each worker defines whether the work in progress is finished or abandoned."""
        ...


@asynccontextmanager
async def running(workers: Sequence[BackgroundWorker | None]) -> AsyncGenerator[None]:
    """Starts the workers, and stops them in reverse order when the block ends. None in `workers` stands for a worker
    that is switched off."""
    used = [worker for worker in workers if worker is not None]
    for worker in used:
        worker.start()
    yield
    for worker in reversed(used):
        await worker.stop()

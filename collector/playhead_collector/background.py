"""app → [background]: workers that run beside the requests, from the start of the application to its end."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol


class BackgroundWorker(Protocol):
    """A worker that runs in its own task."""

    def start(self) -> None:
        """Starts the task."""
        ...

    async def stop(self) -> None:
        """Stops the task. Each worker defines whether the work in progress is finished or abandoned."""
        ...


@asynccontextmanager
async def working(workers: Sequence[BackgroundWorker | None]) -> AsyncGenerator[None]:
    """Starts the workers, and stops them in reverse order when the block ends. None in `workers` stands for a worker
    that is switched off."""
    used = [worker for worker in workers if worker is not None]
    for worker in used:
        worker.start()
    yield
    for worker in reversed(used):
        await worker.stop()

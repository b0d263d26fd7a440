"""app → [background]: what works beside the requests, from the start of the application to its end."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from typing import Protocol


class BackgroundWorker(Protocol):
    """Works in a task of its own."""

    def start(self) -> None:
        """Begins."""
        ...

    async def stop(self) -> None:
        """Ends; what is under way is finished or given up, as the worker says."""
        ...


@asynccontextmanager
async def working(workers: Sequence[BackgroundWorker | None]) -> AsyncGenerator[None]:
    """They work until the block ends; the last one started stops first.  None: one that is switched off."""
    used = [each for each in workers if each is not None]
    for each in used:
        each.start()
    yield
    for each in reversed(used):
        await each.stop()

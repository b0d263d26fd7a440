"""A loop of work in the background: begun once, and ended by cancelling it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class BackgroundLoop:
    """Runs a coroutine that never returns, as a task of the running event loop."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]], name: str) -> None:
        """`name`: of the task, as debuggers show it."""
        self._work = work
        self._name = name
        self._task: asyncio.Task[None] | None = None

    def start(self) -> bool:
        """Begins, unless it runs already. Returns whether it began."""
        if self._task is not None:
            return False
        self._task = asyncio.create_task(self._work(), name=self._name)
        return True

    async def stop(self) -> None:
        """Cancels the work and waits until it has ended. It can be started again."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])

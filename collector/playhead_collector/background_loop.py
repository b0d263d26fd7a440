"""A loop of background work: started once, stopped by cancelling it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


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

"""A bounded queue in front of a few worker processes."""

import asyncio
import math
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any

from playhead_collector.workers import protocol
from playhead_collector.workers.process import WorkerProcess
from playhead_collector.workers.questions import AnalysisQuestion

# Time for which a question may go on after its client has disconnected: letting it end costs less than starting a new
# process.
_GRACE_SECONDS = 1.0


@dataclass(slots=True)
class PoolFigures:
    """Numbers for metrics: questions that wait and run now; answered and failed since the start."""

    waiting: int = 0
    running: int = 0
    answered: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class AnalysisPools:
    """The processes that answer clients, and others for what nobody waits for: indexing a long run takes many seconds,
    and a client's question must not wait so long."""

    questions: "WorkerPool"
    background: "WorkerPool"

    async def close(self) -> None:
        """Ends all processes."""
        await self.questions.close()
        await self.background.close()


class WorkerPool:
    """Implements `Analysis` with these processes, each of which answers one question at a time.

    At most `most_waiting` questions wait; others are refused at once. A question waits at most `seconds` for a free
    process and for that process to start.
    """

    def __init__(
        self, processes: list[WorkerProcess], seconds: float, most_waiting: int, grace_seconds: float = _GRACE_SECONDS
    ) -> None:
        self.figures = PoolFigures()
        self._processes = processes
        self._free = list(processes)
        self._turns = asyncio.Semaphore(len(processes))
        self._seconds = seconds
        self._most_waiting = most_waiting
        self._grace_seconds = grace_seconds
        self._tasks = set[asyncio.Task[Any]]()
        self._closed = False

    async def ask(self, question: AnalysisQuestion) -> bytes:
        begin_by = asyncio.get_running_loop().time() + self._seconds
        await self._turn(begin_by)
        # In a separate task: when the client disconnects, the process stays busy until the task has ended.
        task = self._task(self._answered(self._free.pop(), question, begin_by))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if not task.done():
                self._task(self._give_up(task))
            raise

    async def close(self) -> None:
        """Cancels the questions in progress and ends all processes."""
        self._closed = True
        while tasks := tuple(self._tasks):
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        await asyncio.gather(*(process.end() for process in self._processes))

    async def _turn(self, begin_by: float) -> None:
        """Waits until a process is free. Raises Refused."""
        retry_seconds = math.ceil(min(self._seconds, 10.0))
        figures = self.figures
        if self._closed or (self._turns.locked() and figures.waiting >= self._most_waiting):
            raise protocol.queue_is_full(retry_seconds)
        figures.waiting += 1
        try:
            async with asyncio.timeout_at(begin_by):
                await self._turns.acquire()
        except TimeoutError:
            raise protocol.queue_is_full(retry_seconds) from None
        finally:
            figures.waiting -= 1

    async def _answered(self, process: WorkerProcess, question: AnalysisQuestion, begin_by: float) -> bytes:
        self.figures.running += 1
        try:
            body = await process.ask(question, begin_by)
            self.figures.answered += 1
            return body
        except BaseException:
            self.figures.failed += 1
            raise
        finally:
            self.figures.running -= 1
            self._free.append(process)
            self._turns.release()

    async def _give_up(self, task: asyncio.Task[bytes]) -> None:
        """Cancels a question whose client has disconnected, unless it ends within the grace period."""
        await asyncio.wait([task], timeout=self._grace_seconds)
        task.cancel()
        await asyncio.wait([task])
        if not task.cancelled():
            task.exception()  # retrieved, else asyncio logs it

    def _task(self, work: Coroutine[Any, Any, Any]) -> "asyncio.Task[Any]":
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

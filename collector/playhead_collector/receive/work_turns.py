"""Lets the requests of projects be worked on in turn, so that a project with many requests does not delay the others.

Working on a request takes the processor and a connection of the database's pool, which other projects need, too. So
while several projects send, few requests are worked on at a time. The others wait: those of one project in the order of
their arrival, and projects take turns. A project with no request in work does not wait.
"""

import asyncio
import time
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

# With two, the processor works on one while the other waits for the database.
_BESIDE_OTHERS = 2
# A project that sent so long ago is expected to send again.
_SENT_SECONDS = 10.0


class WorkTurns:
    """Gives turns to requests of projects. For one event loop."""

    def __init__(self, at_a_time: int, clock: Callable[[], float] = time.monotonic) -> None:
        """`at_a_time`: requests that are worked on at a time if one project sends. If several do, it is two, besides
        one of each project that has none in work. `clock`: seconds."""
        self._alone = at_a_time
        self._clock = clock
        self._sent: dict[int, float] = {}
        self._running: Counter[int] = Counter()
        self._waiting: OrderedDict[int, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def running(self) -> int:
        """The number of requests that have a turn."""
        return self._running.total()

    @asynccontextmanager
    async def of(self, project_id: int) -> AsyncGenerator[None]:
        """Waits for a turn of the project, and holds it."""
        await self._take(project_id)
        try:
            yield
        finally:
            self._give_back(project_id)

    @property
    def _at_a_time(self) -> int:
        return self._alone if len(self._sent) == 1 else min(self._alone, _BESIDE_OTHERS)

    def _note(self, project_id: int) -> None:
        now = self._clock()
        self._sent[project_id] = now
        if len(self._sent) > 1:
            self._sent = {number: at for number, at in self._sent.items() if now - at < _SENT_SECONDS}

    async def _take(self, project_id: int) -> None:
        self._note(project_id)
        # Whoever waits has come before, so nobody of the same project overtakes.
        if not self._running[project_id] or (self.running < self._at_a_time and not self._waiting):
            self._running[project_id] += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(project_id, deque()).append(turn)
        try:
            await turn  # who grants it counts it as running
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled():
                self._give_back(project_id)
            else:
                self._forget(project_id, turn)
            raise

    def _forget(self, project_id: int, turn: asyncio.Future[None]) -> None:
        queue = self._waiting.get(project_id)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._waiting[project_id]

    def _give_back(self, project_id: int) -> None:
        self._running[project_id] -= 1
        if not self._running[project_id]:
            del self._running[project_id]
        while self._waiting and self.running < self._at_a_time:
            self._grant(next(iter(self._waiting)))
        while project_id in self._waiting and not self._running[project_id]:
            self._grant(project_id)

    def _grant(self, project_id: int) -> None:
        """Gives a turn to the project's first request that waits, and puts the project behind the others."""
        queue = self._waiting.pop(project_id)
        turn = queue.popleft()
        if queue:
            self._waiting[project_id] = queue
        if not turn.done():
            self._running[project_id] += 1
            turn.set_result(None)

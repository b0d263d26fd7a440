"""Limits how many query requests read the database at a time, and how many wait.

Without this limit, queries could use all connections to Postgres; ingest and health probes would then wait for one.
Requests with spans and content have their own limits (`receive/request_limiter.py`), analysis has its own queue
(`workers/pool.py`).
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext

from fastapi import Request

from playhead_collector.access import access_of
from playhead_collector.errors import Refused
from playhead_collector.project_turns import ProjectTurns
from playhead_collector.serve.errors import client_gone

# Twice as long as a request waits for a connection to Postgres: people wait longer for an answer than exporters.
WAIT_SECONDS = 10.0
# Waiting requests are answered within a few seconds, unless the database is slow.
_RETRY_SECONDS = 2
_ADVICE = "raise PLAYHEAD_MAX_READS and PLAYHEAD_POOL_SIZE"


class ReadLimiter:
    """Lets `at_a_time` requests run and `most_waiting` wait, each for up to `wait_seconds`; refuses all others."""

    def __init__(
        self,
        at_a_time: int,
        most_waiting: int,
        wait_seconds: float = WAIT_SECONDS,
        advice: str = _ADVICE,
        turns: ProjectTurns | None = None,
    ) -> None:
        """`advice`: what the operator may do when requests are refused. `turns`: work of other projects, which may let
        an answer go first."""
        self._project_turns = turns
        self.running = 0
        self.waiting = 0
        self._turns = asyncio.Semaphore(at_a_time)
        self._most_waiting = most_waiting
        self._wait_seconds = wait_seconds
        self._advice = advice

    @asynccontextmanager
    async def turn(self) -> AsyncGenerator[None]:
        """Waits for a free slot, in order of arrival, and holds it. Raises Refused (503 with Retry-After)."""
        await self._wait()
        self.running += 1
        try:
            yield
        finally:
            self.running -= 1
            self._turns.release()

    async def around(self, request: Request) -> AsyncGenerator[None]:
        """`turn` as a FastAPI dependency. Raises Refused if the client has disconnected while waiting."""
        turns = self._project_turns
        with nullcontext() if turns is None else turns.answering(access_of(request).project_id):
            async with self.turn():
                if await request.is_disconnected():
                    raise client_gone()
                yield

    async def _wait(self) -> None:
        if self._turns.locked() and self.waiting >= self._most_waiting:
            raise self._too_many()
        self.waiting += 1
        try:
            async with asyncio.timeout(self._wait_seconds):
                await self._turns.acquire()
        except TimeoutError:
            raise self._too_many() from None
        finally:
            self.waiting -= 1

    def _too_many(self) -> Refused:
        return Refused(
            503,
            "too_many_questions",
            f"other questions are being answered: ask again later, or {self._advice}",
            {"Retry-After": str(_RETRY_SECONDS)},
        )

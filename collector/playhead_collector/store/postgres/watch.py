"""[store]: checks all the time whether Postgres answers, over a connection of its own.

A Postgres that was shut down refuses connections at once.  If Postgres is paused, or its machine or network is gone,
nothing answers: statements would wait for a minute, long after their callers have given up.  So when Postgres cannot be
reached, all waiting for it is ended at once, and while it does not answer, new requests are refused at once.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import TypeAlias

import asyncpg

from playhead_collector.errors import StoreUnavailable
from playhead_collector.store.postgres import statements as sql

log = logging.getLogger(__name__)

Connect: TypeAlias = "Callable[[], Awaitable[asyncpg.Connection[asyncpg.Record]]]"

_EVERY_SECONDS = 0.5
# An answer counts for this long: the interval of probes, and half a second for a busy Postgres.
_FRESH_SECONDS = 1.0
# After that, `ready` waits this long for the next answer. Health checks usually time out after a second.
_WAIT_SECONDS = 0.25
# An unanswered probe is repeated over a new connection: the old one may be lost, or this process was busy.
_AGAIN_SECONDS = 1.0


class DatabaseWatch:
    """Sends a probe to Postgres every half second, and when its connection is lost.

    `on_silence` is called when no probe was answered for `silent_seconds`, or Postgres cannot be reached, and a new
    connection does not help; `on_silence` must not wait for Postgres.  `connect` raises what asyncpg raises.  `clock`
    returns seconds.
    """

    def __init__(
        self,
        connect: Connect,
        on_silence: Callable[[], Awaitable[None]],
        silent_seconds: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connect = connect
        self._on_silence = on_silence
        self._silent_seconds = silent_seconds
        self._clock = clock
        self._conn: asyncpg.Connection[asyncpg.Record] | None = None
        self._answered_at = float("-inf")
        self._failure: Exception | None = None
        self._is_silent = False
        self._probe_done = asyncio.Event()
        self._lost = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Sends one probe, then goes on in the background."""
        self._take(await self._ask(self._silent_seconds))
        self._task = asyncio.create_task(self._watch(), name="playhead database watch")

    async def stop(self) -> None:
        """Stops the probes."""
        task, self._task = self._task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        self._drop()

    def check(self) -> None:
        """Raises StoreUnavailable while Postgres does not answer.  Does not raise if Postgres refuses connections:
        callers then get that error at once."""
        if self._is_silent and isinstance(self._failure, TimeoutError):
            raise _unavailable(self._failure)

    async def ready(self) -> None:
        """Returns if Postgres has just answered.

        Raises StoreUnavailable, or Postgres' own error if the database does not have the schema.
        """
        if self._failure is None and not self._is_fresh():
            with suppress(TimeoutError):
                async with asyncio.timeout(_WAIT_SECONDS):
                    await self._probe_done.wait()
        if isinstance(self._failure, asyncpg.SyntaxOrAccessError):
            raise self._failure
        if self._failure is not None or not self._is_fresh():
            raise _unavailable(self._failure)

    def _is_fresh(self) -> bool:
        return self._clock() - self._answered_at <= _FRESH_SECONDS

    async def _watch(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(_EVERY_SECONDS):
                    await self._lost.wait()
            self._lost.clear()
            failure = await self._ask(_AGAIN_SECONDS if self._is_silent else self._silent_seconds)
            if failure is not None:
                failure = await self._ask(_AGAIN_SECONDS)
            if self._take(failure):
                await self._on_silence()

    def _take(self, failure: Exception | None) -> bool:
        """Stores the result of a probe (None: answered). Returns whether a silence begins with it."""
        was_silent, self._failure = self._is_silent, failure
        self._is_silent = failure is not None and not _is_answer(failure)
        if not self._is_silent:
            self._answered_at = self._clock()
        if was_silent and not self._is_silent:
            log.warning("Postgres answers again")
        elif self._is_silent and not was_silent:
            log.warning("Postgres does not answer: what waits for it is given up (%s)", _words(failure))
        self._probe_done.set()
        self._probe_done = asyncio.Event()
        return self._is_silent and not was_silent

    async def _ask(self, seconds: float) -> Exception | None:
        """Sends one probe, and returns the error; None if Postgres answered."""
        try:
            async with asyncio.timeout(seconds):
                conn = self._conn or await self._connected()
                await sql.value(conn, "ready")
        except asyncpg.InsufficientResourcesError:
            return None  # no connection is free for the probe, but Postgres answers
        except (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
            self._drop()
            return error
        return None

    async def _connected(self) -> "asyncpg.Connection[asyncpg.Record]":
        conn = self._conn = await self._connect()
        conn.add_termination_listener(self._on_loss)
        return conn

    def _on_loss(self, conn: object) -> None:
        if conn is self._conn:  # not a connection that `_drop` closed
            self._answered_at = float("-inf")
            self._lost.set()

    def _drop(self) -> None:
        conn, self._conn = self._conn, None
        if conn is not None:
            conn.terminate()


def _is_answer(error: Exception) -> bool:
    """Returns whether the error came from Postgres itself, not from the network."""
    return isinstance(error, asyncpg.PostgresError) and not isinstance(error, asyncpg.PostgresConnectionError)


def _unavailable(failure: Exception | None) -> StoreUnavailable:
    return StoreUnavailable(f"Postgres does not answer ({_words(failure)}): see that it runs, and try again")


def _words(failure: Exception | None) -> str:
    return "it is silent" if failure is None or isinstance(failure, TimeoutError) else str(failure)

"""The connection pool. Errors of the network and the server become StoreUnavailable; lost connections are replaced."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Self, TypeVar, cast

import asyncpg

from playhead_collector.errors import StoreCollision, StoreUnavailable
from playhead_collector.store.postgres.statements import Conn

T = TypeVar("T")

# How long a request waits for a free connection before it is answered with 503.
ACQUIRE_SECONDS = 10.0
CONNECT_SECONDS = 10.0
STATEMENT_SECONDS = 60.0
# Colliding transactions are repeated at most this often.
ATTEMPTS = 8

_SETTINGS = {
    "application_name": "playhead",
    "jit": "off",  # our statements are short; compiling them takes longer than running them
    # Plans for the actual arguments: the right index depends on how selective a filter is.
    "plan_cache_mode": "force_custom_plan",
    "timezone": "UTC",
}
_UNAVAILABLE = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # raised by the pool when a connection that broke during a statement is returned
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,  # too many connections, disk full, out of memory
    asyncpg.OperatorInterventionError,  # shutting down, starting up, statement cancelled
    asyncpg.ReadOnlySQLTransactionError,  # failed over, and this is not the primary any more
)


class Collision(Exception):
    """A conflict with another transaction: repeat this one."""


_COLLISIONS = (Collision, asyncpg.SerializationError, asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError)


class Database:
    """A pool of connections to one database."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]", dsn: str) -> None:
        self._pool = pool
        self._dsn = dsn

    @classmethod
    async def open(cls, dsn: str, pool_size: int) -> Self:
        """Opens the pool. Raises StoreUnavailable."""
        with _translated():
            pool = await asyncpg.create_pool(
                dsn,
                min_size=1,
                max_size=pool_size,
                timeout=CONNECT_SECONDS,
                command_timeout=STATEMENT_SECONDS,
                server_settings=_SETTINGS,
            )
        return cls(pool, dsn)

    async def connect(self) -> "asyncpg.Connection[asyncpg.Record]":
        """A connection that is not one of the pool's, to be closed by the caller. Raises StoreUnavailable."""
        with _translated():
            return await asyncpg.connect(
                self._dsn, timeout=CONNECT_SECONDS, command_timeout=STATEMENT_SECONDS, server_settings=_SETTINGS
            )

    async def close(self) -> None:
        """Closes the pool after the statements in progress."""
        await self._pool.close()

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[Conn]:
        """A connection without a transaction: each statement sees the newest committed data."""
        with _translated():
            async with self._pool.acquire(timeout=ACQUIRE_SECONDS) as conn:
                yield cast(Conn, conn)

    @asynccontextmanager
    async def attempt(self) -> AsyncGenerator[Conn]:
        """A transaction that is not repeated automatically. Raises StoreCollision."""
        try:
            async with self.transaction() as conn:
                yield conn
        except _COLLISIONS as error:
            raise StoreCollision(f"another transaction was in the way ({error}): try again") from error

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Conn]:
        """A transaction, which is committed when the block ends without an error."""
        async with self.reading() as conn, conn.transaction():
            yield conn

    async def transact(self, work: Callable[[Conn], Awaitable[T]]) -> T:
        """Runs `work` in a transaction, and repeats both after a collision with another transaction."""
        last: Exception | None = None
        for _ in range(ATTEMPTS):
            try:
                async with self.transaction() as conn:
                    return await work(conn)
            except _COLLISIONS as error:
                last = error
        raise StoreUnavailable(
            f"{ATTEMPTS} times, others were writing the same ({last}): nothing was stored; try again"
        ) from last


@contextmanager
def _translated() -> Generator[None]:
    try:
        yield
    except _UNAVAILABLE as error:
        if isinstance(error, ValueError):  # how asyncpg reports an invalid argument of ours
            raise
        raise StoreUnavailable(
            f"Postgres does not answer ({type(error).__name__}: {error}): see that it runs, and try again"
        ) from error

"""The pool.  What the network and the server do to us becomes StoreUnavailable; a lost connection is replaced."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Self, TypeVar, cast

import asyncpg

from playhead_collector.errors import StoreCollision, StoreUnavailable
from playhead_collector.store.postgres.statements import Conn

T = TypeVar("T")

# How long a request waits for a free connection before it is told to come back.
ACQUIRE_SECONDS = 10.0
CONNECT_SECONDS = 10.0
STATEMENT_SECONDS = 60.0
# Transactions that collide are run again; more often than this is no accident.
ATTEMPTS = 8

_SETTINGS = {
    "application_name": "playhead",
    "jit": "off",  # our statements are short; compiling them takes longer than running them
    # Plans for the arguments at hand: whether a filter is selective decides which index is right.
    "plan_cache_mode": "force_custom_plan",
    "timezone": "UTC",
}
_UNAVAILABLE = (
    OSError,
    TimeoutError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,  # what the pool says when it is given back a connection that broke amid a statement
    asyncpg.PostgresConnectionError,
    asyncpg.InsufficientResourcesError,  # too many connections, disk full, out of memory
    asyncpg.OperatorInterventionError,  # shutting down, starting up, statement cancelled
    asyncpg.ReadOnlySQLTransactionError,  # failed over, and this is not the primary any more
)


class Collision(Exception):
    """Another transaction was faster: this one is to be run again, on what the other left."""


_COLLISIONS = (Collision, asyncpg.SerializationError, asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError)


class Database:
    """Connections to one database, lent one at a time."""

    def __init__(self, pool: "asyncpg.Pool[asyncpg.Record]") -> None:
        self._pool = pool

    @classmethod
    async def open(cls, dsn: str, pool_size: int) -> Self:
        """Raises StoreUnavailable."""
        with _translated():
            pool = await asyncpg.create_pool(
                dsn,
                min_size=1,
                max_size=pool_size,
                timeout=CONNECT_SECONDS,
                command_timeout=STATEMENT_SECONDS,
                server_settings=_SETTINGS,
            )
        return cls(pool)

    async def close(self) -> None:
        """Waits for what is under way."""
        await self._pool.close()

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[Conn]:
        """A connection outside a transaction: each statement sees the newest."""
        with _translated():
            async with self._pool.acquire(timeout=ACQUIRE_SECONDS) as conn:
                yield cast(Conn, conn)

    @asynccontextmanager
    async def attempt(self) -> AsyncGenerator[Conn]:
        """A transaction that is the caller's to run again when it collides.  Raises StoreCollision."""
        try:
            async with self.transaction() as conn:
                yield conn
        except _COLLISIONS as error:
            raise StoreCollision(f"another transaction was in the way ({error}): try again") from error

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Conn]:
        """A connection in a transaction, which commits when the block ends without an error."""
        async with self.reading() as conn, conn.transaction():
            yield conn

    async def transact(self, work: Callable[[Conn], Awaitable[T]]) -> T:
        """`work` in a transaction; again from its start when it collides with another."""
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
        if isinstance(error, ValueError):  # asyncpg's word for an argument of ours that is no good
            raise
        raise StoreUnavailable(
            f"Postgres does not answer ({type(error).__name__}: {error}): see that it runs, and try again"
        ) from error

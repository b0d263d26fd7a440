"""[store]: the connection pool, transactions, and the lock between writing transactions and garbage collection.

Errors of the network and the server become StoreUnavailable; lost connections are replaced. When Postgres stops
answering, connections in use are terminated: see `watch.py`.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterable
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Any, Self, TypeVar, cast
from uuid import UUID

import asyncpg

from playhead_collector.errors import Refused, StoreCollision, StoreUnavailable
from playhead_collector.logs import ThrottledLog
from playhead_collector.store.operator_key import OperatorKey
from playhead_collector.store.postgres import statements as sql
from playhead_collector.store.postgres.ciphers import Ciphers
from playhead_collector.store.postgres.statements import Conn
from playhead_collector.store.postgres.watch import Connect, DatabaseWatch

# --- connections and transactions ------------------------------------------------------------------------------------

T = TypeVar("T")
log = ThrottledLog(logging.getLogger(__name__))

CONNECT_SECONDS = 10.0
# Colliding transactions are repeated at most this often.
ATTEMPTS = 8

_SERVER_SETTINGS = {
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


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseTimeouts:
    """How long to wait for Postgres, in seconds: for a free connection, for one statement, and for an answer to a
    probe. `settings.py` explains the values."""

    connection_seconds: float = 5.0
    statement_seconds: float = 60.0
    silent_seconds: float = 4.0


class Collision(Exception):
    """A conflict with another transaction: repeat this one."""


_COLLISIONS = (Collision, asyncpg.SerializationError, asyncpg.DeadlockDetectedError, asyncpg.LockNotAvailableError)


class StoreConnection(asyncpg.Connection):
    """A connection of the pool, which knows the ciphers of encrypted projects."""

    ciphers: Ciphers | None = None


class Database:
    """A pool of connections to one database. `ciphers`: those of its encrypted projects."""

    def __init__(
        self,
        pool: "asyncpg.Pool[asyncpg.Record]",
        connect: Connect,
        timeouts: DatabaseTimeouts,
        ciphers: Ciphers,
    ) -> None:
        self.ciphers = ciphers
        self._pool = pool
        self._connect = connect
        self._timeouts = timeouts
        self._in_use: set[Conn] = set()
        self._acquiring: set[asyncio.Timeout] = set()
        self._watch = DatabaseWatch(connect, self._give_up, timeouts.silent_seconds)

    @classmethod
    async def open(
        cls,
        dsn: str,
        pool_size: int,
        timeouts: DatabaseTimeouts = DatabaseTimeouts(),
        operator_key: OperatorKey | None = None,
    ) -> Self:
        """Opens the pool. `operator_key` unwraps the keys of encrypted projects. Raises StoreUnavailable."""
        ciphers = Ciphers(operator_key)

        async def give_ciphers(conn: "asyncpg.Connection[asyncpg.Record]") -> None:
            if isinstance(conn, StoreConnection):
                conn.ciphers = ciphers

        statement_seconds = timeouts.statement_seconds
        with _translated_errors():
            pool = await asyncpg.create_pool(
                dsn,
                min_size=1,
                max_size=pool_size,
                timeout=CONNECT_SECONDS,
                command_timeout=statement_seconds,
                server_settings=_SERVER_SETTINGS,
                connection_class=StoreConnection,
                init=give_ciphers,
            )

        def connect() -> "Coroutine[Any, Any, asyncpg.Connection[asyncpg.Record]]":
            return asyncpg.connect(
                dsn, timeout=CONNECT_SECONDS, command_timeout=statement_seconds, server_settings=_SERVER_SETTINGS
            )

        database = cls(pool, connect, timeouts, ciphers)
        await database._watch.start()
        return database

    async def connect(self) -> "asyncpg.Connection[asyncpg.Record]":
        """Opens a connection outside of the pool; the caller closes it. Raises StoreUnavailable."""
        with _translated_errors():
            return await self._connect()

    async def ready(self) -> None:
        """See `DatabaseWatch.ready`."""
        await self._watch.ready()

    async def close(self) -> None:
        """Closes the pool after the statements in progress."""
        await self._watch.stop()
        await self._pool.close()

    @asynccontextmanager
    async def reading(self) -> AsyncGenerator[Conn]:
        """Yields a connection without a transaction: each statement sees the newest committed data."""
        with _translated_errors():
            conn = await self._acquired()
            self._in_use.add(conn)
            try:
                yield conn
            finally:
                self._in_use.discard(conn)
                await self._pool.release(cast("asyncpg.pool.PoolConnectionProxy[asyncpg.Record]", conn))

    async def _acquired(self) -> Conn:
        self._watch.check()
        try:
            async with asyncio.timeout(None) as acquiring:
                self._acquiring.add(acquiring)
                try:
                    return cast(Conn, await self._pool.acquire(timeout=self._timeouts.connection_seconds))
                finally:
                    self._acquiring.discard(acquiring)
        except TimeoutError:
            self._watch.check()
            seconds = self._timeouts.connection_seconds
            raise StoreUnavailable(
                f"no connection to Postgres was free within {seconds:g} s: try again, or raise PLAYHEAD_POOL_SIZE"
            ) from None

    async def _give_up(self) -> None:
        """Ends all waiting for Postgres with StoreUnavailable: terminates connections in use, and stops waiting for
        free ones."""
        await self._pool.expire_connections()
        now = asyncio.get_running_loop().time()
        for acquiring in list(self._acquiring):
            acquiring.reschedule(now)
        for conn in list(self._in_use):
            conn.terminate()

    @asynccontextmanager
    async def attempt(self) -> AsyncGenerator[Conn]:
        """Yields a connection in a transaction that is not repeated automatically. Raises StoreCollision."""
        try:
            async with self.transaction() as conn:
                yield conn
        except _COLLISIONS as error:
            raise StoreCollision(f"another transaction was in the way ({error}): try again") from error

    @asynccontextmanager
    async def transaction(self) -> AsyncGenerator[Conn]:
        """Yields a connection in a transaction, which is committed when the block ends without an error."""
        async with self.reading() as conn, conn.transaction():
            yield conn

    async def transact(self, work: Callable[[Conn], Awaitable[T]]) -> T:
        """Runs `work` in a transaction. After a collision with another transaction, runs `work` again in a new one.
        Raises StoreUnavailable after ATTEMPTS collisions."""
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
def _translated_errors() -> Generator[None]:
    try:
        yield
    except _UNAVAILABLE as error:
        if isinstance(error, ValueError):  # asyncpg's error for an argument that Postgres cannot represent
            raise _not_taken(error) from error
        raise StoreUnavailable(
            f"Postgres does not answer ({type(error).__name__}: {error}): see that it runs, and try again"
        ) from error
    except (asyncpg.DataError, asyncpg.ProgramLimitExceededError) as error:
        raise _not_taken(error) from error


def _not_taken(error: Exception) -> Refused:
    """Logs a value that Postgres refuses, and returns the error for the caller. Requests are checked before they reach
    the store, so this means that a check is missing."""
    log.warning("Postgres does not take a value that passed all checks, please report this", exc_info=error)
    return Refused(400, "not_taken", f"Postgres does not take a value of this request ({error}): send another")


# --- the lock of garbage collection ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Takeover:
    """A run that was taken over from a holder whose records may not all have arrived. `attempt` continues the run since
    `since_ns` (ns since 1970, by the database's clock)."""

    run: str
    attempt: int
    since_ns: int


@dataclass(frozen=True, slots=True)
class WriteContext:
    """The state that a writing transaction needs: its project, whether a sweep is running, and which of its runs were
    deleted or taken over."""

    project_id: int
    sweeping: bool = False
    deleted_runs: frozenset[UUID] = frozenset()
    takeovers: tuple[Takeover, ...] = ()

    async def note_refs(self, conn: Conn, refs: Iterable[bytes]) -> None:
        """Notes refs that this transaction stores or names. A running sweep keeps them and all that they name."""
        if self.sweeping and (digests := list(refs)):
            await sql.run(conn, "note_news", project_id=self.project_id, refs=digests)


async def begin_write(conn: Conn, project_id: int, runs: Iterable[UUID] = ()) -> WriteContext:
    """Starts a writing transaction; call it first. Waits for a running deletion or sweep step."""
    row = await sql.row(conn, "enter", project_id=project_id, runs=list(runs))
    if row is None:
        return WriteContext(project_id)
    return WriteContext(project_id, row["sweeping"], frozenset(row["gone"]), tuple(map(_takeover, row["taken"])))


def _takeover(text: str) -> Takeover:
    run, attempt, since_ns = text.split()
    return Takeover(UUID(run).hex, int(attempt), int(since_ns))


async def begin_exclusive_write(conn: Conn, project_id: int, lock_timeout_ms: int) -> None:
    """Excludes writers until this transaction ends. Raises a lock timeout (which counts as a collision) after
    `lock_timeout_ms`."""
    await sql.run(conn, "bound_locks", milliseconds=str(lock_timeout_ms))
    await sql.run(conn, "enter_alone", project_id=project_id)

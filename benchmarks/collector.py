"""A collector for measuring: its process, a client for it, and its Postgres to look into."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeVar

import asyncpg

from playhead.client import Client
from playhead_collector.process import CollectorProcess

T = TypeVar("T")
# Tables through which everything passes.
_PASSED = ("content", "thread_node")
_MOST_WASTED = 200_000
_BYTES, _ROWS = "select pg_total_relation_size('{0}')", "select count(*) from {0}"
# Sealed runs are what a database is full of, so sizes are measured when all runs are.
_ENV = {"PLAYHEAD_SEAL_AFTER_SECONDS": "1", "PLAYHEAD_ADMIN_KEY": "", "PLAYHEAD_LOG_LEVEL": "warning"}
_SEALED_WITHIN_SECONDS = 120.0
# Runs are indexed in the background, half of the time: 200 long ones take minutes on a busy machine.
_INDEXED_WITHIN_SECONDS = 600.0

_SIZES = """
    select c.relname as name, pg_relation_size(c.oid) as heap, pg_indexes_size(c.oid) as indexes,
        pg_total_relation_size(c.oid) as total, c.reltuples::bigint as rows
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind = 'r' and c.relname <> 'alembic_version'
    order by total desc
"""


@dataclass(frozen=True, slots=True)
class TableSize:
    """What a table takes; `total` has TOAST and free space maps, too."""

    name: str
    heap: int
    indexes: int
    total: int
    rows: int

    def __str__(self) -> str:
        return f"{self.name} {self.total:,} ({self.rows:,} rows; heap {self.heap:,}, indexes {self.indexes:,})"


@dataclass(frozen=True, slots=True)
class BenchCollector:
    """A running collector."""

    url: str
    grpc_url: str
    pid: int
    database: str
    client: Client

    def wait_sealed(self, runs: Iterable[str]) -> None:
        """Until none of these runs changes any more."""
        deadline = time.monotonic() + _SEALED_WITHIN_SECONDS
        for run in runs:
            while not self.client.run(run)["completeness"]["sealed"]:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"run {run} is not sealed after {_SEALED_WITHIN_SECONDS:.0f} s")
                time.sleep(0.25)

    def wait_packed(self) -> None:
        """Until all that sealed runs name is packed, and what that has emptied is given back."""
        deadline = time.monotonic() + _SEALED_WITHIN_SECONDS
        while self.number("select count(*) from packing_due"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not all runs are packed after {_SEALED_WITHIN_SECONDS:.0f} s")
            time.sleep(0.25)
        while any(self._wasted(table) > _MOST_WASTED for table in _PASSED):
            if time.monotonic() > deadline:
                raise TimeoutError("the space of what was packed is not given back")
            time.sleep(0.25)

    def wait_indexed(self) -> None:
        """Until all sealed runs are in the search index."""
        deadline = time.monotonic() + _INDEXED_WITHIN_SECONDS
        while self.number("select count(*) from run where sealed and not searched"):
            if time.monotonic() > deadline:
                raise TimeoutError(f"not all runs are indexed after {_INDEXED_WITHIN_SECONDS:.0f} s")
            time.sleep(0.25)

    def _wasted(self, table: str) -> int:
        return self.number(_BYTES.format(table)) - 2_000 * self.number(_ROWS.format(table))

    def table_sizes(self) -> list[TableSize]:
        """After a vacuum, largest first."""
        return _run(self._table_sizes())

    def database_bytes(self) -> int:
        """All tables and indexes, after a vacuum."""
        return sum(table.total for table in self.table_sizes())

    def number(self, query: str) -> int:
        """What a query for one number answers."""
        with self.asking() as number:
            return number(query)

    @contextmanager
    def asking(self) -> Generator[Callable[[str], int]]:
        """Yields `number` over one connection, for questions that are asked again and again while something is
        measured: each new connection costs the measured cores some milliseconds. For one thread."""
        with asyncio.Runner() as runner:
            connection = runner.run(_connect(self.database))
            try:
                yield lambda query: runner.run(_number(connection, query))
            finally:
                runner.run(connection.close())

    async def _table_sizes(self) -> list[TableSize]:
        connection = await asyncpg.connect(self.database)
        try:
            await connection.execute("vacuum analyze")
            return [TableSize(**dict(row)) for row in await connection.fetch(_SIZES)]
        finally:
            await connection.close()


@contextmanager
def collector(env: Mapping[str, str] = MappingProxyType({})) -> Generator[BenchCollector]:
    """On an embedded Postgres of its own; gone afterwards. `env`: further settings."""
    with CollectorProcess(env={**_ENV, **env}) as process, Client(process.url) as client:
        yield BenchCollector(process.url, process.grpc_url or "", process.pid, process.database, client)


async def _connect(database: str) -> "asyncpg.Connection[asyncpg.Record]":
    return await asyncpg.connect(database)


async def _number(connection: "asyncpg.Connection[asyncpg.Record]", query: str) -> int:
    return int(await connection.fetchval(query) or 0)


def _run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)

"""[store] → live: receives Postgres' notifications of changes, on a connection of its own. Reconnects when it
breaks."""

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from asyncpg import Connection, InterfaceError, PostgresError, Record

from playhead_collector.errors import StoreUnavailable

log = logging.getLogger(__name__)

CHANNEL = "playhead_changes"
_FIRST_RETRY_S, _LAST_RETRY_S = 1.0, 30.0

OnChange = Callable[[int, Sequence[str]], None]


@asynccontextmanager
async def listening(
    connect: Callable[[], Awaitable["Connection[Record]"]], on_change: OnChange
) -> AsyncGenerator[None]:
    """Calls `on_change` with the project and runs of each notification, until the block ends.

    If the connection is lost, reconnects after a delay. Notifications in between are missed.
    """
    task = asyncio.create_task(_listen(connect, on_change), name="playhead listener")
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


async def _listen(connect: Callable[[], Awaitable["Connection[Record]"]], on_change: OnChange) -> None:
    def notified(_conn: Any, _pid: int, _channel: str, payload: object) -> None:
        project_id, *runs = str(payload).split()
        on_change(int(project_id), runs)

    wait_s = _FIRST_RETRY_S
    while True:
        with suppress(StoreUnavailable, OSError, PostgresError, InterfaceError, TimeoutError):
            conn = await connect()
            lost = asyncio.Event()
            conn.add_termination_listener(lambda _, lost=lost: lost.set())
            try:
                await conn.add_listener(CHANNEL, notified)
                wait_s = _FIRST_RETRY_S
                await lost.wait()
            finally:
                conn.terminate()
        log.warning("the database does not tell of new events; trying again in %.0f s", wait_s)
        await asyncio.sleep(wait_s)
        wait_s = min(2 * wait_s, _LAST_RETRY_S)

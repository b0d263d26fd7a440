"""Watches over the embedded Postgres while a collector runs: one that ends by itself is started again."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final, Protocol

from playhead_collector.errors import EmbeddedPostgresFailed

log = logging.getLogger(__name__)

# Long enough to cost nothing, short enough that exporters, which retry for a minute or more, notice a pause only.
LOOK_EVERY_SECONDS: Final = 0.5
# What ends as often as this is not helped by being started again: a full disk, damaged data, too little memory.
MAX_RESTARTS: Final = 5
WITHIN_SECONDS: Final = 600.0


class Restartable(Protocol):
    """What is watched over."""

    @property
    def is_running(self) -> bool:
        """False once it has ended without being asked to."""
        ...

    def restart(self) -> None:
        """Starts it again. Blocks. Raises EmbeddedPostgresFailed."""
        ...


async def supervise(
    postgres: Restartable,
    *,
    clock: Callable[[], float] = time.monotonic,
    every_seconds: float = LOOK_EVERY_SECONDS,
) -> None:
    """Runs until it is cancelled. Raises EmbeddedPostgresFailed when Postgres cannot be kept running."""
    restarts: list[float] = []
    while True:
        await asyncio.sleep(every_seconds)
        if postgres.is_running:
            continue
        now = clock()
        restarts = [at for at in restarts if at > now - WITHIN_SECONDS]
        if len(restarts) >= MAX_RESTARTS:
            raise EmbeddedPostgresFailed(
                f"Postgres ended {MAX_RESTARTS + 1} times in {WITHIN_SECONDS / 60:.0f} minutes: see postgres.log in "
                "the data directory, mend that, and start again"
            )
        restarts.append(now)
        log.error("Postgres has ended by itself: starting it again; requests are answered with 503 until it runs")
        await asyncio.to_thread(postgres.restart)
        log.warning("Postgres runs again")

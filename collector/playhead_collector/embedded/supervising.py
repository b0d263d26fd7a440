"""Supervises the embedded Postgres while a collector runs: starts it again when it ends by itself."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final, Protocol

from playhead_collector.errors import EmbeddedPostgresFailed

log = logging.getLogger(__name__)

# Checks so often cost nothing, and exporters, which retry for a minute or more, notice only a pause.
LOOK_EVERY_SECONDS: Final = 0.5
# If Postgres ends so often, starting it again does not help: the disk is full, data is damaged, or memory is short.
MAX_RESTARTS: Final = 5
WITHIN_SECONDS: Final = 600.0


class Restartable(Protocol):
    """A process that is supervised."""

    @property
    def is_running(self) -> bool:
        """Whether the process runs."""
        ...

    def restart(self) -> None:
        """Starts it again if it has ended. Blocks. Raises EmbeddedPostgresFailed."""
        ...


async def supervise(
    postgres: Restartable,
    *,
    clock: Callable[[], float] = time.monotonic,
    every_seconds: float = LOOK_EVERY_SECONDS,
) -> None:
    """Starts `postgres` again whenever it has ended, until this is cancelled. Raises EmbeddedPostgresFailed when
    Postgres cannot be kept running. `clock` gives seconds."""
    restarts: list[float] = []
    while True:
        await asyncio.sleep(every_seconds)
        if postgres.is_running:
            continue
        now = clock()
        restarts = [restart for restart in restarts if restart > now - WITHIN_SECONDS]
        if len(restarts) >= MAX_RESTARTS:
            raise EmbeddedPostgresFailed(
                f"Postgres ended {MAX_RESTARTS + 1} times in {WITHIN_SECONDS / 60:.0f} minutes: see postgres.log in "
                "the data directory, mend that, and start again"
            )
        restarts.append(now)
        log.error("Postgres has ended by itself: starting it again; requests are answered with 503 until it runs")
        await asyncio.to_thread(postgres.restart)
        log.warning("Postgres runs again")

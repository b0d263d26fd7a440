"""store → [retain]: makes the steps of jobs that run redaction rules over what is stored.

Each step is followed by a rest as long as it took, so that a job takes at most half of one core and of one connection.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from time import monotonic

from playhead_collector.background import BackgroundLoop, keep_working
from playhead_collector.errors import (
    ContentCorrupt,
    ObjectStoreUnavailable,
    StoreCollision,
    StoreUnavailable,
    WrongEncryptionKey,
)
from playhead_collector.redaction.masking import Masker
from playhead_collector.store.ports.redaction import RedactionStore

log = logging.getLogger(__name__)

_NS = 1_000_000_000
_POLL_SECONDS = 1.0
# By then every collector follows the rules, and what was on its way under the rules before is stored.
SETTLED_SECONDS = 15.0
_LONGEST_REST_SECONDS = 5.0


class Redactor:
    """Makes steps of the jobs of all projects, in turn."""

    def __init__(
        self,
        store: RedactionStore,
        masker: Callable[[int], Awaitable[Masker | None]],
        *,
        clock: Callable[[], float] = monotonic,
        settled_s: float = SETTLED_SECONDS,
    ) -> None:
        """`masker` gives what masks the data of a project. `clock` gives seconds. `settled_s`: how long a job waits
        before its first step."""
        self._store = store
        self._masker = masker
        self._clock = clock
        self._settled_ns = int(settled_s * _NS)
        self._loop = BackgroundLoop(
            lambda: keep_working(self.run_once, "running redaction rules over what is stored"), "playhead redactor"
        )

    def start(self) -> None:
        """Starts the background loop."""
        self._loop.start()

    async def stop(self) -> None:
        """Stops. A step in progress is rolled back, and made by the next collector."""
        await self._loop.stop()

    async def run_once(self) -> float:
        """Makes one step of each job. Returns the seconds until the next call. Raises StoreUnavailable."""
        began, projects = self._clock(), await self._store.going_on(self._settled_ns)
        moved = [await self._step(project_id) for project_id in projects]
        if not any(moved):
            return _POLL_SECONDS
        return min(self._clock() - began, _LONGEST_REST_SECONDS)

    async def _step(self, project_id: int) -> bool:
        masker = await self._masker(project_id)
        if masker is None:  # the rules were taken away
            await self._store.stop(project_id)
            return True
        try:
            job = await self._store.step(project_id, masker)
        except (StoreCollision, ObjectStoreUnavailable, WrongEncryptionKey, ContentCorrupt) as error:
            await self._store.note_failure(project_id, str(error))
            return False
        except StoreUnavailable:
            raise
        except Exception as error:
            log.exception("a step of running redaction rules over project %d failed; it is tried again", project_id)
            # Its text may tell what should be masked.
            await self._store.note_failure(project_id, f"a step failed with {type(error).__name__}: see the log")
            await asyncio.sleep(0)
            return False
        if job is not None and job.ended_ns is not None:
            log.info("redaction rules were run over what is stored of project %d: %s", project_id, dict(job.counts))
        return job is not None

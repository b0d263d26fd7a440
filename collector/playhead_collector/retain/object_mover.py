"""store → [retain]: moves large contents into the object store in the background, and deletes dead objects.

An acknowledgement never waits for it. While the object store is down, full or refuses, contents stay in Postgres; the
mover says so (`problem`, a line in the log), tries again later, and nothing is lost.
"""

import logging
from collections import Counter
from collections.abc import Callable
from time import monotonic

from playhead.wire.delays import delay_s
from playhead_collector.background import BackgroundLoop, keep_working
from playhead_collector.errors import ObjectStoreUnavailable
from playhead_collector.store.ports.objects import BodyMoves, ObjectKeeping

log = logging.getLogger(__name__)

_SETTLED_AT_A_TIME = 20
_FIRST_RETRY_SECONDS, _LAST_RETRY_SECONDS = 5.0, 300.0
# Objects that nobody names cost money, not correctness. One look at all objects takes a millisecond for each.
_TIDY_SECONDS = 600.0
_DELETE_SECONDS = 60.0


class ObjectMover:
    """Moves contents of at least `least_bytes` stored bytes, one at a time, and tidies up."""

    def __init__(
        self,
        moves: BodyMoves,
        keeping: ObjectKeeping,
        *,
        least_bytes: int,
        grace_s: float,
        wait_s: float,
        is_busy: Callable[[], bool] = lambda: False,
        clock: Callable[[], float] = monotonic,
        poll_s: float = 5.0,
    ) -> None:
        """`grace_s`: so long after its last row an object is deleted.  `wait_s`: so long after its row names an object
        a body is deleted from Postgres.  `is_busy`: whether moving has to wait because of other work.  `clock` gives
        seconds."""
        self.counts: Counter[str] = Counter()  # contents, bytes, deleted, failures
        self.problem: str | None = None
        """What the object store said when it last failed; None: it does what is asked."""
        self._moves = moves
        self._keeping = keeping
        self._least_bytes = least_bytes
        self._grace_s = grace_s
        self._wait_s = wait_s
        self._is_busy = is_busy
        self._clock = clock
        self._poll_s = poll_s
        self._failures = 0  # in a row
        self._tidy_at = self._delete_at = 0.0
        self._loop = BackgroundLoop(self._work_on, "playhead object mover")

    def start(self) -> None:
        """Starts moving in the background."""
        self._loop.start()

    async def stop(self) -> None:
        """Stops. An object that is being written is given up, and deleted later."""
        await self._loop.stop()

    async def run_once(self) -> float:
        """Moves a content, or does what else is due. Returns the seconds until the next call."""
        if self._is_busy():
            return self._poll_s
        began = self._clock()
        try:
            worked = await self._work()
        except ObjectStoreUnavailable as error:
            return self._failed(error)
        if self.problem is not None:
            log.info("the object store does what is asked again: contents move")
        self._failures, self.problem = 0, None
        # As long a rest as the work took: half of one connection, and of what the line to the object store carries.
        return self._clock() - began if worked else self._poll_s

    async def _work(self) -> bool:
        # First what makes room: it must go on when the object store is full.
        settled = await self._keeping.check_and_settle(self._wait_s, _SETTLED_AT_A_TIME)
        now = self._clock()
        if now >= self._tidy_at:
            _, is_end = await self._moves.tidy()
            self._tidy_at = now + (_TIDY_SECONDS if is_end else self._poll_s)
        if now >= self._delete_at:
            deleted = await self._keeping.delete_doomed(self._grace_s)
            self.counts["deleted"] += deleted
            self._delete_at = now + (_DELETE_SECONDS if not deleted else 0)
        if erased := await self._moves.erase():
            self._delete_at = now
        moved = await self._moves.move_content(self._least_bytes)
        self.counts.update(contents=moved.items, bytes=moved.bytes)
        return bool(moved.items or settled or erased)

    def _failed(self, error: ObjectStoreUnavailable) -> float:
        self.counts["failures"] += 1
        self._failures += 1
        if self.problem is None:
            log.warning("contents stay in Postgres for now: %s", error)
        self.problem = str(error)
        return delay_s(self._failures, _FIRST_RETRY_SECONDS, _LAST_RETRY_SECONDS)

    async def _work_on(self) -> None:
        await keep_working(self.run_once, "moving contents to the object store")

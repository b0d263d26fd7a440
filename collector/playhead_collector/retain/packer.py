"""projection → store: packs contents and nodes of sealed runs in the background, when there is little to project."""

import logging
from collections import Counter
from collections.abc import Callable, Sequence

from playhead_collector.background import BackgroundLoop, keep_working
from playhead_collector.errors import KeyDestroyed, StoreCollision, StoreUnavailable, WrongEncryptionKey
from playhead_collector.store.ports.projections import ProjectionStore, UnpackedRun

log = logging.getLogger(__name__)

# Packing more runs together compresses better; this many take some tens of milliseconds.
_AT_A_TIME = 16
_NS = 1_000_000_000
# Of a project whose key this collector lacks: what is due would else be looked at first, again and again.
_TRIED_AGAIN_NS = 60 * _NS


class Packer:
    """Packs sealed runs, and frees the space of tables that packing has emptied."""

    def __init__(
        self,
        store: ProjectionStore,
        *,
        clock: Callable[[], int],
        is_busy: Callable[[], bool] = lambda: False,
        rest: Callable[[], int] = lambda: 1,
        poll_s: float = 1.0,
    ) -> None:
        """`clock` returns ns since 1970.  `is_busy`: whether packing has to wait because of other work.  `rest`: the
        packer rests for this many times the duration of its work."""
        self.counts: Counter[str] = Counter()  # packed
        self._store = store
        self._clock = clock
        self._is_busy = is_busy
        self._rest = rest
        self._poll_s = poll_s
        self._again_ns = 0
        self._unreadable: dict[int, int] = {}  # projects that are not tried until then, in ns since 1970
        self._older = True  # whether an older version may have stored contents whose size is not known
        self._emptied = False  # whether packing has emptied tables
        self._loop = BackgroundLoop(self._work_on, "playhead packer")

    def start(self) -> None:
        """Starts packing in the background."""
        self._loop.start()

    async def stop(self) -> None:
        """Stops. Packing in progress is rolled back, and done again after the next start."""
        await self._loop.stop()

    async def run_once(self) -> float:
        """Packs some runs. Returns the seconds until the next call."""
        began = self._clock()
        if self._is_busy() or began < self._again_ns:
            return min(self._poll_s, max(self._again_ns - began, _NS // 10) / _NS)
        self._unreadable = {number: until for number, until in self._unreadable.items() if began < until}
        due = await self._store.runs_to_pack(_AT_A_TIME, without=[*self._unreadable])
        for number in dict.fromkeys(run.project_id for run in due):
            await self._pack([run for run in due if run.project_id == number])
        if not due and self._older:
            self._older = await self._store.measure_older() > 0
        if not due and self._emptied and not self._older:
            self._emptied = not await self._store.shrink()
        now = self._clock()
        self._again_ns = now + self._rest() * max(now - began, 0)
        return (self._again_ns - now) / _NS if due else self._poll_s

    async def _pack(self, due: Sequence[UnpackedRun]) -> None:
        """Packs runs of a project together: contents that they have in common are stored once."""
        try:
            await self._store.pack(due)
        except StoreCollision:  # tried again
            return
        except (WrongEncryptionKey, KeyDestroyed):
            self._unreadable[due[0].project_id] = self._clock() + _TRIED_AGAIN_NS
            return
        except StoreUnavailable:
            raise
        except Exception:
            for run in due if len(due) > 1 else ():
                await self._pack([run])
            if len(due) == 1:
                log.exception("run %s cannot be packed and stays as it is; please report this", due[0].run)
                await self._store.skip_packing(due)
            return
        self._emptied = True
        self.counts["packed"] += len(due)

    async def _work_on(self) -> None:
        await keep_working(self.run_once, "looking for runs to pack")

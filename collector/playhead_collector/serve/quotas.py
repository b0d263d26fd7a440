"""What projects may send: limits per second, per day and of what is stored.  [serve] → store.

Each collector counts what it takes, and adds it to the database about once a second. So the limit of a day counts what
arrived at all collectors, some seconds late; the limit per second is one of each collector. A request that was begun is
taken as a whole: whoever is over a limit then is refused until the time has passed that it would have taken.

Refused is with 429 and `Retry-After`: senders keep what they have, and send it later.
"""

import datetime
import time
from collections.abc import Callable
from dataclasses import dataclass
from math import ceil
from typing import Final

from playhead_collector.background import BackgroundLoop, keep_working
from playhead_collector.errors import Refused
from playhead_collector.read.storage import read_storage
from playhead_collector.serve.project_directory import ProjectDirectory
from playhead_collector.store.ports.projects import Arrived, ProjectStore
from playhead_collector.store.ports.storage import StorageReader

_NS: Final = 1_000_000_000
_DAY_SECONDS: Final = 86_400
# How often what arrived is added to the database, and what is stored is measured.
_ADD_SECONDS: Final = 1.0
_MEASURE_SECONDS: Final = 60.0
# Exporters give up after some minutes; longer than this is no use to them.
_LONGEST_RETRY_SECONDS: Final = 600


@dataclass(slots=True)
class _Allowance:
    """Spans and log events that a project may still send; below 0: so many too many were taken. `at`: seconds."""

    left: float
    at: float


class Quotas:
    """Counts what projects send, and refuses those that are over a limit of theirs."""

    def __init__(
        self,
        projects: ProjectDirectory,
        stored: ProjectStore,
        storage: StorageReader,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        """`clock` gives seconds, `wall_ns` ns since 1970."""
        self._projects, self._stored, self._storage = projects, stored, storage
        self._clock, self._wall_ns = clock, wall_ns
        self._allowances: dict[int, _Allowance] = {}
        self._new: dict[int, Arrived] = {}
        self._adding: dict[int, Arrived] = {}  # what is being added to the database
        self._today: dict[int, Arrived] = {}
        self._sizes: dict[int, int] = {}
        self._measured_at: float | None = None
        self._loop = BackgroundLoop(
            lambda: keep_working(self.run_once, "counting what projects send"), "playhead quotas"
        )

    def start(self) -> None:
        """Starts to add what arrived to the database."""
        self._loop.start()

    async def stop(self) -> None:
        """Stops. What arrived in the last second may not be counted."""
        await self._loop.stop()

    def arrived(self, project_id: int, spans: int, body_bytes: int) -> None:
        """Counts what was taken: spans and log events, and bytes of a body, not compressed."""
        self._new[project_id] = self._new.get(project_id, Arrived()) + Arrived(spans, body_bytes)
        if (allowance := self._allowances.get(project_id)) is not None:
            allowance.left -= spans

    async def check(self, project_id: int) -> None:
        """Raises Refused (429) if the project is over one of its limits; StoreUnavailable."""
        if (refused := await self.refusal(project_id)) is not None:
            raise refused

    async def refusal(self, project_id: int) -> Refused | None:
        """Returns the refusal of a project that is over one of its limits.  Raises StoreUnavailable."""
        project = (await self._projects.all()).get(project_id)
        if project is None:
            return None
        limits = project.limits
        if limits.spans_per_second is not None:
            wait = self._wait(project_id, limits.spans_per_second)
            if wait > 0:
                return _over(f"{limits.spans_per_second} spans and log events per second", wait)
        else:
            self._allowances.pop(project_id, None)
        if limits.bytes_per_day is not None and self.today(project_id).bytes >= limits.bytes_per_day:
            return _over(f"{limits.bytes_per_day} bytes per day", self._until_midnight())
        if limits.stored_bytes is not None and self._sizes.get(project_id, 0) >= limits.stored_bytes:
            return _over(f"{limits.stored_bytes} stored bytes", _LONGEST_RETRY_SECONDS)
        return None

    def today(self, project_id: int) -> Arrived:
        """Returns what arrived of a project today, as far as it is known here."""
        known, adding = self._today.get(project_id, Arrived()), self._adding.get(project_id, Arrived())
        return known + adding + self._new.get(project_id, Arrived())

    async def run_once(self) -> float:
        """Adds what arrived to the database, and reads what arrived elsewhere. Returns the seconds until the next
        call.  Raises StoreUnavailable; then it is added later."""
        self._adding, self._new = self._new, {}
        try:
            self._today = dict(await self._stored.add_arrived(self._adding))
        except BaseException:
            for project_id, lost in self._adding.items():
                self._new[project_id] = self._new.get(project_id, Arrived()) + lost
            raise
        finally:
            self._adding = {}
        if self._measured_at is None or self._clock() - self._measured_at >= _MEASURE_SECONDS:
            await self._measure()
            self._measured_at = self._clock()
        return _ADD_SECONDS

    async def _measure(self) -> None:
        for number, project in (await self._projects.all()).items():
            if project.limits.stored_bytes is not None:
                sizes = (await read_storage(self._storage, number, today=self._today_utc()))["project"]
                self._sizes[number] = (sizes["bytes"]["value"] or 0) + (sizes["index_bytes"]["value"] or 0)

    def _wait(self, project_id: int, rate: int) -> float:
        """Returns the seconds until the project may send again; 0: it may."""
        now = self._clock()
        allowance = self._allowances.setdefault(project_id, _Allowance(rate, now))
        allowance.left = min(float(rate), allowance.left + (now - allowance.at) * rate)
        allowance.at = now
        return max(0.0, -allowance.left / rate)

    def _today_utc(self) -> datetime.date:
        return datetime.datetime.fromtimestamp(self._wall_ns() // _NS, datetime.UTC).date()

    def _until_midnight(self) -> float:
        return _DAY_SECONDS - self._wall_ns() // _NS % _DAY_SECONDS


def _over(limit: str, seconds: float) -> Refused:
    return Refused(
        429,
        "over_limit",
        f"this project is over its limit of {limit}: it is taken again later, or raise the limit with "
        "`playhead projects limit`",
        {"Retry-After": str(min(max(1, ceil(seconds)), _LONGEST_RETRY_SECONDS))},
    )

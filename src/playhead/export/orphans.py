"""`playhead ship`: delivers, now, what dead processes left in the journal."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playhead.export.counters import ShipCounters
from playhead.export.dead_lanes import DeadLanes, undelivered
from playhead.export.delivery import Delivery
from playhead.export.patience import Clock, Problems, SystemClock, Unavailable, delays
from playhead.export.shipment import Shipment
from playhead.settings import Settings, load

_TRIES = 5
_LONGEST_WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ShipReport:
    """What `ship_orphans` did.  `bytes` went over the wire; `left` lanes are still to be delivered: see `problem`."""

    lanes: int
    spans: int
    contents: int
    bytes: int
    left: int
    problem: str = ""


def ship_orphans(
    journal_dir: Path | None = None,
    settings: Settings | None = None,
    *,
    clock: Clock | None = None,
    on_problem: Callable[[str], None] | None = None,
) -> ShipReport:
    """Delivers all that dead processes left; a collector that cannot be reached is a `problem` of the report."""
    settings = settings or load()
    folder = journal_dir or settings.journal_dir
    counters = ShipCounters()
    dead = DeadLanes(folder, counters)
    delivery = Delivery(settings, counters, Problems(on_problem))
    deliver, problem = _patient(delivery.deliver, clock or SystemClock(), counters), ""
    try:
        while dead.step(deliver):
            pass
    except Unavailable as error:
        problem = str(error)
    finally:
        delivery.close()
    return ShipReport(
        dead.shipped, counters.spans, counters.contents, counters.wire_bytes, len(undelivered(folder)), problem
    )


def _patient(deliver: Callable[[Shipment], None], clock: Clock, counters: ShipCounters) -> Callable[[Shipment], None]:
    def patiently(shipment: Shipment) -> None:
        for tried, delay in enumerate(delays(), 1):
            try:
                deliver(shipment)
                return
            except Unavailable as error:
                if error.hopeless or tried == _TRIES:
                    raise
                counters.retries += 1
                clock.wait(threading.Event(), min(max(delay, error.retry_after), _LONGEST_WAIT_SECONDS))

    return patiently

"""`playhead ship`: delivers what dead processes left in the journal, and dead letters on request."""

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from playhead.errors import JournalUnusable
from playhead.export.backoff import Clock, ProblemReporter, SystemClock, Unavailable, backoff_delays
from playhead.export.counters import ShipCounters
from playhead.export.dead_lanes import DeadLanes, undelivered
from playhead.export.dead_letters import DeadLetters, count_letters, dead_letters, most_bytes, read_letters
from playhead.export.delivery import Delivery
from playhead.export.shipment import Shipment
from playhead.settings.sdk import Settings, load

# More tries than `sending` makes for an answer that may be temporary, so that one refused record does not stop
# the others.
_MAX_TRIES = 8
_MAX_WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ShipReport:
    """What `ship_orphans` did. `bytes`: size of all requests. `left`: lanes not delivered, because of `problem`.

    `dead_letters`: records stored in the journal's folder because the collector refused them, now or earlier.
    `damaged_bytes`: bytes of the journal that are damaged; the records around them were delivered.
    """

    lanes: int
    spans: int
    contents: int
    bytes: int
    left: int
    dead_letters: int = 0
    damaged_bytes: int = 0
    problem: str = ""


def ship_orphans(
    journal_dir: Path | None = None,
    settings: Settings | None = None,
    *,
    letters: bool = False,
    clock: Clock | None = None,
    on_problem: Callable[[str], None] | None = None,
) -> ShipReport:
    """Delivers the lanes of dead processes. A collector that cannot be reached is reported as `problem`, not raised.

    With `letters`, dead letters are sent again, too; those refused again are kept. Raises JournalUnusable when the
    journal cannot be read.
    """
    settings = settings or load()
    folder = journal_dir or settings.journal_dir
    try:
        return _ship(folder, settings, letters, clock, on_problem)
    except OSError as error:
        raise JournalUnusable(
            f"the journal in {folder} cannot be read ({error.strerror}): nothing is lost; try again when it can be"
        ) from error


def _ship(
    folder: Path, settings: Settings, letters: bool, clock: Clock | None, on_problem: Callable[[str], None] | None
) -> ShipReport:
    counters = ShipCounters()
    dead = DeadLanes(folder, counters)
    again = dead_letters(folder) if letters else []  # listed before this run adds its own
    aside = DeadLetters(folder, most_bytes(settings))
    delivery = Delivery(settings, counters, ProblemReporter(on_problem), aside)
    deliver, problem = _with_retries(delivery.deliver, clock or SystemClock(), counters), ""
    try:
        while dead.step(deliver):
            pass
        for path in again:
            _send_again(path, deliver)
    except Unavailable as error:
        problem = str(error)
    finally:
        delivery.close()
    left = len(undelivered(folder))
    sent = (dead.shipped, counters.spans, counters.contents, counters.wire_bytes)
    return ShipReport(*sent, left, count_letters(folder), counters.damaged_bytes, problem)


def _send_again(path: Path, deliver: Callable[[Shipment], None]) -> None:
    """Sends the dead letters of a file and deletes it. Records refused again are in a new file by then."""
    shipment = read_letters(path)
    unreadable = shipment.unreadable
    deliver(shipment)
    if not unreadable:
        path.unlink(missing_ok=True)


def _with_retries(
    deliver: Callable[[Shipment], None], clock: Clock, counters: ShipCounters
) -> Callable[[Shipment], None]:
    def patiently(shipment: Shipment) -> None:
        for tried, delay in enumerate(backoff_delays(), 1):
            try:
                deliver(shipment)
                return
            except Unavailable as error:
                if error.hopeless or tried == _MAX_TRIES:
                    raise
                counters.retries += 1
                clock.wait(threading.Event(), min(max(delay, error.retry_after), _MAX_WAIT_SECONDS))

    return patiently

"""`playhead ship`: delivers what dead processes left in the journal, and dead letters on request."""

import os
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from playhead.errors import JournalUnusable, SettingInvalid
from playhead.export.counters import ShipCounters
from playhead.export.dead_lanes import DeadLanes, lanes_for, undelivered
from playhead.export.dead_letters import DeadLetters, count_letters, dead_letters, most_bytes, read_letters
from playhead.export.delivery import Delivery
from playhead.export.destination_notes import DestinationNote, noted_destination
from playhead.export.destinations.delivery import DestinationDelivery
from playhead.export.destinations.target import export_target
from playhead.export.left_runs import tell_of_left_runs
from playhead.export.shipment import Shipment
from playhead.export.target import DeliversShipments, ShipTarget
from playhead.journal.lane import LaneReader, lanes
from playhead.settings.sdk import Settings, load
from playhead.wire.delays import backoff_delays
from playhead.wire.retries import Clock, ProblemReporter, SystemClock, Unavailable

# More tries than `sending` makes for an answer that may be temporary, so that one refused record does not stop
# the others.
_MAX_TRIES = 8
_MAX_WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class ShippedElsewhere:
    """What was delivered to a destination of `playhead.export_to`. `left`: lanes not delivered, because of
    `problem`."""

    lanes: int
    spans: int
    left: int
    problem: str = ""


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
    elsewhere: Mapping[str, ShippedElsewhere] = field(default_factory=dict[str, ShippedElsewhere])
    """By destination, for the destinations for which there was something to deliver."""


def ship_orphans(
    journal_dir: Path | None = None,
    settings: Settings | None = None,
    *,
    letters: bool = False,
    headers: Mapping[str, str] | None = None,
    environ: Mapping[str, str] = os.environ,
    clock: Clock | None = None,
    on_problem: Callable[[str], None] | None = None,
) -> ShipReport:
    """Delivers the lanes of dead processes to the collector and to the destinations that the lanes name. A destination
    that cannot be reached is reported as `problem`, not raised.

    `headers`: for destinations whose headers only the program knew. `environ` has the keys of the others. With
    `letters`, dead letters are sent again, too; those refused again are kept. Raises JournalUnusable if the journal
    cannot be read.
    """
    settings = settings or load()
    folder = journal_dir or settings.journal_dir
    try:
        elsewhere = _ship_elsewhere(folder, headers or {}, environ, clock or SystemClock(), on_problem)
        return replace(_ship(folder, settings, letters, clock, on_problem), elsewhere=elsewhere)
    except OSError as error:
        raise JournalUnusable(
            f"the journal in {folder} cannot be read ({error.strerror}): nothing is lost; try again when it can be"
        ) from error


def _ship(
    folder: Path, settings: Settings, letters: bool, clock: Clock | None, on_problem: Callable[[str], None] | None
) -> ShipReport:
    if settings.endpoint is None:
        undelivered_count = len([lane for lane in undelivered(folder) if LaneReader(lane).is_begun()])
        problem = "there is no collector (PLAYHEAD_ENDPOINT=none)" if undelivered_count else ""
        return ShipReport(0, 0, 0, 0, undelivered_count, count_letters(folder), problem=problem)
    counters = ShipCounters()
    dead = DeadLanes(folder, counters, only=lanes_for(folder, ShipTarget().reader))
    again = dead_letters(folder) if letters else []  # listed before this run adds its own
    aside = DeadLetters(folder, most_bytes(settings))
    delivery = Delivery(settings, counters, ProblemReporter(on_problem), aside)
    deliver, problem = _with_retries(delivery.deliver, clock or SystemClock(), counters), ""
    try:
        while dead.step(deliver):
            pass
        for path in again:
            _send_again(path, deliver)
        if settings.lease_seconds:
            tell_of_left_runs(folder, delivery.tell_left)
    except Unavailable as error:
        problem = str(error)
    finally:
        delivery.close()
    undelivered_count = len(undelivered(folder))
    sent = (dead.shipped, counters.spans, counters.contents, counters.wire_bytes)
    return ShipReport(*sent, undelivered_count, count_letters(folder), counters.damaged_bytes, problem)


def _ship_elsewhere(
    folder: Path,
    headers: Mapping[str, str],
    environ: Mapping[str, str],
    clock: Clock,
    on_problem: Callable[[str], None] | None,
) -> Mapping[str, ShippedElsewhere]:
    reports: dict[str, ShippedElsewhere] = {}
    for name in sorted({name for lane in lanes(folder) for name in LaneReader(lane).destinations()}):
        reader = partial(_reader_of, name)
        by_note: dict[DestinationNote | None, list[Path]] = {}
        for lane in undelivered(folder, reader):
            by_note.setdefault(noted_destination(lane, name), []).append(lane)
        shipped, spans, problem = 0, 0, ""
        for note, lane_paths in by_note.items():  # each process may have given its own options
            counters = ShipCounters()
            dead = DeadLanes(folder, counters, only=lane_paths, reader=reader)
            try:
                delivery = _delivery_to(name, note, headers, environ, counters, ProblemReporter(on_problem))
                _ship_all(dead, delivery, clock, counters)
            except (SettingInvalid, Unavailable) as error:
                problem = str(error)
            shipped, spans = shipped + dead.shipped, spans + counters.spans
        if by_note:
            reports[name] = ShippedElsewhere(shipped, spans, len(undelivered(folder, reader)), problem)
    return reports


def _ship_all(dead: DeadLanes, delivery: DeliversShipments, clock: Clock, counters: ShipCounters) -> None:
    """Delivers all these lanes. Raises Unavailable."""
    deliver = _with_retries(delivery.deliver, clock, counters)
    try:
        while dead.step(deliver):
            pass
    finally:
        dead.release()
        delivery.close()


def _delivery_to(
    name: str,
    note: DestinationNote | None,
    headers: Mapping[str, str],
    environ: Mapping[str, str],
    counters: ShipCounters,
    problems: ProblemReporter,
) -> DeliversShipments:
    """Makes the delivery to a destination. Raises SettingInvalid if only the program can deliver to it."""
    if note is None:
        raise SettingInvalid(f"nothing is noted of {name}: a program that exports to it delivers this, too")
    if note.is_redacted:
        raise SettingInvalid(
            f"a function of the program edits what is sent to {name}: the program delivers it when it runs again"
        )
    noted_headers = {key.lower(): value for key, value in headers.items() if key.lower() in note.headers}
    has_key = note.kind == "phoenix" and bool(environ.get("PHOENIX_API_KEY"))
    missing = [
        header for header in note.headers if header not in noted_headers and not (has_key and header == "authorization")
    ]
    if missing:
        raise SettingInvalid(f"{name} needs headers that only the program knows: --header '{missing[0]}=...'")
    target = export_target(
        note.kind, environ, endpoint=note.endpoint, api_key=None, public_key=None, secret_key=None,
        project=note.project, headers=noted_headers, content=note.content, preview_characters=note.preview_characters,
        redact=None, public_url=note.public_url,
    )  # fmt: skip
    return DestinationDelivery(target, counters, problems)


def _reader_of(name: str, lane: Path) -> LaneReader:
    """Opens the lane for a destination. If the lane's process had no collector, the destination counts as the
    collector, too."""
    return LaneReader(lane, name, instead=not LaneReader(lane).is_begun())


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
                if error.retry_is_useless or tried == _MAX_TRIES:
                    raise
                counters.retries += 1
                clock.wait(threading.Event(), min(max(delay, error.retry_after), _MAX_WAIT_SECONDS))

    return patiently

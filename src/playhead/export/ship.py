"""journal → [ship] ══▶ collector.  The shipper: a daemon thread that delivers what this process appends to its lane.

Appending code calls `wake`. The thread waits a little, so that records are sent together, and delivers everything; then
it rests for a moment, so that a program that never pauses is not disturbed all the time.
When the collector is down it retries with growing delays; the records stay in the journal, and the program goes on.
"""

import os
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from playhead.export.counters import ShipCounters
from playhead.export.dead_lanes import DeadLanes, undelivered
from playhead.export.dead_letters import DeadLetters, most_bytes
from playhead.export.destination_notes import note_destination
from playhead.export.expiry import DeadLaneExpiry, OwnLaneExpiry
from playhead.export.left_runs import tell_of_left_runs
from playhead.export.shipment import LaneCursor, Shipment, end_of, is_delivered, shipments_of
from playhead.export.target import DeliversShipments, ShipTarget, to_collector
from playhead.journal.lane import LaneReader, NoLane, Position
from playhead.kernel.bell import Bell
from playhead.kernel.forks import delay_forks
from playhead.settings.sdk import Settings
from playhead.wire.delays import backoff_delays
from playhead.wire.retries import Clock, ProblemReporter, SystemClock, Unavailable

# 1 MiB: a larger request would not compress better and takes more of the collector's memory.
_ENOUGH_BYTES = 2**20
_LOOK_SECONDS = 0.25
# 0.1 s: while this thread has work and the program runs on another core, most appends wake this thread, although the
# program gets the interpreter's lock again before it. That costs the program as much as the call. Fewer, longer bursts
# keep this rare; a tenth of a second does not matter to a person who watches a run live.
_REST_SECONDS = 0.1
# Processes rarely die; `playhead ship` delivers what they left at once.
_DEAD_LANES_SECONDS = 600.0
# Looking at 200 lanes takes this thread a tenth of a second; a program that is about to end has less time.
_LANES_AT_A_LOOK, _LANES_AT_THE_END = 200, 10
_BROKEN_SECONDS = 60.0
# The collector may delete content that was not referred to for a day: it is asked for or sent again far more often.
_KNOWN_REFS_SECONDS = 3600.0
_DISK_SECONDS = 1.0


class _ShipperStopping(Exception):
    """Raised in the shipping thread when the shipper has to end."""


class Shipper:
    """Delivers the lane of one process. No method raises. Any thread may call all but `restart_after_fork`."""

    counters: ShipCounters

    def __init__(
        self,
        settings: Settings,
        lane_path: Path | None,
        *,
        clock: Clock | None = None,
        on_problem: Callable[[str], None] | None = None,
        on_epoch_change: Callable[[], None] = lambda: None,
        on_acknowledged: Callable[[Position], None] = lambda position: None,
        before_read: Callable[[], bool] = lambda: True,
        waiting: Callable[[int], tuple[bytes, int]] = lambda after: (b"", after),
        on_delivered_from_memory: Callable[[int], None] = lambda upto: None,
        note_end: Callable[[], None] = lambda: None,
        on_damage: Callable[[], None] = lambda: None,
        start_segment: Callable[[], int | None] = lambda: None,
        target: ShipTarget | None = None,
        on_taken_over: Callable[[str, int], None] = lambda run, attempt: None,
    ):
        """Does not start the thread. `lane_path` None: no lane could be made yet. `target`: another destination than
        the collector. `on_problem` gets one sentence per kind of problem; by default it is logged.

        The shipping thread calls the other functions. `on_epoch_change`: the collector may have deleted content, so no
        content counts as stored there any more. `on_acknowledged`: the journal may free the space before this position.
        `before_read`: writes what is still in memory, and returns False if that failed; then `waiting` returns what is
        in memory behind a place, and `on_delivered_from_memory` is called with the place up to which the destination
        has it. `note_end`: notes how much was written; called soon after an append. `on_damage`: a part of this
        process's lane cannot be read. `start_segment`: see `OwnLaneExpiry`. `on_taken_over`: see `Delivery`.
        """
        self._settings = settings
        self._clock = clock or SystemClock()
        self._problems = ProblemReporter(on_problem)
        self._on_epoch_change = on_epoch_change
        self._on_acknowledged = on_acknowledged
        self._before_read = before_read
        self._waiting = waiting
        self._on_delivered_from_memory = on_delivered_from_memory
        self._note_end = note_end
        self._on_damage = on_damage
        self._start_segment = start_segment
        self._on_taken_over = on_taken_over
        self._target = target or ShipTarget()
        self._reader = self._target.reader
        self._begin(lane_path)

    def _begin(self, lane_path: Path | None) -> None:
        self.counters = ShipCounters()
        self._process = os.getpid()
        journal_dir = self._settings.journal_dir if lane_path is None else lane_path.parent
        self._lane = NoLane(journal_dir) if lane_path is None else self._reader(lane_path)
        self._memory_at = 0
        self._next_lane: Path | None = None
        self._ended: list[Path] = []  # this process's former lanes that are not delivered yet
        self._too: list[Path] = []  # lanes of dead processes that flushes wait for
        self._stuck: Position | None = None
        local_keep = self._settings.local_keep_seconds
        self._expiry = DeadLaneExpiry(journal_dir, self._settings.journal_keep_seconds, local_keep_seconds=local_keep)
        self._own_expiry: OwnLaneExpiry | None = None
        self._letters = DeadLetters(journal_dir, most_bytes(self._settings))
        self._cursor: LaneCursor | None = None
        self._delivery: DeliversShipments | None = None
        self._dead: DeadLanes | None = None
        self._next_look = self._clock.now() + self._settings.linger_seconds
        self._known_refs_until = self._clock.now() + _KNOWN_REFS_SECONDS
        self._rest_until = float("-inf")  # unless a caller waits
        self._thread: threading.Thread | None = None
        self._stopping = self._is_ending = False
        self._awake = False
        self._bell = Bell()  # there may be something to ship
        self._urgent = Bell()  # a caller waits, or the shipper has to end: no delays
        # Flushes are numbered: requested, done, and given up for so many seconds.
        self._turn = threading.Condition()
        self._requested = self._done = self._failed = 0
        self._retry_useless_seconds = 0.0
        if lane_path is not None:
            self._begin_lane(lane_path)

    def _begin_lane(self, lane_path: Path) -> None:
        """Notes at once that the lane is for this destination: the process may be killed before the thread does so."""
        try:
            self._reader(lane_path).begin()
            if self._target.note is not None:
                note_destination(lane_path, self._target.acks, self._target.note)
        except OSError as error:
            self._problems.warn_once_per_cause(
                "begin", f"cannot note in {lane_path} who it is for ({error}): it is tried again"
            )

    # --- called by the program's threads ------------------------------------------------------------------------------

    def start(self) -> None:
        """Starts the thread.  A second call does nothing."""
        if self._process != os.getpid():
            return
        with self._turn:
            if self._thread is None and not self._stopping:
                thread = threading.Thread(target=self._run, name="playhead-ship", daemon=True)
                try:
                    thread.start()
                except RuntimeError as error:  # no more threads; or the interpreter is ending
                    self._problems.warn_once_per_cause(
                        "thread", f"cannot deliver now ({error}): `playhead ship` does it later"
                    )
                    return
                self._thread = thread

    def wake(self) -> None:
        """Tells the thread that there is more to deliver. Very cheap when the thread was told already."""
        if not self._awake:
            self._awake = True
            self._bell.set()

    def hurry(self) -> None:
        """Tells the thread to deliver at once, because many records wait that cannot be written."""
        self.wake()
        self._urgent.set()

    def follow(self, lane_path: Path) -> None:
        """Continues with this lane. The rest of the previous lane is delivered as well."""
        self._begin_lane(lane_path)
        self._next_lane = lane_path
        self.wake()

    def also_deliver(self, lanes: Sequence[Path]) -> None:
        """Delivers these lanes of dead processes right after this process's own; flushes wait for them."""
        with self._turn:
            self._too += [lane for lane in lanes if lane != self._lane.path]
        self._bell.set()

    def flush(self, timeout_s: float) -> bool:
        """Waits, at most `timeout_s` seconds, until everything appended before was delivered. For a destination other
        than the collector, this includes what dead processes have left for it.

        Returns True if all of it was acknowledged and nothing became a dead letter. Returns early if waiting is of no
        use.
        """
        if self._process != os.getpid():
            return True  # a forked child that has appended nothing: the locks may be held by threads of the parent
        self.start()
        deadline = time.monotonic() + timeout_s
        with self._turn:
            if self._thread is None or not self._thread.is_alive():
                return self._is_all_delivered() and not self._letters.waiting()
            self._requested += 1
            mine = self._requested
            self._bell.set()
            self._urgent.set()
            while self._done < mine:
                remaining = deadline - time.monotonic()
                if remaining <= 0 or (self._failed >= mine and self._retry_useless_seconds > remaining):
                    return False
                self._turn.wait(min(remaining, threading.TIMEOUT_MAX))
        return not self._letters.waiting()

    def _is_all_delivered(self) -> bool:
        lane = self._lane if self._next_lane is None else self._reader(self._next_lane)
        return lane.acked() >= lane.end() and not self._waiting(self._memory_at)[0]

    def stop(self, timeout_s: float) -> bool:
        """Flushes and ends the thread; returns what `flush` returns. Undelivered records stay in the journal."""
        if self._process != os.getpid():
            return True
        deadline = time.monotonic() + timeout_s
        self._is_ending = True
        delivered = self.flush(timeout_s)
        self._stopping = True
        self._bell.set()
        self._urgent.set()
        if self._thread is not None:
            self._thread.join(min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX))
        return delivered

    def restart_after_fork(self, lane_path: Path | None) -> None:
        """In a forked child: delivers the child's own lane from now on. Does not start the thread."""
        if self._dead is not None:
            self._dead.release()  # releases only the child's copy of the lock: the parent goes on delivering that lane
        # Not closed: the connection is the parent's, and closing it would end its TLS session.
        _of_parents.append(self._delivery)
        self._begin(lane_path)

    # --- the shipping thread ------------------------------------------------------------------------------------------

    def _run(self) -> None:
        while not self._stopping:
            try:
                self._await_work()
                self._ship_own()
                self._rest_until = self._clock.now() + _REST_SECONDS
                self._ship_dead()
            except OSError as error:
                self._problems.warn_once_per_cause(
                    "disk", f"cannot read the journal ({error}): nothing is delivered until that works"
                )
                self._pause(_DISK_SECONDS)
            except Exception as error:  # noqa: BLE001 - a bug of ours must not end delivery, let alone the program
                self._warn_of_bug(error)
                self._pause(_BROKEN_SECONDS)
        if self._dead is not None:
            self._dead.release()
        if self._delivery is not None:
            self._delivery.close()
        self._expire(_LANES_AT_THE_END)

    def _expire_all(self) -> None:
        self._expire(_LANES_AT_A_LOOK)
        self._expire_own()

    def _expire(self, most_lanes: int) -> None:
        if not self._target.frees_space or isinstance(self._lane, NoLane):
            return  # one shipper of a process does it
        try:
            self._expiry.run_once(self._lane.path, most_lanes)
        except Exception as error:  # noqa: BLE001 - as in `_run`; the next process looks, too
            self._warn_of_expiry(error)

    def _expire_own(self) -> None:
        if not self._target.frees_space:
            return
        lane = self._lane.path
        if self._own_expiry is None or self._own_expiry.lane != lane:
            settings = self._settings
            is_local = LaneReader(lane).is_for_nobody()
            keep = settings.local_keep_seconds if is_local else settings.journal_keep_seconds
            self._own_expiry = OwnLaneExpiry(lane, keep, self._start_segment, after_end=is_local)
        try:
            self._own_expiry.run_once()
        except Exception as error:  # noqa: BLE001 - as in `_run`; the next look may do
            self._warn_of_expiry(error)

    def _warn_of_expiry(self, error: Exception) -> None:
        self._problems.warn_once_per_cause("expiry", f"could not delete what is old from the journal ({error!r})")

    def _pause(self, seconds: float) -> None:
        """Waits after a failure that is not the collector's. Callers of `flush` are notified at once."""
        self._cursor = None  # records that were loaded and not acknowledged are loaded again
        self._urgent.clear()  # first: a caller that is notified may call `flush` again at once, and that ends the wait
        self._fail(self._requested, _BROKEN_SECONDS)
        self._clock.wait(self._urgent, seconds)
        self._bell.set()

    def _warn_of_bug(self, error: Exception) -> None:
        self._problems.warn_once_per_cause(
            "bug", f"could not deliver ({error!r}): what is recorded stays in the journal"
        )

    def _await_work(self) -> None:
        if self._dead is None:
            self._clock.wait(self._bell, max(0.0, self._next_look - self._clock.now()))
        if not self._bell.is_set():
            return
        self._note_end()
        end = max(self._rest_until, self._clock.now() + self._settings.linger_seconds)
        while self._requested == self._done and not self._stopping and (remaining := end - self._clock.now()) > 0:
            rest = self._rest_until - self._clock.now()
            if rest <= 0 and self._waiting_bytes() >= _ENOUGH_BYTES:
                return
            self._clock.wait(self._urgent, rest if rest > 0 else min(remaining, _LOOK_SECONDS))
            self._note_end()

    def _waiting_bytes(self) -> int:
        begin, end = self._own().at, end_of(self._lane)
        return end.offset - begin.offset if begin.segment == end.segment else _ENOUGH_BYTES

    def _own(self) -> LaneCursor:
        if self._cursor is None:
            self._cursor = LaneCursor(self._lane, complete=False)
        return self._cursor

    def _ship_own(self) -> None:
        # In this order: an append from here on wakes the thread again; an earlier one is seen by the check at the end.
        self._bell.clear()
        self._urgent.clear()
        self._awake = False
        requested = self._requested
        self._forget_known_refs()
        written = self._before_read()
        self._note_end()
        self._lane.begin()
        if self._next_lane is not None:
            if not isinstance(self._lane, NoLane):
                self._ended.append(self._lane.path)
            self._lane, self._next_lane, self._cursor = self._reader(self._next_lane), None, None
        begin = self._own().at
        if not (self._ship_lane() and self._ship_ended()):
            return
        if not written:
            if self._own().at != begin:  # there may be room on the disk now
                self._bell.set()
                return
            if not self._ship_memory():
                self._fail(requested, _BROKEN_SECONDS)
                return
        with self._turn:
            self._done = max(self._done, requested)
            self._turn.notify_all()

    def _ship_lane(self) -> bool:
        """Delivers the lane. Returns whether everything that was in it at the beginning is delivered."""
        cursor, end = self._own(), end_of(self._lane)
        while cursor.at < end:
            begin = cursor.at
            shipment = cursor.load()
            if cursor.at == begin:  # a frame that is still being written, or damaged: reading it once more tells which
                if begin != self._stuck:
                    self._stuck = begin
                    self._bell.set()
                return False
            if shipment and not self._deliver_in_the_end(shipment):
                return False
            self._acknowledge(cursor.at)
            if cursor.report(self.counters):
                self._problems.warn_once_per_cause(
                    "damaged", f"a part of {self._lane.path} cannot be read any more: records are lost"
                )
                self._on_damage()
        return True

    def _ship_memory(self) -> bool:
        """Delivers records that could not be written. Returns whether all that waited at the beginning are
        delivered."""
        data, end = self._waiting(self._memory_at)
        for shipment in shipments_of(data):
            if not self._deliver_in_the_end(shipment):
                return False
        self._memory_at = end
        self._on_delivered_from_memory(end)
        return True

    def _ship_ended(self) -> bool:
        """Delivers former lanes of this process, and those of `also_deliver`. Returns whether the former lanes are
        delivered."""
        with self._turn:
            too = list(self._too)
        is_asked = self._requested != self._done and not self._is_ending  # a caller of `flush` waits
        if self._target.acks and is_asked and not isinstance(self._lane, NoLane):
            own_lanes = {self._lane.path, self._next_lane, *self._ended, *too}
            too += [lane for lane in undelivered(self._lane.path.parent, self._reader) if lane not in own_lanes]
        if not (self._ended or too):
            return True
        dead = DeadLanes(self._lane.path.parent, self.counters, None, [*self._ended, *too], self._reader)

        def deliver(shipment: Shipment) -> None:
            if not self._deliver_in_the_end(shipment):
                raise _ShipperStopping

        try:
            while dead.step(deliver):
                pass
        except _ShipperStopping:
            return False
        finally:
            dead.release()
        with self._turn:  # the rest of these is delivered by the process that owns or has adopted the lane
            self._too = [path for path in self._too if path not in too]
        self._ended = [path for path in self._ended if not is_delivered(path, self._reader)]
        return not self._ended

    def _deliver_in_the_end(self, shipment: Shipment) -> bool:
        """Tries until the shipment is delivered. Returns False if the shipper has to end first."""
        for delay in backoff_delays():
            self._forget_known_refs()
            self._urgent.clear()
            requested = self._requested
            try:
                self._delivery_in_use().deliver(shipment)
                return True
            except Unavailable as error:
                self.counters.retries += 1
                self._problems.warn_once_per_cause(error.cause, str(error))
                seconds = max(delay, error.retry_after)
                self._fail(requested, _BROKEN_SECONDS if error.retry_is_useless else seconds)
                self._note_end()
            if not self._stopping:
                self._clock.wait(self._urgent, seconds)
            if self._stopping:
                break
        return False

    def _forget_known_refs(self) -> None:
        """Forgets which contents the collector has, once an hour, so that it is asked or sent them again."""
        if self._clock.now() >= self._known_refs_until:
            self._known_refs_until = self._clock.now() + _KNOWN_REFS_SECONDS
            self._on_epoch_change()
            if self._delivery is not None:
                self._delivery.forget()

    def _fail(self, requested: int, retry_useless_seconds: float) -> None:
        with self._turn:
            self._failed, self._retry_useless_seconds = requested, retry_useless_seconds
            self._turn.notify_all()

    def _acknowledge(self, position: Position) -> None:
        try:
            self._lane.ack(position)
        except OSError as error:
            self._problems.warn_once_per_cause(
                "ack", f"cannot note in {self._lane.path} what was delivered ({error}): it may be twice"
            )
        self._on_acknowledged(position)

    def _delivery_in_use(self) -> DeliversShipments:
        if self._delivery is None:
            with delay_forks():
                make = self._target.delivery or to_collector()
                "host".encode("idna")  # these two import more: the first look-up of an address, and the first client
                how = self.counters, self._problems, self._letters, self._on_epoch_change, self._on_taken_over
                self._delivery = make(self._settings, *how)
        return self._delivery

    def _ship_dead(self) -> None:
        """Ships one shipment of a dead process's lane, so that this process's own lane never waits long."""
        if self._dead is None:
            is_due = self._clock.now() >= self._next_look and not self._is_ending
            if not is_due or isinstance(self._lane, NoLane):
                return
            self._next_look = self._clock.now() + _DEAD_LANES_SECONDS
            self._expire_all()
            self._dead = DeadLanes(self._lane.path.parent, self.counters, self._lane.path, reader=self._reader)
        try:
            if not self._dead.step(lambda shipment: self._delivery_in_use().deliver(shipment)):
                self._dead = None
                self._tell_of_left_runs()
        except Unavailable as error:  # it is found again at the next try
            self._dead = None
            self._problems.warn_once_per_cause(error.cause, str(error))
        except Exception as error:  # noqa: BLE001 - as in `_run`; the next dead lane may be better
            self._warn_of_bug(error)

    def _tell_of_left_runs(self) -> None:
        """Reports left runs, if this shipper delivers to the collector. Raises Unavailable and OSError."""
        if self._target.delivery is None and self._settings.lease_seconds:
            tell_of_left_runs(self._lane.path.parent, lambda run, name: self._delivery_in_use().tell_left(run, name))


_of_parents: list[object] = []

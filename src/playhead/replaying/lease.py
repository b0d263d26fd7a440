"""Leases for resuming a run: one process at a time, on this machine (file lock) and across machines (collector).

On one machine the lock names its holder (`journal.leases`); it is free as soon as that process dies. Across machines
the collector gives a lease for a time, and the holder renews it. While the collector is down, only the lock counts, and
runs still go on. A process whose run was taken over neither executes nor records anything of it: see
`journal.ownership`.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playhead.errors import ClientError, Conflict, RunAlive, SettingInvalid
from playhead.journal.leases import LocalLease, acquire_lease, journal_name, lease_holder
from playhead.journal.ownership import OwnRuns, RunOwnership, Unsure, taken_over_sentence
from playhead.kernel.ids import process_name

log = logging.getLogger("playhead")

_WHAT_TO_DO = "end that, or resume with force"
_DELIVER_FIRST = (
    "what it did may be done again. Run `playhead ship` on its machine, or resume it there; where that machine is gone "
    "for good, resume with force"
)
_UNDELIVERED, _UNKNOWN = "records_undelivered", "holder_unknown"
# Heartbeats per term of a lease: two may be lost.
_RENEWALS_PER_TERM = 3
# Leaving the block waits at most this long for a heartbeat that the collector does not answer.
_LEAVE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """How leases are taken. `seconds`: the term of a lease; 0: only among the processes of this machine.

    `client` makes a client of the collector, which is closed with the lease. `deliver` sends all recorded data to the
    collector and returns whether it has arrived. `own_runs`: the ownerships of this process.
    """

    journal_dir: Path
    client: Callable[[], Any]
    seconds: float
    force: bool = False
    deliver: Callable[[], bool] = lambda: True
    own_runs: OwnRuns = field(default_factory=OwnRuns)


@dataclass(frozen=True, slots=True)
class KnownRecord:
    """What is known of a run when its lease is requested. `attempt`: number of the next attempt. `begun_here`: the
    local journal has the run's beginning. `is_whole`: nothing is missing, and the latest attempt has ended. `process`:
    the process that began the run; None: the record does not say."""

    attempt: int
    begun_here: bool
    is_whole: bool
    process: str | None = None


class RunLeaseHolder:
    """The lease of this process on a run, until `release`. When another process takes the run over, this is logged, and
    calls of the run raise RunTakenOver."""

    def __init__(self, terms: LeaseTerms, run_id: str, local: LocalLease | None):
        """Holds only the file lock `local` until `take`; `local` None: the folder cannot be written to."""
        self._terms = terms
        self._run = run_id
        self._local = local
        self._client: Any = None
        self._holder = ""
        self._attempt = 0
        self.is_remote = False
        """Whether the collector has given the lease, too."""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._owner: RunOwnership | None = None

    @property
    def lost(self) -> bool:
        """Whether another process has taken the run over."""
        return self.loss is not None

    @property
    def loss(self) -> str | None:
        """A sentence about the process that has taken the run over; None: no process has."""
        return None if self._owner is None else self._owner.loss(exact=False)

    def take(self, record: KnownRecord, *, unless_heard: bool) -> int:
        """Takes the lease among all machines, and starts a thread that renews it. Returns the number of this attempt,
        which may still rise. Raises RunAlive.

        `unless_heard`: fail while the collector still receives data of the run.
        """
        if not self._terms.seconds:
            return record.attempt
        self._holder = holder_name(self._terms.journal_dir)
        self._attempt = record.attempt
        force = self._terms.force
        try:
            self._take(record, force=force, unless_heard=unless_heard and not force)
        except Conflict as error:
            raise RunAlive(_refusal(error, self._run, record)) from error
        self._thread = threading.Thread(target=self._renew_periodically, name="playhead-lease", daemon=True)
        self._thread.start()
        return self._attempt

    def own(self, attempt: int) -> RunOwnership:
        """Returns the ownership of the run, which goes on as this attempt."""
        self._attempt = attempt
        self._owner = self._terms.own_runs.owner(self._run, attempt, self._look, self._ask)
        return self._owner

    def renew(self) -> bool:
        """Renews the lease; returns False when another process has taken it."""
        why = self._look()
        if why is None:
            try:
                why = self._ask()
            except Unsure:
                return True
        return why is None or self._lose(why)

    def release(self) -> None:
        """Releases the lock, and the collector's lease if the collector has all that was recorded; otherwise that lease
        expires.

        A second call does nothing, nor does a call in a forked child.
        """
        if self._ended.is_set() or self._pid != os.getpid():
            return
        self._ended.set()
        if self._thread is not None:
            self._thread.join(_LEAVE_SECONDS)
        # Another machine that resumes the run must find all of it. Until the lease expires, undelivered data may
        # arrive.
        if self.is_remote and not self.lost and self._terms.deliver():
            with suppress(ClientError):
                self._client.release_lease(self._run, holder=self._holder, attempt=self._attempt)
        if self._client is not None:
            self._client.close()
        if self._local is not None:
            self._local.release()

    def _look(self) -> str | None:
        """Returns a sentence about the process that has taken the lock of this machine; None: no process has."""
        if self._pid != os.getpid():  # a forked child has no lease, and a lane of its own
            return self._terms.own_runs.taken_here(self._run)
        if self._local is None or self._local.is_held or self._ended.is_set():
            return None
        return taken_over_sentence(self._run, lease_holder(self._terms.journal_dir, self._run))

    def _take(self, record: KnownRecord, *, force: bool, unless_heard: bool) -> None:
        """Takes the collector's lease. Raises Conflict. Other errors are logged: then only the local lock counts."""
        try:
            self._client = self._terms.client()
            lease = self._client.take_lease(
                self._run,
                holder=self._holder,
                process=process_name(),
                seconds=self._terms.seconds,
                attempt=record.attempt,
                force=force,
                unless_heard=unless_heard,
                unless_undelivered=not record.is_whole,
                begun_here=record.begun_here,
            )
            self._attempt = max(self._attempt, int(lease.get("attempt", 0)))
            self.is_remote = True
        except Conflict:
            raise
        except ClientError as error:  # down, or too old to know leases: the local lock must do
            log.debug("no lease on run %s from the collector: %s", self._run, error)

    def _ask(self) -> str | None:
        """Renews the collector's lease, or takes it if it could not be had before. Returns a sentence about the process
        that has taken it; None: no process has. Raises Unsure."""
        if not self._terms.seconds or self._ended.is_set() or self._pid != os.getpid():
            return None
        try:
            if self._client is None:
                self._client = self._terms.client()
            why = _renewed(self._client, self._run, self._holder, self._terms.seconds, self._attempt)
        except ClientError as error:
            log.debug("no heartbeat for run %s: %s", self._run, error)
            raise Unsure(str(error)) from error
        self.is_remote = self.is_remote or why is None
        return why

    def _renew_periodically(self) -> None:
        while not self._ended.wait(self._terms.seconds / _RENEWALS_PER_TERM):
            try:
                if not self.renew():
                    return
            except Exception:  # the guard: the next heartbeat may succeed
                log.debug("a heartbeat failed", exc_info=True)

    def _lose(self, why: str) -> bool:
        if self._owner is not None and not self._ended.is_set():
            self._owner.lose(why)
        return False


def ask_collector(run_id: str, attempt: int, terms: LeaseTerms) -> str | None:
    """Asks the collector which process has taken over a run that this process began. Returns a sentence; None: no
    process has. Raises Unsure."""
    if not terms.seconds:
        return None
    try:
        client = terms.client()
    except SettingInvalid as error:  # of which recording has warned
        raise Unsure(str(error)) from error
    try:
        return _renewed(client, run_id, holder_name(terms.journal_dir), terms.seconds, attempt)
    except ClientError as error:
        raise Unsure(str(error)) from error
    finally:
        client.close()


def _renewed(client: Any, run_id: str, holder: str, seconds: float, attempt: int) -> str | None:
    """Renews the collector's lease. Returns a sentence about the process that has taken it; None: no process has.
    Raises ClientError."""
    try:
        client.renew_lease(run_id, holder=holder, process=process_name(), seconds=seconds, attempt=attempt)
    except Conflict as error:
        return taken_over_sentence(run_id, f"another process ({error})")
    return None


def _refusal(error: Conflict, run_id: str, record: KnownRecord) -> str:
    if error.code == _UNDELIVERED:
        return f"{error}: {_DELIVER_FIRST}"
    if error.code == _UNKNOWN:
        return f"run {run_id} was recorded by {record.process or 'another machine'}, and {error}: {_DELIVER_FIRST}"
    return f"{error}; {_WHAT_TO_DO}"


def local_lease(terms: LeaseTerms, run_id: str) -> tuple[RunLeaseHolder | None, str]:
    """Takes the lease among the processes of this machine. Returns it and an empty text; or None and the process that
    has it."""
    try:
        local = acquire_lease(terms.journal_dir, run_id, force=terms.force)
    except OSError as error:
        log.warning("no lock on run %s (%s): see that no other process resumes it", run_id, error)
        return RunLeaseHolder(terms, run_id, None), ""
    if local is None:
        return None, lease_holder(terms.journal_dir, run_id)
    return RunLeaseHolder(terms, run_id, local), ""


def run_alive_error(run_id: str, holder: str) -> RunAlive:
    """The error if another process of this machine has the run."""
    return RunAlive(f"run {run_id} is being resumed by {holder}; {_WHAT_TO_DO}")


def holder_name(journal_dir: Path) -> str:
    """One name for all processes that share this journal: among them the lock tells which one is alive."""
    try:
        return f"{socket.gethostname()}/{journal_name(journal_dir)}"[:200]
    except OSError:
        return f"{socket.gethostname()}/{os.urandom(8).hex()}"[:200]

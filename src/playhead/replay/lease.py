"""Leases for resuming a run: one process at a time, on this machine (file lock) and across machines (collector).

On one machine a lock says who (`journal.leases`): it is free the moment its process dies.  Across machines the
collector does, for as long as the holder says so again; while it is down, the lock alone counts, and runs still go on.
What a process does for a run that another one has is neither executed nor recorded: see `journal.ownership`.
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

from playhead.api.ids import process_name
from playhead.errors import ClientError, Conflict, RunAlive
from playhead.journal.leases import LocalLease, holder_of, journal_name, take_local
from playhead.journal.ownership import OwnRuns, RunOwnership, Unsure, taken_over_sentence

log = logging.getLogger("playhead")

_WHAT_TO_DO = "end that, or resume with force"
_DELIVER_FIRST = (
    "what it did may be done again. Run `playhead ship` on its machine, or resume it there; where that machine is gone "
    "for good, resume with force"
)
_UNDELIVERED, _UNKNOWN = "records_undelivered", "holder_unknown"
# Heartbeats in the time of a lease: two may be lost.
_RENEWALS_PER_TERM = 3
# Leaving the block waits no longer for a heartbeat that the collector does not answer.
_LEAVE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """How leases are taken: for so many seconds at a time, 0: among the processes of this machine only.

    `client` makes a client of the collector; it is closed with the lease.  `deliver` brings the collector all that was
    recorded, and says whether it has it.  `own_runs`: the ownerships of this process.
    """

    journal_dir: Path
    client: Callable[[], Any]
    seconds: float
    force: bool = False
    deliver: Callable[[], bool] = lambda: True
    own_runs: OwnRuns = field(default_factory=OwnRuns)


@dataclass(frozen=True, slots=True)
class KnownRecord:
    """What is known of a run when its lease is asked for. `attempt`: the next one. `begun_here`: the local journal has
    its beginning. `is_whole`: nothing of it is missing, and its latest attempt has ended. `process`: who has begun it,
    if the record says so."""

    attempt: int
    begun_here: bool
    is_whole: bool
    process: str | None = None


class RunLeaseHolder:
    """The lease of this process on a run, until `release`. When another process takes the run over, this is logged, and
    calls of the run raise RunTakenOver."""

    def __init__(self, terms: LeaseTerms, run_id: str, local: LocalLease | None):
        """Holds nothing but `local` (None: the folder cannot be written to) until `take`."""
        self._terms = terms
        self._run = run_id
        self._local = local
        self._client: Any = None
        self._holder = ""
        self._attempt = 0
        self.is_remote = False
        """Whether the collector has given it, too."""
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
        """Who has taken the run over, as a sentence; None: nobody."""
        return None if self._owner is None else self._owner.loss(exact=False)

    def take(self, known: KnownRecord, *, unless_heard: bool) -> int:
        """Takes it among all machines; `unless_heard`: not while the collector still hears of the run. Returns which
        attempt at the run this is, at least.  Raises RunAlive.

        From then on a thread says again and again that this process is at it.
        """
        if not self._terms.seconds:
            return known.attempt
        self._holder = holder_name(self._terms.journal_dir)
        self._attempt = known.attempt
        force = self._terms.force
        try:
            self._take(known, force=force, unless_heard=unless_heard and not force)
        except Conflict as error:
            raise RunAlive(_refusal(error, self._run, known)) from error
        self._thread = threading.Thread(target=self._renew_periodically, name="playhead-lease", daemon=True)
        self._thread.start()
        return self._attempt

    def own(self, attempt: int) -> RunOwnership:
        """The ownership of the run that goes on as this attempt."""
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
        """Others may go on with the run, when the collector has what was recorded of it.

        A second call does nothing; nor does any in a forked child.
        """
        if self._ended.is_set() or self._pid != os.getpid():
            return
        self._ended.set()
        if self._thread is not None:
            self._thread.join(_LEAVE_SECONDS)
        # Who resumes the run elsewhere must find all of it.  What is still on its way has until the lease runs out.
        if self.is_remote and not self.lost and self._terms.deliver():
            with suppress(ClientError):
                self._client.release_lease(self._run, holder=self._holder, attempt=self._attempt)
        if self._client is not None:
            self._client.close()
        if self._local is not None:
            self._local.release()

    def _look(self) -> str | None:
        """Who has taken the lock of this machine; None: nobody."""
        if self._pid != os.getpid():  # a forked child has no lease, and a lane of its own
            return self._terms.own_runs.taken_here(self._run)
        if self._local is None or self._local.is_held or self._ended.is_set():
            return None
        return taken_over_sentence(self._run, holder_of(self._terms.journal_dir, self._run))

    def _take(self, known: KnownRecord, *, force: bool, unless_heard: bool) -> None:
        """Raises Conflict."""
        try:
            self._client = self._terms.client()
            lease = self._client.take_lease(
                self._run,
                holder=self._holder,
                process=process_name(),
                seconds=self._terms.seconds,
                attempt=known.attempt,
                force=force,
                unless_heard=unless_heard,
                unless_undelivered=not known.is_whole,
                begun_here=known.begun_here,
            )
            self._attempt = max(self._attempt, int(lease.get("attempt", 0)))
            self.is_remote = True
        except Conflict:
            raise
        except ClientError as error:  # down, or too old to know leases: the local one has to do
            log.debug("no lease on run %s from the collector: %s", self._run, error)

    def _ask(self) -> str | None:
        """Renews the collector's lease, or takes it if it could not be had before. Returns who has taken it; raises
        Unsure."""
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
            except Exception:  # the guard: the next one may do
                log.debug("a heartbeat failed", exc_info=True)

    def _lose(self, why: str) -> bool:
        if self._owner is not None and not self._ended.is_set():
            self._owner.lose(why)
        return False


def ask_collector(run_id: str, attempt: int, terms: LeaseTerms) -> str | None:
    """Who has taken over a run that this process has begun, as a sentence; None: nobody. Raises Unsure."""
    if not terms.seconds:
        return None
    client = terms.client()
    try:
        return _renewed(client, run_id, holder_name(terms.journal_dir), terms.seconds, attempt)
    except ClientError as error:
        raise Unsure(str(error)) from error
    finally:
        client.close()


def _renewed(client: Any, run_id: str, holder: str, seconds: float, attempt: int) -> str | None:
    """Raises ClientError."""
    try:
        client.renew_lease(run_id, holder=holder, process=process_name(), seconds=seconds, attempt=attempt)
    except Conflict as error:
        return taken_over_sentence(run_id, f"another process ({error})")
    return None


def _refusal(error: Conflict, run_id: str, known: KnownRecord) -> str:
    if error.code == _UNDELIVERED:
        return f"{error}: {_DELIVER_FIRST}"
    if error.code == _UNKNOWN:
        return f"run {run_id} was recorded by {known.process or 'another machine'}, and {error}: {_DELIVER_FIRST}"
    return f"{error}; {_WHAT_TO_DO}"


def local_lease(terms: LeaseTerms, run_id: str) -> tuple[RunLeaseHolder | None, str]:
    """The lease among the processes of this machine; or None, and which of them has it."""
    try:
        local = take_local(terms.journal_dir, run_id, force=terms.force)
    except OSError as error:
        log.warning("no lock on run %s (%s): see that no other process resumes it", run_id, error)
        return RunLeaseHolder(terms, run_id, None), ""
    if local is None:
        return None, holder_of(terms.journal_dir, run_id)
    return RunLeaseHolder(terms, run_id, local), ""


def run_alive_error(run_id: str, holder: str) -> RunAlive:
    """Another process of this machine has it."""
    return RunAlive(f"run {run_id} is being resumed by {holder}; {_WHAT_TO_DO}")


def holder_name(journal_dir: Path) -> str:
    """Says the same of all processes that share this journal: among them the lock tells who is alive."""
    try:
        return f"{socket.gethostname()}/{journal_name(journal_dir)}"[:200]
    except OSError:
        return f"{socket.gethostname()}/{os.urandom(8).hex()}"[:200]

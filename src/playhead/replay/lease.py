"""Leases for resuming a run: one process at a time, on this machine (file lock) and across machines (collector).

On one machine a lock says who (`journal.leases`): it is free the moment its process dies.  Across machines the
collector does, for as long as the holder says so again; while it is down, the lock alone counts, and runs still go on.
"""

import logging
import os
import socket
import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from playhead.errors import ClientError, Conflict, RunAlive
from playhead.journal.leases import LocalLease, holder_of, journal_name, take_local

log = logging.getLogger("playhead")

_WHAT_TO_DO = "end that, or resume with force"
# Heartbeats in the time of a lease: two may be lost.
_RENEWALS_PER_TERM = 3
# Leaving the block waits no longer for a heartbeat that the collector does not answer.
_LEAVE_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """How leases are taken: for so many seconds at a time, 0: among the processes of this machine only.

    `client` makes a client of the collector; it is closed with the lease.  `deliver` brings the collector all that was
    recorded, and says whether it has it.
    """

    journal_dir: Path
    client: Callable[[], Any]
    seconds: float
    force: bool = False
    deliver: Callable[[], bool] = lambda: True


class RunLeaseHolder:
    """The lease of this process on a run, until `release`. Losing it is logged and changes nothing else in the
    program."""

    def __init__(self, terms: LeaseTerms, run_id: str, local: LocalLease | None):
        """Holds nothing but `local` (None: the folder cannot be written to) until `take`."""
        self.lost = False
        self._terms = terms
        self._run = run_id
        self._local = local
        self._client: Any = None
        self._holder = ""
        self.is_remote = False
        """Whether the collector has given it, too."""
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()

    def take(self, *, unless_heard: bool) -> None:
        """Among all machines; `unless_heard`: not while the collector still hears of the run.  Raises RunAlive.

        From then on a thread says again and again that this process is at it.
        """
        if not self._terms.seconds:
            return
        self._holder = _holder(self._terms.journal_dir)
        try:
            self._ask(force=self._terms.force, unless_heard=unless_heard)
        except Conflict as error:
            raise RunAlive(f"{error}; {_WHAT_TO_DO}") from error
        self._thread = threading.Thread(target=self._renew_periodically, name="playhead-lease", daemon=True)
        self._thread.start()

    def renew(self) -> bool:
        """Renews the lease; returns False, after one warning, when another process has taken it."""
        if self._local is not None and not self._local.is_held:
            return self._lose(f"run {self._run} was taken over by {holder_of(self._terms.journal_dir, self._run)}")
        try:
            self._ask()
        except Conflict as error:
            return self._lose(str(error))
        return True

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
                self._client.release_lease(self._run, holder=self._holder)
        if self._client is not None:
            self._client.close()
        if self._local is not None:
            self._local.release()

    def _ask(self, *, force: bool = False, unless_heard: bool = False) -> None:
        """Renews the collector's lease, or takes it if it could not be had before.  Raises Conflict."""
        seconds = self._terms.seconds
        try:
            if self._client is None:
                self._client = self._terms.client()
            if self.is_remote:
                self._client.renew_lease(self._run, holder=self._holder, seconds=seconds)
                return
            self._client.take_lease(
                self._run,
                holder=self._holder,
                process=f"process {os.getpid()} on {socket.gethostname()}",
                seconds=seconds,
                force=force,
                unless_heard=unless_heard,
            )
            self.is_remote = True
        except Conflict:
            raise
        except ClientError as error:  # down, or too old to know leases: the local one has to do
            log.debug("no lease on run %s from the collector: %s", self._run, error)

    def _renew_periodically(self) -> None:
        while not self._ended.wait(self._terms.seconds / _RENEWALS_PER_TERM):
            try:
                if not self.renew():
                    return
            except Exception:  # the guard: the next one may do
                log.debug("a heartbeat failed", exc_info=True)

    def _lose(self, how: str) -> bool:
        if not self._ended.is_set() and not self.lost:
            self.lost = True
            log.warning("%s: this process goes on with a run that is no longer its own", how)
        return False


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


def _holder(journal_dir: Path) -> str:
    """Says the same of all processes that share this journal: among them the lock tells who is alive."""
    try:
        return f"{socket.gethostname()}/{journal_name(journal_dir)}"[:200]
    except OSError:
        return f"{socket.gethostname()}/{os.urandom(8).hex()}"[:200]

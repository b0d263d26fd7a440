"""The store's interface for leases: which process may resume a run."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRequest:
    """Who wants a run's lease, for so many seconds, to make this attempt at the run.

    `force`: although another holder has it.  `unless_heard`: not if spans of the run arrived within that time, except
    for its present holder.  `unless_undelivered`: not while records of the holder before may not have arrived; a run
    without a lease counts as delivered only if `begun_here`: its first attempt was recorded in this holder's journal.
    """

    holder: str
    process: str
    seconds: float
    attempt: int = 0
    force: bool = False
    unless_heard: bool = False
    unless_undelivered: bool = False
    begun_here: bool = False


@dataclass(frozen=True, slots=True)
class StoredLease:
    """The latest holder of a run's lease, since when, and until when unless renewed. Times are from the database's
    clock.

    `attempt`: which attempt at the run it makes. `delivered`: it was given back, and all its records have arrived.
    """

    holder: str
    process: str
    since_ns: int
    until_ns: int
    attempt: int = 0
    is_held: bool = True
    delivered: bool = False


@dataclass(frozen=True, slots=True)
class LeaseResult:
    """The requested lease; or why it was refused: another holder has it (`held`), spans arrived at `heard_ns`, or
    records of the holder before (`held`, if it is known) may not have arrived (`undelivered`)."""

    lease: StoredLease | None
    held: StoredLease | None = None
    heard_ns: int | None = None
    undelivered: bool = False


@dataclass(frozen=True, slots=True)
class Takeover:
    """A run that was taken from a holder whose records may not all have arrived: since then (ns since 1970, by the
    database's clock) this attempt goes on with it."""

    run: str
    attempt: int
    since_ns: int


class LeaseStore(Protocol):
    """Leases on runs, so that no two processes resume the same run."""

    async def take_lease(self, project_id: int, run: str, request: LeaseRequest) -> LeaseResult:
        """Takes the lease, if no other holder has it or with `force`. The run need not exist.

        Its attempt is no earlier than the one before, and later than that of another holder. If records of that one may
        not have arrived, what earlier attempts do from now on is not added to the run.
        """
        ...

    async def renew_lease(
        self, project_id: int, run: str, holder: str, seconds: float, *, process: str = "", attempt: int | None = None
    ) -> LeaseResult:
        """Extends the lease to so many seconds from now; refused when another holder has taken it, or this one for a
        later attempt. With an `attempt`, a lease that nobody has taken yet is taken; the first attempt needs none, and
        is granted what is not stored."""
        ...

    async def release_lease(
        self, project_id: int, run: str, holder: str, *, process: str = "", attempt: int | None = None
    ) -> bool:
        """Releases the lease: the holder does not go on with the run, and all its records have arrived. Returns False
        when this holder did not have it, or has it for a later attempt. With an `attempt`, that is also noted of a run
        that has no lease."""
        ...

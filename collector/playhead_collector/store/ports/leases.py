"""The store's interface for leases: which process may resume a run."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseRequest:
    """A request of `holder` for a run's lease for `seconds`, to make attempt number `attempt` at the run.

    `force`: take the lease even if another holder has it.
    `unless_heard`: refuse if spans of the run arrived within the last `seconds`, unless this holder has the lease or
    all records of the previous holder have arrived.
    `unless_undelivered`: refuse while records of the previous holder may not have arrived. A run without a lease counts
    as delivered only with `begun_here`: its first attempt was recorded in this holder's journal.
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
    """The latest lease of a run: its holder, since when, and until when unless it is renewed. Times are from the
    database's clock, in ns since 1970.

    `attempt`: the holder's attempt at the run. `delivered`: the lease was released, and all records of the holder have
    arrived.
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
    """The requested lease; if `lease` is None, the reason why it was refused.

    Reasons: another holder has the lease (`held`), spans arrived at `heard_ns`, or records of the previous holder
    (`held`; None if there is none) may not have arrived (`undelivered`).
    """

    lease: StoredLease | None
    held: StoredLease | None = None
    heard_ns: int | None = None
    undelivered: bool = False


@dataclass(frozen=True, slots=True)
class Takeover:
    """A run that was taken over from a holder whose records may not all have arrived. `attempt` continues the run since
    `since_ns` (ns since 1970, by the database's clock)."""

    run: str
    attempt: int
    since_ns: int


class LeaseStore(Protocol):
    """Leases on runs. They prevent two processes from resuming the same run."""

    async def take_lease(self, project_id: int, run: str, request: LeaseRequest) -> LeaseResult:
        """Takes the lease if no other holder has it, or with `force`. The run need not exist.

        The granted attempt is at least the previous one, and greater than that of another holder. If it is taken with
        `force` while records of that holder may not have arrived, records that earlier attempts make from now on are
        not added to the run.
        """
        ...

    async def renew_lease(
        self, project_id: int, run: str, holder: str, seconds: float, *, process: str = "", attempt: int | None = None
    ) -> LeaseResult:
        """Extends the lease to `seconds` from now.

        Refused when another holder has taken the lease, or the same holder for a later attempt. With an `attempt` above
        0, a lease is taken if none is stored, or if the stored one has run out and is of an earlier attempt. The first
        attempt (0) needs no lease: if none is stored, it gets a lease that is not stored either.
        """
        ...

    async def release_lease(
        self, project_id: int, run: str, holder: str, *, process: str = "", attempt: int | None = None
    ) -> bool:
        """Releases the lease: the holder does not continue the run, and all its records have arrived.

        Returns False when this holder does not have the lease, or has it for a later attempt. With an `attempt`, the
        delivery is also noted for a run that has no lease.
        """
        ...

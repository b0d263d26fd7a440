"""The values of leases: which process may resume a run."""

from dataclasses import dataclass


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

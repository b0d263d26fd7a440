"""The store's interface for leases: which process may resume a run."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredLease:
    """The holder of a run's lease, since when, and until when unless renewed. Times are from the database's clock."""

    holder: str
    process: str
    since_ns: int
    until_ns: int


@dataclass(frozen=True, slots=True)
class LeaseResult:
    """The requested lease; or why it was refused: another holder has it (`held`), or spans arrived at `heard_ns`."""

    lease: StoredLease | None
    held: StoredLease | None
    heard_ns: int | None


class LeaseStore(Protocol):
    """Leases on runs, so that no two processes resume the same run."""

    async def take_lease(
        self, project: int, run: str, holder: str, process: str, seconds: float, *, force: bool, unless_heard: bool
    ) -> LeaseResult:
        """Takes the lease for so many seconds, if no other holder has it or with `force`. `unless_heard`: not
        if spans of the run arrived within that time, except for its present holder. The run need not exist."""
        ...

    async def renew_lease(self, project: int, run: str, holder: str, seconds: float) -> LeaseResult:
        """Extends the lease to so many seconds from now; refused when another holder has taken it."""
        ...

    async def release_lease(self, project: int, run: str, holder: str) -> bool:
        """Releases the lease; returns False when this holder did not have it."""
        ...

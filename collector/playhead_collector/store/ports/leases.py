"""What [store] promises about leases: which process goes on with a run."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class StoredLease:
    """Who goes on with a run, since when, and until when unless they say so again.  Times are the database's."""

    holder: str
    process: str
    since_ns: int
    until_ns: int


@dataclass(frozen=True, slots=True)
class LeaseResult:
    """The lease that was asked for; or why not: somebody `held` it, or its run was `heard_ns` of lately."""

    lease: StoredLease | None
    held: StoredLease | None
    heard_ns: int | None


class LeaseStore(Protocol):
    """Knows which process goes on with a run, so that no two do."""

    async def take_lease(
        self, project: int, run: str, holder: str, process: str, seconds: float, *, force: bool, unless_heard: bool
    ) -> LeaseResult:
        """For so many seconds, if nobody else has it; with `force` whoever has it.  `unless_heard`: not either when
        spans of the run came within that time, but for a holder that has it already.  The run need not be known."""
        ...

    async def renew_lease(self, project: int, run: str, holder: str, seconds: float) -> LeaseResult:
        """For so many seconds from now; not when another has taken it meanwhile."""
        ...

    async def release_lease(self, project: int, run: str, holder: str) -> bool:
        """Nobody has it then; False when it was not this holder's."""
        ...

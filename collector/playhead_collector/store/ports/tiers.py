"""The store's interface for retention: policies, the tiers of runs, pins, and what was removed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Protocol


class Tier(IntEnum):
    """What is kept of a run. The numbers are stored in rows."""

    HOT, WARM, COLD, ARCHIVE, DELETED = range(5)


@dataclass(frozen=True, slots=True)
class RunAge:
    """A run as a policy looks at it.

    `ended_ns`: when it ended, or when the last record of a lost run arrived, in ns since 1970; None: it goes on.
    `settled`: it is sealed or lost, so that nothing is expected any more. `has_rows`: a thinned run got late spans.
    `dirty`: it has news that are not projected. `fork_tier`: the lowest tier of the runs that were forked from it.
    """

    run: str
    tier: Tier
    ended_ns: int | None
    outcome: str = "unknown"
    agents: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    settled: bool = True
    dirty: bool = False
    has_rows: bool = False
    pinned: bool = False
    waiting: bool = False
    leased: bool = False
    fork_tier: Tier | None = None


class Move(NamedTuple):
    """Where a run goes. `contents`: what a cold run keeps of its contents: `all`, `last_context` (with the checkpoints
    and summaries), or `checkpoints` (and summaries)."""

    tier: Tier
    rule: str
    contents: str = "all"


class RemovalRow(NamedTuple):
    """What was removed in one step: so many contents and threads that the runs name no more, and bytes of their rows.
    `number` orders the steps."""

    number: int
    at_ns: int
    rule: str
    from_tier: Tier
    to_tier: Tier
    runs: Sequence[str]
    contents: int
    bytes: int


class StoredPin(NamedTuple):
    """A pin of a run. `api_key`: the name of the key that made it."""

    pinned_ns: int
    reason: str | None
    api_key: str | None


class TierStore(Protocol):
    """Keeps policies and pins, and moves runs from tier to tier.  All methods raise StoreUnavailable."""

    async def policies(self) -> Mapping[int, str]:
        """Returns the policies of the projects that have one, as JSON, by project."""
        ...

    async def policy(self, project_id: int) -> str | None:
        """Returns the policy of a project as JSON; None: it has none."""
        ...

    async def set_policy(self, project_id: int, policy: str | None) -> None:
        """Sets the policy of a project; None: runs are kept for ever."""
        ...

    async def runs_after(
        self, project_id: int, after: str | None, *, ended_before_ns: int, limit: int
    ) -> Sequence[RunAge]:
        """Returns runs that ended before then, in the order of their ids, those after this one."""
        ...

    async def run_age(self, project_id: int, run: str) -> RunAge | None:
        """Returns a run as policies look at it; None: there is no such run."""
        ...

    async def sizes(self, project_id: int, runs: Sequence[str]) -> Mapping[str, int]:
        """Returns the bytes of the records of these runs: bodies of their rows, compressed."""
        ...

    async def move(
        self, project_id: int, runs: Sequence[str], to: Tier, choose: Callable[[RunAge], Move | None]
    ) -> Sequence[RemovalRow]:
        """Moves runs into the tier `to` in one transaction: each is locked, looked at again, and moved if `choose` says
        so. Runs that somebody else works on are left out. Returns what was done, as it stands in the audit."""
        ...

    async def packs_to_warm(self, project_id: int, after: int, limit: int) -> Sequence[int]:
        """Returns packs of contents after this one that are in Postgres, and of which no run is hot any more."""
        ...

    async def move_records(self, project_id: int, after: str | None, limit: int) -> str | None:
        """Moves the records of some thinned runs, those after this one, into the object store. Give a great limit: few
        make a small object. Returns the run at which to go on; None: these were the last. Raises
        ObjectStoreUnavailable."""
        ...

    async def tiers(self, project_id: int) -> Mapping[Tier, int]:
        """Returns how many runs are in each tier."""
        ...

    async def pin(self, project_id: int, run: str, reason: str | None, api_key: str | None) -> StoredPin | None:
        """Pins a run, or changes the reason; returns None when there is no such run."""
        ...

    async def unpin(self, project_id: int, run: str) -> bool:
        """Takes the pin of a run away; returns False when it has none."""
        ...

    async def pin_of(self, project_id: int, run: str) -> StoredPin | None:
        """Returns the pin of a run; None: it has none."""
        ...

    async def removals(self, project_id: int, *, limit: int, before: int | None = None) -> Sequence[RemovalRow]:
        """Returns what was removed, latest first, before this number."""
        ...

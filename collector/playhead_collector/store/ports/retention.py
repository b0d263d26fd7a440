"""The store's interface for deletion: runs are deleted at once, content after a grace period."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Deleted:
    """`runs`: deleted runs, empty when there was no such run. `forks`: if any, nothing was deleted because of them."""

    runs: tuple[str, ...]
    forks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Swept:
    """Progress of a sweep: its `phase` (None: no sweep is running), and the numbers of contents and thread nodes
    deleted so far."""

    phase: str | None
    contents: int = 0
    nodes: int = 0


class RetentionStore(Protocol):
    """Deletes runs and contents."""

    async def delete_run(self, project_id: int, run: str, *, forks: bool) -> Deleted:
        """The run and all that is stored of it but content, at once; with `forks`, also all runs forked from it.
        Spans of it that arrive later are dropped.  Raises StoreUnavailable."""
        ...

    async def sweeps_due(self, grace_ns: int) -> Sequence[int]:
        """Projects with a sweep under way, or with deleted runs whose content may go."""
        ...

    async def sweep_step(self, project_id: int, grace_ns: int) -> Swept:
        """The next step of the sweep that is under way; begins one when there is none.  A step takes well under a
        second, and holds up ingest for less.  What was stored or named within `grace_ns` stays.  Raises
        StoreUnavailable; a step that fails has changed nothing."""
        ...

    async def forget_tombstones(self, older_ns: int) -> int:
        """Deletes tombstones of runs that were deleted, and received data last, longer than `older_ns` ago."""
        ...

    async def forget_leases(self) -> int:
        """Deletes leases that ran out a day ago, of runs that are not stored. Returns how many."""
        ...

    async def forget_changes(self, older_ns: int) -> int:
        """Deletes some of the changes (see `changes.py`) that were stored longer than `older_ns` ago; returns how many,
        0 when none are left."""
        ...

"""The store's interface for deletion: runs are deleted at once, contents after a grace period."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Deleted:
    """The result of a deletion. `runs`: the deleted runs; empty when there is no such run. `forks`: forks because of
    which nothing was deleted."""

    runs: tuple[str, ...]
    forks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Swept:
    """The progress of a sweep: its `phase` (None: no sweep is running), and how many contents and thread nodes were
    deleted so far."""

    phase: str | None
    contents: int = 0
    nodes: int = 0


class RetentionStore(Protocol):
    """Deletes runs and contents."""

    async def delete_run(self, project_id: int, run: str, *, forks: bool) -> Deleted:
        """Deletes the run and all its stored data except contents; with `forks`, also all runs forked from it. Spans of
        deleted runs that arrive later are dropped.  Raises StoreUnavailable."""
        ...

    async def sweeps_due(self, grace_ns: int) -> Sequence[int]:
        """Returns projects that have a running sweep, or deleted runs whose contents may be deleted."""
        ...

    async def sweep_step(self, project_id: int, grace_ns: int) -> Swept:
        """Makes the next step of the project's sweep; begins a sweep when none is running.

        A step takes well under a second, and makes ingest wait for less.  Data that was stored or named within
        `grace_ns` stays.  Raises StoreUnavailable; a step that fails has changed nothing.
        """
        ...

    async def forget_tombstones(self, older_ns: int) -> int:
        """Deletes tombstones of runs whose contents were swept, and whose deletion and last late data are older than
        `older_ns`. Returns how many."""
        ...

    async def forget_leases(self) -> int:
        """Deletes leases of runs that are not stored, if the leases ran out a day ago or earlier. Returns how many."""
        ...

    async def forget_changes(self, older_ns: int) -> int:
        """Deletes some of the changes (see `changes.py`) that were stored longer than `older_ns` ago. Returns how many;
        0 when there are no more."""
        ...

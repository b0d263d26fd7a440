"""The store's interface for rules that are run over what is stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from playhead_collector.redaction.masking import Masker
from playhead_collector.redaction.rules import RedactionRules

PHASES = ("contents", "packs", "runs", "promises", "records", "search", "done")
"""What a job goes through, in this order."""


@dataclass(frozen=True, slots=True)
class RedactionJobRow:
    """A job. Times are ns since 1970. `counts`: by kind, how many were looked at and how many were changed. `ended_ns`
    None: it goes on. `failed`: why its last step could not be made."""

    phase: str
    started_ns: int
    updated_ns: int
    ended_ns: int | None
    rules: RedactionRules
    failed: str | None = None
    counts: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])


class RedactionStore(Protocol):
    """Runs rules over what is stored, in steps.  All methods raise StoreUnavailable."""

    async def job(self, project_id: int) -> RedactionJobRow | None:
        """Returns the project's last job; None: there was none."""
        ...

    async def start(self, project_id: int, rules: RedactionRules) -> RedactionJobRow:
        """Starts a job, in place of an earlier one."""
        ...

    async def stop(self, project_id: int) -> RedactionJobRow | None:
        """Ends the project's job before its end; returns None when none is under way."""
        ...

    async def going_on(self, settled_ns: int) -> Sequence[int]:
        """Returns the projects whose jobs are under way and were started at least this long ago, in ns."""
        ...

    async def step(self, project_id: int, masker: Masker) -> RedactionJobRow | None:
        """Makes the next step of a job, of well under a second for contents and runs of usual sizes. Returns the job
        after it; None: none is under way, or another collector makes a step of it now. Raises StoreCollision: try
        again."""
        ...

    async def note_failure(self, project_id: int, why: str) -> None:
        """Notes why a step could not be made."""
        ...

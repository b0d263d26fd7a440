"""The interface behind `store.records`: recorded runs as they were written, in memory or in files."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from playhead.model.canonical import Content
from playhead.model.event import RunEvent
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.state import RunState
from playhead.model.thread import ThreadNode
from playhead.project.run_row import RunRow


class RunRecords(NamedTuple):
    """What was recorded of a run, in any order and with repetitions: spans, announcements of spans (`end_ns` None) and
    log events.  `last_ns`: when the last of it was recorded, in ns since 1970."""

    spans: Sequence[Span]
    logs: Sequence[LogEvent]
    last_ns: int


class RecordSource(Protocol):
    """Recorded runs, their contents and threads.  A damaged part reads as if it had never been written."""

    def runs(self) -> Sequence[str]:
        """The ids of all runs, in any order."""
        ...

    def version(self, run: str) -> str | None:
        """A text that changes whenever more of the run is recorded; None when there is no such run."""
        ...

    def forks(self, run: str) -> Sequence[str]:
        """Runs with a record that names this one as what they were forked from."""
        ...

    def records(self, run: str) -> RunRecords:
        """What was recorded of the run; empty when there is no such run."""
        ...

    def is_gone(self, run: str) -> bool:
        """Whether it is known that no process records the run any more."""
        ...

    def contents(self, refs: Iterable[ContentRef]) -> Mapping[ContentRef, Content]:
        """The recorded ones of these contents, by refs without suffix, with the bytes that were recorded."""
        ...

    def nodes(self, threads: Iterable[ContentRef]) -> Mapping[ContentRef, ThreadNode]:
        """All nodes of those of these threads that are recorded whole, from the first to the last."""
        ...

    def last_nodes(self, threads: Iterable[ContentRef]) -> Mapping[ContentRef, ThreadNode]:
        """Only the last node of each of those of these threads that are recorded whole."""
        ...

    def beginning_with(self, beginnings: Iterable[bytes]) -> Sequence[ContentRef]:
        """The refs of recorded contents whose digest begins with one of these, each of 16 bytes."""
        ...


@dataclass(frozen=True, slots=True)
class RunProjection:
    """A run, projected from the records of this version.

    `events`: its own ones, those of a fork without the shared ones.  `awaited`: refs that it names and that were not
    recorded.  `last_ns`: when the last of it was recorded; `is_quiet`: whether that was so long ago that an ended run
    was sealed.  `above`: the version of what it was forked from.
    """

    version: str
    row: RunRow
    events: Sequence[RunEvent]
    snapshots: Sequence[RunState]
    awaited: frozenset[ContentRef]
    last_ns: int
    is_quiet: bool
    above: str | None = None


class ProjectionCache(Protocol):
    """Keeps projections.  What it does not give back is projected again, so it may forget anything."""

    def get(self, run: str) -> RunProjection | None:
        """The projection that was kept last."""
        ...

    def put(self, run: str, projection: RunProjection) -> None:
        """Keeps a projection in place of an earlier one."""
        ...

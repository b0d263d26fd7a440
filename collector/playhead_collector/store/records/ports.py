"""The interfaces behind `store.records`: a source of recorded runs (in memory or in files), and a cache of
projections."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from playhead.model.canonical import Content
from playhead.model.event import RunEvent
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.state import RunState
from playhead.model.thread import ThreadNode
from playhead.projection.run_row import RunRow


class RunRecords(NamedTuple):
    """The records of a run, in any order and with repetitions: spans, announcements of spans (`end_ns` None) and log
    events.  `last_ns`: when the last of them was recorded, in ns since 1970."""

    spans: Sequence[Span]
    logs: Sequence[LogEvent]
    last_ns: int


class RecordSource(Protocol):
    """Recorded runs with their contents and threads.  A damaged record is treated as if it did not exist."""

    def runs(self) -> Sequence[str]:
        """Returns the ids of all runs, in any order."""
        ...

    def version(self, run: str) -> str | None:
        """Returns a text that changes whenever more of the run is recorded; None when there is no such run."""
        ...

    def forks(self, run: str) -> Sequence[str]:
        """Returns the runs with a record that says they were forked from this run."""
        ...

    def records(self, run: str) -> RunRecords:
        """Returns the records of the run; empty when there is no such run."""
        ...

    def is_gone(self, run: str) -> bool:
        """Returns whether it is certain that no process records the run any more."""
        ...

    def contents(self, refs: Iterable[ContentRef]) -> Mapping[ContentRef, Content]:
        """Returns the given contents that are recorded, with the recorded bytes, by refs without suffix."""
        ...

    def nodes(self, threads: Iterable[ContentRef]) -> Mapping[ContentRef, ThreadNode]:
        """Returns all nodes, from the first to the last, of the given threads that are recorded completely."""
        ...

    def last_nodes(self, threads: Iterable[ContentRef]) -> Mapping[ContentRef, ThreadNode]:
        """Returns the last node of each of these threads that is recorded completely."""
        ...

    def refs_with_prefix(self, prefixes: Iterable[bytes]) -> Sequence[ContentRef]:
        """Returns the refs of recorded contents whose digest begins with one of these prefixes of 16 bytes."""
        ...


@dataclass(frozen=True, slots=True)
class RunProjection:
    """The projection of a run, made from the records of this version.

    `events`: the run's own events, without those that a fork shares with its parent.  `awaited`: refs that the run
    names and that are not recorded.  `last_ns`: when the last record was made; `is_quiet`: whether that was so long ago
    that an ended run is sealed.  `parent_version`: version of the parent's projection
    (`RecordProjector.parent_version`).  `has_scores`: some events are scores; the others need not be looked through.
    """

    version: str
    row: RunRow
    events: Sequence[RunEvent]
    snapshots: Sequence[RunState]
    awaited: frozenset[ContentRef]
    last_ns: int
    is_quiet: bool
    parent_version: str | None = None
    has_scores: bool = True


class ProjectionCache(Protocol):
    """A cache of projections.  It may drop any projection: a missing one is made again."""

    def get(self, run: str) -> RunProjection | None:
        """Returns the last projection of the run that was put; None if it is not in the cache."""
        ...

    def put(self, run: str, projection: RunProjection) -> None:
        """Stores a projection, and replaces an earlier one of the run."""
        ...

"""[projection]: the input and the result of projecting a run.  Values only."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playhead.model.event import RunEvent
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.state import RunState
from playhead.model.thread import ThreadNode
from playhead.projection.run_row import RunRow


@dataclass(slots=True)
class Projection:
    """The result of projecting a run: its events in seq order, its row, and snapshots of its state.

    `unread`: messages whose text may change the result: read them and project again.  `settled`: the run has ended,
    and projecting it again changes nothing until new data arrives.

    `appended`: `events` and `snapshots` are to be added to the stored ones; of the stored events, only those in
    `altered` have changed.  `progress`: a `Progress` to continue from; the caller may keep or discard it.
    """

    events: Sequence[RunEvent]
    row: RunRow
    snapshots: Sequence[RunState] = ()
    unread: Collection[ContentRef] = ()
    settled: bool = False
    appended: bool = False
    altered: Sequence[RunEvent] = ()
    progress: Any = None


@dataclass(frozen=True, slots=True)
class Parent:
    """The run that a fork was made from, with its projected events.

    `events` is its whole history; `spans` are its own spans, then those of its parent, and so on for each ancestor.
    """

    run: str
    events: Sequence[RunEvent]
    spans: Sequence[Sequence[Span]]
    sealed: bool = False


@dataclass(slots=True)
class RunInput:
    """The input of a projection."""

    run: str
    spans: Sequence[Span]
    logs: Sequence[LogEvent]
    nodes: Mapping[ContentRef, ThreadNode]
    """Every node of every thread that the spans and logs name, ancestors included."""
    roles: Mapping[ContentRef, str]
    """Role of each message in `nodes` whose content is stored."""
    sealed: Sequence[RunEvent] | None
    """The events of a sealed run; None while the run is open."""
    last_arrival_ns: int
    messages: dict[ContentRef, Message] = field(default_factory=dict[ContentRef, Message])
    """Messages that were read so far, by ref."""
    parent: Parent | None = None
    """The parent of a fork, if it is stored."""
    shared: int | None = None
    """`RunRow.shared` of the last projection."""
    looked_up: set[ContentRef] = field(default_factory=set[ContentRef])
    """Refs of messages that were looked up, stored or not."""


@dataclass(frozen=True, slots=True)
class ProjectSettings:
    """When runs are sealed, and how far apart snapshots are.

    `seal_after_ns`: a run that has ended is sealed after this time without new data.  `lost_after_ns`: a process with
    an open call is taken for lost after this time without new data.
    """

    seal_after_ns: int = 30_000_000_000
    lost_after_ns: int = 900_000_000_000
    # Two pages of events in the store: on average, a state at any seq needs one page and 3 ms of folding.
    snapshot_every: int = 512
    # Whether the projection includes the state that is needed to continue with a growing run.
    keep_state: bool = False

    def quiet_after_ns(self, *, is_under_way: bool) -> int:
        """Time without new data after which a run that has ended is sealed. `is_under_way`: another process that was
        handed a part of the run has not ended."""
        return max(self.seal_after_ns, self.lost_after_ns) if is_under_way else self.seal_after_ns

"""[project]: what the projector is given of a run, and what it gives back.  Values only."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from playhead.model.event import RunEvent
from playhead.model.message import Message
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.model.state import RunState
from playhead.model.thread import ThreadNode
from playhead.project.run_row import RunRow


@dataclass(slots=True)
class Projection:
    """What the projector makes of a run: all its events in seq order, its summary, and states to start folds from.

    `unread`: messages that would make a difference, if somebody read them and projected again.  `settled`: projecting
    a run that has ended again would change nothing, unless something arrives.

    `appended`: events and snapshots are those behind the stored ones, of which only `altered` are others now.
    `progress`: what the projector needs to go on, a `Progress`; whoever called it may keep it, for as long as it likes.
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
    """The run that a fork was made from, as it is projected.

    `events` is its whole history; `spans` are its own ones, then those of the run that it was itself forked from, ...
    """

    run: str
    events: Sequence[RunEvent]
    spans: Sequence[Sequence[Span]]
    sealed: bool = False


@dataclass(slots=True)
class RunInput:
    """All that projecting a run needs."""

    run: str
    spans: Sequence[Span]
    logs: Sequence[LogEvent]
    nodes: Mapping[ContentRef, ThreadNode]
    """Every node of every thread that the spans and logs name, ancestors included."""
    roles: Mapping[ContentRef, str]
    """Role of each message in `nodes` whose content is stored."""
    sealed: Sequence[RunEvent] | None
    """The events as they were sealed; None while the run is open."""
    last_arrival_ns: int
    messages: dict[ContentRef, Message] = field(default_factory=dict[ContentRef, Message])
    """Messages that were read; none until `read` is asked for them."""
    parent: Parent | None = None
    """Of a fork, when that run is here."""
    shared: int | None = None
    """`RunRow.shared` as it was projected last."""
    asked: set[ContentRef] = field(default_factory=set[ContentRef])
    """Messages that were looked for, whether they are stored or not."""

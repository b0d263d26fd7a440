"""Interfaces that [receive] calls; `app.py` passes the implementations."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.wire.pack import Pack
from playhead_collector.access import Access


@dataclass(slots=True)
class ExtractedCounts:
    """Contents that were taken out of spans and log events: number and bytes, and of these the ones that were not
    stored before."""

    contents: int = 0
    content_bytes: int = 0
    new_contents: int = 0
    new_bytes: int = 0

    def add(self, other: "ExtractedCounts") -> None:
        """Adds the counts of another batch."""
        self.contents += other.contents
        self.content_bytes += other.content_bytes
        self.new_contents += other.new_contents
        self.new_bytes += other.new_bytes


@dataclass(frozen=True, slots=True)
class IngestResult:
    """Result of storing a batch.

    `pending`: refs whose content has not arrived. `dropped`: number of spans and log events of deleted runs.
    `not_understood`: by scope, the number of spans and log events whose content no dialect could read. `contents`:
    contents taken out of the batch; repetitions count. `superseded`: number of spans and log events that were not
    stored, because a later attempt had taken the run over before; `takeovers`: the attempt that took over, by run.
    """

    spans: int
    duplicates: int = 0
    pending: Sequence[ContentRef] = ()
    dropped: int = 0
    not_understood: Mapping[str, int] = field(default_factory=dict[str, int])
    contents: ExtractedCounts = field(default_factory=ExtractedCounts)
    superseded: int = 0
    takeovers: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class MissingRefs:
    """The refs that are not stored, and the epoch for which this answer is valid."""

    refs: Sequence[ContentRef]
    epoch: str


@dataclass(frozen=True, slots=True)
class PackResult:
    """Result of storing a pack. `unknown_parents`: threads that it extends and that are not stored yet."""

    unknown_parents: Sequence[ContentRef]
    epoch: str


class Ingest(Protocol):
    """Stores spans and log events of a project."""

    async def ingest(self, spans: Sequence[Span], logs: Sequence[LogEvent]) -> IngestResult:
        """Stores a batch. When this returns, it is durable. Storing the same batch again changes nothing.

        Raises StoreUnavailable; then nothing of the batch was stored.
        """
        ...


class ContentIntake(Protocol):
    """Stores content of a project."""

    async def missing(self, refs: Sequence[ContentRef]) -> MissingRefs:
        """Returns the refs that are not stored. Raises StoreUnavailable."""
        ...

    async def put(self, pack: Pack) -> PackResult:
        """Stores the contents and threads of a pack. When this returns, they are durable. Storing them again changes
        nothing.

        Raises StoreUnavailable; then nothing of the pack was stored.
        """
        ...


class MediaIntake(ContentIntake, Ingest, Protocol):
    """Stores media of runs of a project: first the announcement, then the bytes."""

    async def is_awaited(self, ref: ContentRef) -> bool:
        """Whether a run names this content while it is not stored. Raises StoreUnavailable."""
        ...


IngestOf: TypeAlias = Callable[[int], Ingest]
ContentIntakeOf: TypeAlias = Callable[[int], ContentIntake]
MediaIntakeOf: TypeAlias = Callable[[int], MediaIntake]
"""Of a project, by its number."""


class Authorize(Protocol):
    """Checks the key of a sender."""

    async def __call__(self, headers: Mapping[str, str], /) -> Access:
        """Returns what the sender of these headers (names in lower case) may do, who may send.

        Raises Refused: 401 without a valid key, 403 when it lacks the scope, 429 when its project sends too much;
        StoreUnavailable.
        """
        ...


class Counts(Protocol):
    """Counts received data. Its methods must neither raise nor block."""

    def arrived(self, project_id: int, items: int, body_bytes: int) -> None:
        """Counts what was taken of a project: spans and log events, and bytes of a request's body, not compressed."""
        ...

    def body(self, sent_bytes: int, unpacked_bytes: int) -> None:
        """Counts the bytes of a request's body, as sent and decompressed."""
        ...

    def taken(self, spans: int, duplicates: int, logs: int) -> None:
        """Counts stored spans (of these, those that were stored before) and log events."""
        ...

    def dropped(self, count: int) -> None:
        """Counts spans and log events of deleted runs: accepted and not stored."""
        ...

    def rejected(self, signal: str, count: int) -> None:
        """Counts spans or log records that could not be stored."""
        ...

    def ignored(self, signal: str, count: int) -> None:
        """Counts metrics, and log records that are no events: accepted and not stored."""
        ...

    def not_understood(self, project_id: int, scope: str, count: int) -> None:
        """Counts spans and log events of this scope of a project with content that no dialect could read."""
        ...

    def content(self, contents: int, data_bytes: int) -> None:
        """Counts stored contents, and their size in bytes."""
        ...

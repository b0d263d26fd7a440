"""What [receive] needs from its surroundings; app.py plugs them in."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.wire.pack import Pack


@dataclass(frozen=True, slots=True)
class IngestResult:
    """How a batch was taken. `pending`: refs that it names and whose content is not here yet. `dropped`: spans and log
    events of runs that were deleted. `not_understood`: scopes whose content nobody could read as such, with the number
    of their spans and log events."""

    spans: int
    duplicates: int = 0
    pending: Sequence[ContentRef] = ()
    dropped: int = 0
    not_understood: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True, slots=True)
class MissingRefs:
    """Those refs that are not stored, and the epoch for which that holds."""

    refs: Sequence[ContentRef]
    epoch: str


@dataclass(frozen=True, slots=True)
class PackResult:
    """A pack is stored; `unknown_parents` are threads that it continues and that are not here yet."""

    unknown_parents: Sequence[ContentRef]
    epoch: str


class Ingest(Protocol):
    """Takes spans and log events."""

    async def __call__(self, spans: Sequence[Span], logs: Sequence[LogEvent]) -> IngestResult:
        """Durable once this returns; the same again changes nothing. Raises StoreUnavailable: nothing was kept."""
        ...


class ContentIntake(Protocol):
    """Takes content."""

    async def missing(self, refs: Sequence[ContentRef]) -> MissingRefs:
        """Which of these are not here. Raises StoreUnavailable."""
        ...

    async def put(self, pack: Pack) -> PackResult:
        """Durable once this returns; the same again changes nothing. Raises StoreUnavailable: nothing was kept."""
        ...


class Counts(Protocol):
    """Told what came in; must not fail, and not wait."""

    def body(self, sent_bytes: int, unpacked_bytes: int) -> None:
        """A request's body, as it was sent and as it was meant."""
        ...

    def taken(self, spans: int, duplicates: int, logs: int) -> None:
        """Spans (of them, those that were here already) and log events that are stored."""
        ...

    def dropped(self, count: int) -> None:
        """Spans and log events of deleted runs: accepted and not kept."""
        ...

    def rejected(self, signal: str, count: int) -> None:
        """Spans or log records that could not be kept."""
        ...

    def ignored(self, signal: str, count: int) -> None:
        """Metrics, and log records that are no events: accepted and not kept."""
        ...

    def not_understood(self, scope: str, count: int) -> None:
        """Spans and log events of this scope, in which there is content that no dialect understands."""
        ...

    def content(self, contents: int, data_bytes: int) -> None:
        """Contents that are stored."""
        ...

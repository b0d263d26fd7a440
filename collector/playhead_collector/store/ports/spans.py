"""The store's interface for the spans and log events of a run, and the values with which they are stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

from playhead.model.canonical import Content
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span
from playhead.wire.pack import ThreadExtension


@dataclass(frozen=True, slots=True)
class Batch:
    """The data of one request: spans and log events without payloads, and the contents and threads that they refer
    to. `about`: a run whose texts are in it; if that was deleted, nothing of the batch is stored."""

    spans: Sequence[Span] = ()
    logs: Sequence[LogEvent] = ()
    contents: Sequence[Content] = ()
    threads: Sequence[ThreadExtension] = ()
    about: str | None = None


@dataclass(frozen=True, slots=True)
class Ingested:
    """The result of `ingest`.

    `spans`: the number of spans in the batch.
    `duplicates`: how many ended ones came in a batch that was sent again unchanged. (A span that comes again in a
    different batch changes nothing either, but is noticed only when the run is read.)
    `pending`: refs that new spans name and that are not stored yet. When one arrives, the runs that wait for it have
    news.
    `dropped`: the number of spans and log events of deleted runs; nothing of them was kept.
    `superseded`: the number of spans and log events that an earlier attempt at a run recorded after a later attempt had
    taken the run over; they were not kept. `takeovers`: the later attempt, by run.
    `new_contents`, `new_bytes`: contents of the batch that were not stored before, and their size in bytes.
    """

    spans: int
    duplicates: int
    pending: tuple[ContentRef, ...] = ()
    dropped: int = 0
    new_contents: int = 0
    new_bytes: int = 0
    superseded: int = 0
    takeovers: Mapping[str, int] = field(default_factory=dict[str, int])


class StoredPage(NamedTuple):
    """Spans and log events of one run that are stored together. A page that was stored later has a larger number."""

    number: int
    spans: Sequence[Span]
    logs: Sequence[LogEvent]


class SpanReader(Protocol):
    """Reads the spans and log events of a run."""

    async def read(self, project_id: int, run: str) -> Sequence[Span]:
        """Returns all spans of a run, by start time."""
        ...

    async def logs(self, project_id: int, run: str) -> Sequence[LogEvent]:
        """Returns all log events of a run except announcements, by time."""
        ...

    async def pages(self, project_id: int, run: str, *, after: int, limit: int) -> Sequence[StoredPage]:
        """Returns stored spans and log events of a run in pages of at most 256 items, by page number: at most `limit`
        pages with a number > `after`.

        Several pages may have versions of the same span, or the same log event. If pages are merged while a caller
        reads them one after the other, the caller may get some items twice, but misses none.
        """
        ...

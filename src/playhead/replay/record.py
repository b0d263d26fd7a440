"""What a run recorded, wherever that is: spans, contents, threads.

`LocalRecord` reads the journal's files, also those of dead processes and of this one; `RemoteRecord` asks the
collector.
"""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from playhead.api.port import Frames
from playhead.errors import ClientError, NotFound
from playhead.journal.frame import (
    ANNOUNCEMENT,
    CONTENT,
    HEADER_BYTES,
    LOG,
    SPAN,
    THREAD,
    frames_in,
    read_content,
    read_log,
    read_span,
    read_thread,
)
from playhead.journal.lane import LaneReader, adopt, lanes
from playhead.model import names
from playhead.model.canonical import Content
from playhead.model.message import message_contents
from playhead.model.ref import ContentRef
from playhead.model.span import STATUS_ERROR, STATUS_OK, LogEvent, Span
from playhead.model.thread import extend

_OF_A_RUN = frozenset({SPAN, ANNOUNCEMENT, LOG})


class Record(Protocol):
    """A run's record.  Reading it never changes it."""

    @property
    def spans(self) -> Sequence[Span]:
        """Spans and announcements, as they were recorded."""
        ...

    @property
    def logs(self) -> Sequence[LogEvent]:
        """Log events; none where they are not to be had."""
        ...

    @property
    def alive(self) -> bool:
        """Whether another process that still lives is known to have this run."""
        ...

    def content(self, ref: ContentRef) -> Content | None:
        """The content; None where it is not to be had."""
        ...

    def messages(self, thread: ContentRef) -> list[ContentRef] | None:
        """Refs of a thread's messages, first to last; None where they are not to be had."""
        ...


@dataclass(slots=True)
class LocalRecord:
    """A run as the journal's files have it."""

    spans: list[Span] = field(default_factory=list[Span])
    logs: list[LogEvent] = field(default_factory=list[LogEvent])
    alive: bool = False
    """Whether another process that still lives has this run in its lane."""
    elsewhere: Callable[[ContentRef], Content] | None = None
    """Where contents may be whose space the journal has given back; raises ClientError."""
    _where: dict[bytes, tuple[Path, int, int]] = field(default_factory=dict[bytes, tuple[Path, int, int]])
    _parents: dict[ContentRef, tuple[ContentRef | None, ContentRef]] = field(
        default_factory=dict[ContentRef, tuple[ContentRef | None, ContentRef]]
    )

    def content(self, ref: ContentRef) -> Content | None:
        """Read from its place in the file."""
        place = self._where.get(ref.digest)
        if place is not None:
            path, at, size = place
            try:
                with path.open("rb") as file:
                    file.seek(at)
                    return read_content(file.read(size))[1]
            except OSError:
                pass  # the space was given back meanwhile
        try:
            return self.elsewhere(ref) if self.elsewhere is not None else None
        except ClientError:
            return None

    def messages(self, thread: ContentRef) -> list[ContentRef] | None:
        """Followed node by node."""
        found, rest = self.follow(thread)
        return found if rest is None else None

    def follow(self, thread: ContentRef) -> tuple[list[ContentRef], ContentRef | None]:
        """The messages that are here, and the thread before them that is not."""
        found: list[ContentRef] = []
        at: ContentRef | None = thread
        while at is not None and (node := self._parents.get(at)) is not None:
            at = node[0]
            found.append(node[1])
        return found[::-1], at

    def take_thread(self, payload: bytes) -> None:
        """The nodes of a thread frame."""
        extension = read_thread(payload)
        for node in extend(extension.messages, extension.parent):
            self._parents[node.ref] = (node.parent, node.message)

    def take(self, path: Path, data: bytes, run: bytes) -> bool:
        """Everything of one segment; True when the run is in it."""
        seen = False
        start = 0
        for kind, payload, end in frames_in(data):
            if kind == CONTENT:
                self._where[payload[:32]] = (path, start + HEADER_BYTES, len(payload))
            elif kind == THREAD:
                self.take_thread(payload)
            elif kind in _OF_A_RUN and run in payload:  # or of a fork, which names it, too
                read: Any = read_log(payload) if kind == LOG else read_span(payload)
                if str(read.attributes.get(names.RUN_ID)).encode() == run:
                    (self.logs if kind == LOG else self.spans).append(read)
                    seen = True
            start = end
        return seen


def read_local(
    journal_dir: Path, run_id: str, elsewhere: Callable[[ContentRef], Content] | None = None
) -> LocalRecord | None:
    """The run's record from the journal's files; None when they do not have its beginning."""
    record = LocalRecord(elsewhere=elsewhere)
    run = run_id.encode()
    for lane in lanes(journal_dir):
        seen = False
        for path, data in _segments(lane):
            seen |= record.take(path, data, run)
        if seen:
            record.alive |= _is_alive(lane)
    begins = any(
        span.attributes.get(names.CALL_ORDER) == 1 or names.FORK_OF in span.attributes for span in record.spans
    )
    return record if begins else None


class WithRecent:
    """A record, and what a call that is about to be made has brought: for telling how they differ."""

    def __init__(self, record: Record, frames: Frames):
        """`frames` are the call's own, before they are written."""
        self.spans, self.logs, self.alive = record.spans, record.logs, record.alive
        self._record = record
        self._recent = LocalRecord()
        self._contents: dict[ContentRef, Content] = {}
        for kind, payload, _ in frames_in(b"".join(frames)):
            if kind == CONTENT:
                content = read_content(payload)[1]
                self._contents[content.ref] = content
            elif kind == THREAD:
                self._recent.take_thread(payload)

    def content(self, ref: ContentRef) -> Content | None:
        """The call's own, else the record's."""
        return self._contents.get(ref) or self._record.content(ref)

    def messages(self, thread: ContentRef) -> list[ContentRef] | None:
        """The call's own part, after the part that the record has."""
        own, base = self._recent.follow(thread)
        if base is None:
            return own
        before = self._record.messages(base)
        return None if before is None else before + own


def _segments(lane: Path) -> Iterator[tuple[Path, bytes]]:
    for number in LaneReader(lane).segments():
        path = lane / f"{number:08d}.log"
        try:
            yield path, path.read_bytes()
        except OSError:
            continue


def _is_alive(lane: Path) -> bool:
    """Whether the lane's owner is another process, and lives.  Its lock alone does not say so: who delivers a dead
    process's lane holds it, too."""
    pid = int(owner) if (owner := lane.name.split("-")[1]).isdecimal() else 0
    if pid == os.getpid():
        return False
    lock = adopt(lane)
    if lock is not None:
        os.close(lock)
        return False
    return _exists(pid)


def _exists(pid: int) -> bool:
    if os.name == "nt" or pid <= 0:  # there is no harmless way to ask
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True


class WithParent:
    """A fork's own record, after the part that it shares with the run that it was forked from."""

    def __init__(self, own: Record, parent: Record, shared: Sequence[Span]):
        """`shared`: spans of the parent from before the fork."""
        self.spans: list[Span] = [*shared, *own.spans]
        self.logs = own.logs
        self.alive = own.alive
        self._records = (own, parent)

    def content(self, ref: ContentRef) -> Content | None:
        """Whoever has it."""
        return next((found for record in self._records if (found := record.content(ref)) is not None), None)

    def messages(self, thread: ContentRef) -> list[ContentRef] | None:
        """Whoever has it."""
        return next((found for record in self._records if (found := record.messages(thread)) is not None), None)


class RemoteRecord:
    """A run as the collector has it."""

    def __init__(self, client: Any, run_id: str):
        """Reads the spans; contents when they are asked for.  Raises ClientError."""
        self._client = client
        self.spans: list[Span] = [_span(item) for item in client.spans(run_id)]
        self.logs: list[LogEvent] = []
        self.alive = False
        self._contents: dict[ContentRef, Content | None] = {}

    def content(self, ref: ContentRef) -> Content | None:
        """Asked for once."""
        if ref not in self._contents:
            self._contents[ref] = self._fetch(ref)
        return self._contents[ref]

    def messages(self, thread: ContentRef) -> list[ContentRef] | None:
        """Asked for each time: only a report of a divergence needs it."""
        try:
            messages = self._client.thread(thread)["messages"]
        except ClientError:
            return None
        if None in messages:
            return None
        contents = [message_contents(message)[0] for message in messages]
        self._contents.update({content.ref: content for content in contents})
        return [content.ref for content in contents]

    def _fetch(self, ref: ContentRef) -> Content | None:
        try:
            return self._client.content(ref)
        except NotFound:
            return None


def _span(item: Mapping[str, Any]) -> Span:
    return Span(
        trace_id=item["trace"],
        span_id=item["span"],
        parent_id=item["parent"],
        name=item["name"],
        start_ns=_ns(item["start"]),
        end_ns=None if item["end"] is None else _ns(item["end"]),
        attributes=dict(item["attributes"]),
        status=STATUS_ERROR if item["status"] == "error" else STATUS_OK,
    )


def _ns(time: str) -> int:
    """RFC 3339 with nanoseconds, UTC, as the collector writes it."""
    seconds, _, fraction = time.rstrip("Z").partition(".")
    moment = datetime.fromisoformat(seconds).replace(tzinfo=UTC)
    return int(moment.timestamp()) * 1_000_000_000 + int(fraction.ljust(9, "0") or 0)

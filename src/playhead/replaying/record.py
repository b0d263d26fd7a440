"""A recorded run from any source: its spans, log events, contents, threads.

`LocalRecord` reads the journal's files, also those of dead processes and of this one; `RemoteRecord` asks the
collector, for a machine whose journal does not have the run. The other classes put records together, or leave a part of
one out.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol

from playhead.calls.caller_settings import compared_settings
from playhead.calls.recorder import FrameList
from playhead.errors import ClientError, JournalUnusable, MaskedContent, NotFound
from playhead.journal.frame import (
    ANNOUNCEMENT,
    CONTENT,
    LOG,
    SPAN,
    THREAD,
    frames_in,
    read_content,
    read_log,
    read_span,
    read_thread,
    readable_frames,
)
from playhead.journal.lane import LaneReader, LostEnd, is_own, is_owned, lanes
from playhead.model import names
from playhead.model.canonical import Content, content_as, content_of, parse_json
from playhead.model.message import message_contents
from playhead.model.ref import ContentRef
from playhead.model.span import LogEvent, Span, log_from_json, span_from_json
from playhead.model.thread import extend
from playhead.replaying.handed_on import handed_on_before


class Record(Protocol):
    """A recorded run. Reading it never changes it."""

    @property
    def spans(self) -> Sequence[Span]:
        """Spans and announcements, as they were recorded."""
        ...

    @property
    def logs(self) -> Sequence[LogEvent]:
        """Log events, as they were recorded."""
        ...

    @property
    def elsewhere(self) -> Sequence[Span]:
        """Spans and announcements of other processes that were handed a part of the run. Their calls are not answered
        from the record."""
        ...

    @property
    def is_still_running(self) -> bool:
        """Whether another living process is known to have this run, not only a part that it was handed."""
        ...

    @property
    def remote(self) -> bool:
        """Whether the collector was asked for the run's beginning: the journal that has it is elsewhere, or gone."""
        ...

    @property
    def lanes(self) -> Sequence[Path]:
        """Journal lanes that have the run; all of them must be delivered before the collector has the whole run."""
        ...

    @property
    def lost_ends(self) -> Sequence[LostEnd]:
        """Lost ends of journal files, which may have had more of the run's last attempt."""
        ...

    @property
    def parent(self) -> "Record | None":
        """Record of the run that a fork was made from; None: this is not a fork."""
        ...

    def content(self, ref: ContentRef) -> Content | None:
        """The content; None if it is not available."""
        ...

    def messages(self, thread: ContentRef) -> list[ContentRef] | None:
        """Refs of a thread's messages, first to last; None if they are not available."""
        ...


def attempt_of(item: Span | LogEvent) -> int:
    """Number of the attempt that recorded the item; 0 is the first."""
    return int(item.attributes.get(names.RUN_ATTEMPT, 0))


def refuse_masked(content: Content, what: str, instead: str) -> None:
    """Raises MaskedContent if a collector has masked a part of the content. `what`: what it is, as a subject.
    `instead`: what to do, as a sentence."""
    if content.is_masked:
        raise MaskedContent(
            f"{what} was masked by the redaction rules of its project at the collector, so it cannot be given back: "
            f"{instead}"
        )


def last_attempt(items: Iterable[Span | LogEvent]) -> int:
    """Number of the last attempt among the items; 0 is the first."""
    return max(map(attempt_of, items), default=0)


# --- from this machine's journal --------------------------------------------------------------------------------------


_SPANS_AND_LOGS = frozenset({SPAN, LOG})
# Position of the span id in a frame: to find it, the frame need not be parsed.
_SPAN_ID = slice(len('["","') + 32, len('["","') + 32 + 16)
_BLOCK_BYTES = 64 * 1024


@dataclass(slots=True)
class LocalRecord:
    """A run read from the journal's files."""

    spans: list[Span] = field(default_factory=list[Span])
    logs: list[LogEvent] = field(default_factory=list[LogEvent])
    elsewhere: list[Span] = field(default_factory=list[Span])
    is_still_running: bool = False
    """Whether another living process has this run in its lane, not only a part that it was handed."""
    remote: bool = False
    lanes: list[Path] = field(default_factory=list[Path])
    lost_ends: list[LostEnd] = field(default_factory=list[LostEnd])
    parent: Record | None = None
    fetch_content: Callable[[ContentRef], Content] | None = None
    """Fetches contents whose space the journal has reclaimed; raises ClientError. None: they are not available."""
    _content_positions: dict[bytes, tuple[Path, int, int]] = field(default_factory=dict[bytes, tuple[Path, int, int]])
    _parents: dict[ContentRef, tuple[ContentRef | None, ContentRef]] = field(
        default_factory=dict[ContentRef, tuple[ContentRef | None, ContentRef]]
    )
    _threads: list[bytes] = field(default_factory=list[bytes])
    """Thread frames that are not parsed yet: only a report of a divergence needs them."""
    _open: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])
    """Announcements of spans that have not ended yet, by span id. A span that has ended has all that its announcement
    has."""
    _block: tuple[Path, int, bytes] = (Path(), 0, b"")
    """The block that was read last (path, offset, bytes). A program asks for contents mostly in the order in which they
    are stored."""
    _rest: bytes = b""
    """Bytes after the last readable frame of the segment that was read last."""

    @property
    def begins_here(self) -> bool:
        """Whether the journal has the beginning of the run."""
        return any(
            span.attributes.get(names.CALL_ORDER) == 1 or names.FORK_OF in span.attributes for span in self.spans
        )

    def content(self, ref: ContentRef) -> Content | None:
        """Reads the content from its file, or fetches it if its space was reclaimed; None if it is not available."""
        offset = self._content_positions.get(ref.digest)
        if offset is not None:
            try:
                stored = read_content(self._read(*offset))[1]
                return content_as(stored, ref)
            except OSError:
                pass  # the space was reclaimed meanwhile
        try:
            return self.fetch_content(ref) if self.fetch_content is not None else None
        except ClientError:
            return None

    def _read(self, path: Path, offset: int, size: int) -> bytes:
        read_from, start, block = self._block
        if read_from != path or not start <= offset <= start + len(block) - size:
            with path.open("rb") as file:
                file.seek(offset)
                start, block = offset, file.read(max(size, _BLOCK_BYTES))
            self._block = path, start, block
        return block[offset - start : offset - start + size]

    def messages(self, thread: ContentRef) -> list[ContentRef] | None:
        """Refs of the thread's messages, read node by node; None if some are missing."""
        refs, rest = self.follow(thread)
        return refs if rest is None else None

    def follow(self, thread: ContentRef) -> tuple[list[ContentRef], ContentRef | None]:
        """Returns the messages that this journal has, and the thread before them that it lacks (None: it has all)."""
        for payload in self._threads:  # twice at most: if two OS threads ask at once, both have all nodes then
            extension = read_thread(payload)
            for node in extend(extension.messages, extension.parent):
                self._parents[node.ref] = (node.parent, node.message)
        self._threads = []
        refs: list[ContentRef] = []
        ref: ContentRef | None = thread
        while ref is not None and (node := self._parents.get(ref)) is not None:
            ref = node[0]
            refs.append(node[1])
        return refs[::-1], ref

    def take_thread(self, payload: bytes) -> None:
        """Adds the nodes of a thread frame."""
        self._threads.append(payload)

    def read_segment(self, path: Path, data: bytes, run: bytes) -> set[str]:
        """Reads one segment. Returns the ids of the run's processes that have written to it; empty text: the run's own
        process."""
        seen: set[str] = set()
        end = 0
        for kind, payload, end in readable_frames(data):
            if kind == CONTENT:
                self._content_positions[payload[:32]] = (path, end - len(payload), len(payload))
            elif kind == THREAD:
                self.take_thread(payload)
            elif kind == ANNOUNCEMENT and run in payload:
                self._open[payload[_SPAN_ID]] = payload
            elif kind in _SPANS_AND_LOGS and run in payload:  # or of a fork, which contains the run's id, too
                read: Any = read_log(payload) if kind == LOG else read_span(payload)
                if str(read.attributes.get(names.RUN_ID)).encode() == run:
                    if kind == SPAN:
                        self._open.pop(payload[_SPAN_ID], None)
                    seen.add(self._take(read))
        self._rest = data[end:]
        return seen

    def _take(self, read: Span | LogEvent) -> str:
        """Adds a span or log event of the run. Returns the id of the process that recorded it; empty text: the run's
        own process."""
        process = str(read.attributes.get(names.PROCESS_ID, ""))
        if isinstance(read, Span):
            (self.elsewhere if process else self.spans).append(read)
        elif not process:
            self.logs.append(read)
        return process

    def take_open(self, run: bytes) -> set[str]:
        """Adds the spans of the run that began in the segments read before and did not end there. Returns the ids of
        the processes that began them."""
        spans = map(read_span, self._open.values())
        own_spans = [span for span in spans if str(span.attributes.get(names.RUN_ID)).encode() == run]
        self._open.clear()
        return set(map(self._take, own_spans))

    def lost_ends_of(self, lane: Path, run: bytes) -> list[LostEnd]:
        """Ends that the lane has lost since the run began in it. The lane's segments must have been read last."""
        reader = LaneReader(lane)
        ends = reader.lost_ends()
        if not (ends and ends[-1].at.segment == max(reader.segments())) and self._rest and not is_owned(lane):
            torn = reader.torn_end(self._rest)
            ends += [torn] if torn is not None else []
        if not ends:
            return []
        first = min((path for path, data in _segment_data(lane) if run in data), default=ends[0].path)
        return [end for end in ends if end.path >= first]


def read_local(
    journal_dir: Path, run_id: str, fetch_content: Callable[[ContentRef], Content] | None = None
) -> LocalRecord | None:
    """Reads the run from the journal's files; None if they have nothing of it. If the run began on another machine, its
    beginning may be missing: see `begins_here`.

    Raises JournalUnusable if the journal cannot be read: it may have the run all the same.
    """
    try:
        return _read_local(journal_dir, run_id, fetch_content)
    except OSError as error:
        raise JournalUnusable(
            f"the journal in {journal_dir} cannot be read ({error.strerror}): "
            "set PLAYHEAD_JOURNAL_DIR to the folder that the run was recorded in, and see that it can be read"
        ) from error


def _read_local(
    journal_dir: Path, run_id: str, fetch_content: Callable[[ContentRef], Content] | None
) -> LocalRecord | None:
    record = LocalRecord(fetch_content=fetch_content)
    run = run_id.encode()
    lost_ends: list[tuple[int, LostEnd]] = []
    for lane in lanes(journal_dir):
        seen: set[str] = set()
        before, elsewhere = len(record.spans), len(record.elsewhere)
        for path, data in _segment_data(lane):
            seen |= record.read_segment(path, data, run)
        seen |= record.take_open(run)
        if seen:
            record.lanes.append(lane)
            record.is_still_running |= "" in seen and _is_alive(lane)
            if ends := record.lost_ends_of(lane, run):  # few lanes have any
                attempt = last_attempt([*record.spans[before:], *record.elsewhere[elsewhere:]])
                lost_ends += [(attempt, end) for end in ends]
    # What an earlier attempt lost was executed again by the last one, and is in its record.
    last = last_attempt(record.spans) if lost_ends else 0
    record.lost_ends = [end for attempt, end in lost_ends if attempt == last]
    return record if record.spans or record.logs else None


def _segment_data(lane: Path) -> Iterator[tuple[Path, bytes]]:
    reader = LaneReader(lane)
    for number in reader.segments():
        path = reader.segment_path(number)
        try:
            yield path, path.read_bytes()
        except FileNotFoundError:  # its space was reclaimed meanwhile
            continue


def _is_alive(lane: Path) -> bool:
    """Whether the lane's owner is another process that still lives."""
    return is_owned(lane) and not is_own(lane)


# --- from the collector -----------------------------------------------------------------------------------------------


class RemoteRecord:
    """A run read from the collector."""

    def __init__(self, client: Any, run_id: str):
        """Reads spans and log events now, and contents on demand. Raises ClientError."""
        self._client = client
        spans = [span_from_json(item) for item in client.spans(run_id)]
        self.spans: list[Span] = [span for span in spans if names.PROCESS_ID not in span.attributes]
        self.elsewhere: list[Span] = [span for span in spans if names.PROCESS_ID in span.attributes]
        self.logs: list[LogEvent] = [
            log for log in _fetch_logs(client, run_id) if names.PROCESS_ID not in log.attributes
        ]
        self.is_still_running, self.remote = False, True
        self.lanes: tuple[Path, ...] = ()
        self.parent: Record | None = None
        self.lost_ends: tuple[LostEnd, ...] = ()
        self._contents: dict[ContentRef, Content | None] = {}

    def content(self, ref: ContentRef) -> Content | None:
        """The content, fetched at most once; None if the collector does not have it."""
        if ref not in self._contents:
            self._contents[ref] = self._fetch(ref)
        return self._contents[ref]

    def messages(self, thread: ContentRef) -> list[ContentRef] | None:
        """Refs of the thread's messages; None if they are not available. Fetched each time: only a report of a
        divergence needs them."""
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


def _fetch_logs(client: Any, run_id: str) -> list[LogEvent]:
    try:
        return [log_from_json(item) for item in client.logs(run_id)]
    except NotFound:  # an older collector without this route: log events are then recorded twice
        return []


# --- from several records ---------------------------------------------------------------------------------------------


class ForkRecord:
    """The record of a fork: the part that it shares with its parent, then its own part."""

    def __init__(self, own: Record, parent: Record, shared: Sequence[Span], first: int):
        """`shared`: spans of the parent from before the fork; `first`: order number of the fork's first own call."""
        self.spans: list[Span] = [*shared, *own.spans]
        shared_logs = [log for log in parent.logs if 0 < int(log.attributes.get(names.CALL_ORDER, 0)) < first]
        self.logs = [*shared_logs, *own.logs]
        self.elsewhere = [*handed_on_before(parent.elsewhere, parent.spans, first), *own.elsewhere]
        self.is_still_running, self.remote = own.is_still_running, own.remote
        self.lanes = [*own.lanes, *parent.lanes]
        self.lost_ends = own.lost_ends
        self.parent: Record | None = parent
        self._records = (own, parent)

    def content(self, ref: ContentRef) -> Content | None:
        """The content from the first of the records that has it; None if none has."""
        return next((stored for record in self._records if (stored := record.content(ref)) is not None), None)

    def messages(self, thread: ContentRef) -> list[ContentRef] | None:
        """The messages from the first of the records that has them; None if none has."""
        return next((refs for record in self._records if (refs := record.messages(thread)) is not None), None)


class MergedRecord:
    """This machine's journal of a run, merged with the collector's record: several machines have continued the run, or
    the journal has lost a part that was delivered."""

    def __init__(self, local: Record, remote: Record, *, begins_here: bool = True):
        """Calls that are in both are merged by `recorded_calls`. `begins_here`: the journal has the run's beginning."""
        self.spans: list[Span] = [*local.spans, *remote.spans]
        local_identities = {_log_identity(entry) for entry in local.logs}
        self.logs = [*local.logs, *(entry for entry in remote.logs if _log_identity(entry) not in local_identities)]
        self.elsewhere = [*local.elsewhere, *remote.elsewhere]
        self.is_still_running, self.remote = local.is_still_running, not begins_here
        self.lanes, self.parent = local.lanes, local.parent
        self.lost_ends: Sequence[LostEnd] = [end for end in local.lost_ends if not end.is_delivered]
        self._records = (local, remote)

    def content(self, ref: ContentRef) -> Content | None:
        """The content from the first of the records that has it; None if none has."""
        return next((stored for record in self._records if (stored := record.content(ref)) is not None), None)

    def messages(self, thread: ContentRef) -> list[ContentRef] | None:
        """The messages from the first of the records that has them; None if none has."""
        return next((refs for record in self._records if (refs := record.messages(thread)) is not None), None)


def _log_identity(entry: LogEvent) -> tuple[Any, ...]:
    return entry.name, entry.span_id, entry.attributes.get(names.CALL_ORDER)


# --- what the latest attempt knew -------------------------------------------------------------------------------------


FOREVER = 2**62
"""An order number after all others."""


class KnownPart:
    """The part of a record that its latest attempt continued from. What other attempts did without its knowledge is
    left out; their order numbers were used twice. This happens only if a run was taken over by force."""

    def __init__(self, record: Record):
        """Each attempt records the attempt that it follows and the order number at which it begins: all earlier numbers
        were known to it."""
        limits = _attempt_limits(record)
        self.spans = [span for span in with_compared_settings(record) if _is_within(span, limits)]
        self.logs = [log for log in record.logs if _is_within(log, limits)]
        self.elsewhere, self.lanes, self.parent = record.elsewhere, record.lanes, record.parent
        self.is_still_running, self.remote, self.lost_ends = record.is_still_running, record.remote, record.lost_ends
        self.content, self.messages = record.content, record.messages


def with_compared_settings(record: Record) -> Sequence[Span]:
    """The record's spans. Model calls get the digest of the settings that are compared, if these are not all."""
    digests: dict[str, str | None] = {}

    def compared(span: Span) -> Span:
        ref = span.attributes.get(names.REQUEST_REF)
        if not isinstance(ref, str):
            return span
        if ref not in digests:
            digests[ref] = _compared_digest(record.content(ContentRef(ref)))
        if span.attributes.get(names.COMPARED_SETTINGS) == digests[ref]:
            return span
        attributes = {name: value for name, value in span.attributes.items() if name != names.COMPARED_SETTINGS}
        if digests[ref] is not None:
            attributes[names.COMPARED_SETTINGS] = digests[ref]
        return replace(span, attributes=attributes)

    return [compared(span) for span in record.spans]


def _compared_digest(settings: Content | None) -> str | None:
    """Digest of the settings that are compared; None: all are compared, or they are not available."""
    try:
        value = None if settings is None else parse_json(settings.data)
    except ValueError:
        return None
    if settings is not None and settings.is_masked:  # the ref is that of the whole, and is compared
        return None
    compared = compared_settings(value)
    return None if compared is value else content_of(compared).ref.digest.hex()


def _attempt_limits(record: Record) -> tuple[dict[int, int], int]:
    """Returns, for each attempt, the order number below which its items count; and the attempt up to which all items
    count."""
    attempt = last_attempt((*record.spans, *record.logs))
    began = {attempt_of(log): log.attributes for log in record.logs if log.name == names.RESUMED}
    limits, upto = dict[int, int](), FOREVER
    while attempt > 0:
        limits[attempt] = upto
        after = began[attempt].get(names.RESUMED_AFTER) if attempt in began else None
        if not isinstance(after, int) or not 0 <= after < attempt:  # of an older version, or cut off
            return limits, attempt - 1
        upto = min(upto, int(began[attempt].get(names.CALL_ORDER, 0)) or FOREVER)
        attempt = after
    limits[0] = upto
    return limits, -1


def _is_within(item: Span | LogEvent, limits: tuple[dict[int, int], int]) -> bool:
    attempt, (upto, without_limit) = attempt_of(item), limits
    return attempt <= without_limit or int(item.attributes.get(names.CALL_ORDER, 0)) < upto.get(attempt, 0)


# --- with a call that is about to be made -----------------------------------------------------------------------------


class RecordWithPendingCall:
    """A record plus the contents of a call that is about to be made, for describing how the call differs."""

    def __init__(self, record: Record, frames: FrameList):
        """`frames`: the frames of the call, which are not written yet."""
        self.spans, self.logs, self.is_still_running, self.remote = (
            record.spans,
            record.logs,
            record.is_still_running,
            record.remote,
        )
        self.elsewhere, self.lanes, self.parent = record.elsewhere, record.lanes, record.parent
        self.lost_ends = record.lost_ends
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
        """The content from the call, else from the record; None if neither has it."""
        return self._contents.get(ref) or self._record.content(ref)

    def messages(self, thread: ContentRef) -> list[ContentRef] | None:
        """Refs of the thread's messages: those in the record, then those of the call; None if some are missing."""
        own_refs, base = self._recent.follow(thread)
        if base is None:
            return own_refs
        before = self._record.messages(base)
        return None if before is None else before + own_refs
